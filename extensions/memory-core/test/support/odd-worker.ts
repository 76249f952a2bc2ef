// A worker that does what it is told and not what it should.
import { parentPort } from "node:worker_threads";

parentPort?.on("message", ({ id, method, args: [what] }: { id: number; method: string; args: unknown[] }) => {
  const answer = (reply: object): void => parentPort?.postMessage({ id, ...reply });
  if (method === "close" || what === "echo") answer({ result: what });
  if (what === "ends") process.exit(3);
  if (what === "throws") throw new Error("thrown on purpose");
  if (what === "late") setTimeout(() => answer({ result: "late" }), 100);
  if (what === "fail") answer({ error: { code: "INVALID_ARGUMENT", message: "no such thing", cause: "deep down" } });
  if (what === "busy") for (;;);
});
