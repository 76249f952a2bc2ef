/**
 * The ledger, apart from the rest of the package: it loads nothing heavy, so that its thread starts before what uses it is
 * there.
 */
export type { Ledger, LedgerOptions } from "./ledger.ts";
export { openLedger } from "./open-ledger.ts";
export { openThread } from "./thread/open-thread.ts";
export { buildCalls, keptCalls, threadCalls } from "./thread/thread-calls.ts";
