/**
 * The ledger, apart from the rest of the package: it loads nothing heavy, so that its thread starts before what uses it is
 * there.
 */
export type { Ledger, LedgerBuild, LedgerOptions, OwedVectors, Reconciled } from "./ledger.ts";
export { openLedger } from "./open-ledger.ts";
export { openThread, type OpenedThread, type ThreadOptions } from "./thread/open-thread.ts";
export { buildCalls, keptCalls, type KeptCalls, threadCalls, type ThreadCalls } from "./thread/thread-calls.ts";
