// A worker that misbehaves on command.
import { writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";

parentPort?.on("message", ({ id, method, args: [what, path] }: { id: number; method: string; args: unknown[] }) => {
  const answer = (reply: object): void => parentPort?.postMessage({ id, ...reply });
  if (method === "close" || what === "echo") answer({ result: what });
  if (what === "ends") process.exit(3);
  if (what === "throws") throw new Error("thrown on purpose");
  if (what === "late") setTimeout(() => answer({ result: "late" }), 100);
  if (what === "fail") answer({ error: { code: "INVALID_ARGUMENT", message: "no such thing", cause: "deep down" } });
  if (what === "busy") for (;;);
  if (what === "sleeps") {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000);
    writeFileSync(String(path), "done");
  }
});
