import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { type Answer, encode } from "./answer.ts";
import type { FaultBehaviour } from "./faults.ts";

const dripMs = 200;
const blanks = 1 << 24;
const bombParts = 64;

/** Sends an answer, in the way that the fault says. */
export function send(response: ServerResponse, answer: Answer, behaviour: FaultBehaviour | undefined): void {
  const { bytes, type } = encode(answer);
  if (behaviour === "bomb" || behaviour === "endless") return flood(response, behaviour);
  response.writeHead(answer.status, { "content-type": type, "content-length": bytes.length, ...answer.headers });
  if (behaviour === "drip") drip(response, bytes);
  else if (behaviour === "disconnect") {
    // Broken only when the half is out: a client that sees no byte takes it for a connection that was never made.
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  } else response.end(bytes);
}

/** More than anybody asked for: at once in a small space, or without end. */
function flood(response: ServerResponse, behaviour: "bomb" | "endless"): void {
  const type = { "content-type": "application/json" };
  if (behaviour === "bomb") {
    const part = gzipSync(Buffer.alloc(blanks, " "));
    response.writeHead(200, { ...type, "content-encoding": "gzip", "content-length": part.length * bombParts });
    response.end(Buffer.concat(Array.from({ length: bombParts }, () => part)));
    return;
  }
  response.writeHead(200, type);
  const part = Buffer.alloc(1 << 16, " ");
  const writeOn = (): void => {
    while (!response.destroyed && response.write(part));
  };
  response.on("drain", writeOn);
  writeOn();
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
