import { Socket } from "node:net";
import { Worker, isMainThread, workerData } from "node:worker_threads";
import { hostPipe } from "./protocol.ts";

/**
 * Ends this process when the host has gone. By a thread of its own: the main one may be inside native code that does not
 * come back, and would hear of it never.
 */
export function endWithHost(): void {
  new Worker(new URL(import.meta.url), { workerData: { watches: hostPipe }, execArgv: [] }).unref();
}

const watches = (workerData as { watches?: number } | null)?.watches;
if (!isMainThread && watches !== undefined) {
  const socket = new Socket({ fd: watches });
  // At once: there is nothing to tidy.
  socket.on("close", () => process.kill(process.pid, "SIGKILL"));
  socket.on("error", () => {});
  socket.resume();
}
