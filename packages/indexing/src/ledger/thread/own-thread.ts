import { EventEmitter } from "node:events";
import { createLedgerService } from "./ledger-service.ts";
import type { LedgerThread } from "./worker-client.ts";

/**
 * In place of a worker: its side runs in this thread, with what is sent and answered copied as between threads. Whoever
 * ends after one question is done before a worker would have started; meanwhile the caller's event loop waits for SQLite.
 */
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
