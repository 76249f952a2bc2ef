import { EventEmitter } from "node:events";
import { createLedgerService } from "./ledger-service.ts";
import type { LedgerThread } from "./worker-client.ts";

/**
 * In place of a worker: its side runs in this thread, with what is sent and answered copied as between threads. Whoever
 * ends after one question is done before a worker would have started; meanwhile the caller's event loop waits for SQLite.
 */
export function openOwnThread(): LedgerThread {
  const events = new EventEmitter();
  const receive = createLedgerService((reply) => void events.emit("message", structuredClone(reply)));
  return {
    on: (event, listener) => events.on(event, listener),
    postMessage: (request, transfer) => receive(structuredClone(request, { transfer })),
    ref() {},
    unref() {},
    terminate: () => Promise.resolve(0),
  };
}
