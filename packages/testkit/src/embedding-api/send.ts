import type { ServerResponse } from "node:http";
import { type Answer, encode } from "./answer.ts";
import type { FaultBehaviour } from "./faults.ts";

const dripMs = 200;

/** Sends an answer, in the way that the fault says. */
export function send(response: ServerResponse, answer: Answer, behaviour: FaultBehaviour | undefined): void {
  const { bytes, type } = encode(answer);
  response.writeHead(answer.status, { "content-type": type, "content-length": bytes.length, ...answer.headers });
  if (behaviour === "drip") drip(response, bytes);
  else if (behaviour === "disconnect") {
    // Broken only when the half is out: a client that sees no byte takes it for a connection that was never made.
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  } else response.end(bytes);
}

function drip(response: ServerResponse, bytes: Buffer): void {
  response.flushHeaders();
  let sent = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, ++sent));
    if (sent >= bytes.length) response.end();
  }, dripMs);
  response.on("close", () => clearInterval(timer));
}
