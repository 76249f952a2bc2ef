import { Worker } from "node:worker_threads";
import { hostPipe } from "./protocol.ts";

/**
 * Ends this process when the host has gone. By a thread of its own: the main one may be inside native code that does not
 * come back, and would hear of it never.
 */
export function endWithHost(): void {
  const entry = new URL(import.meta.resolve("#host-watch"));
  new Worker(entry, { workerData: { watches: hostPipe }, execArgv: [] }).unref();
}
