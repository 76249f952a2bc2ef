import { EventEmitter } from "node:events";
import { createLedgerService } from "./ledger-service.ts";
import type { LedgerThread } from "./worker-client.ts";

/** Replaces the worker by this thread: a one-shot process ends before a worker would start. */
export function openOwnThread(): LedgerThread {
  const events = new EventEmitter();
  let queue = Promise.resolve();
  const service = createLedgerService(
    (reply) => void events.emit("message", structuredClone(reply)),
    (task) => void (queue = queue.then(task)),
  );
  return {
    on: (event, listener) => events.on(event, listener),
    postMessage: (request) => service.receive(structuredClone(request)),
    ref() {},
    unref() {},
    terminate: () => Promise.resolve(0),
  };
}
