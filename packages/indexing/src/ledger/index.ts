/**
 * The ledger, apart from the rest of the package: it loads nothing heavy, so that its thread starts before what uses it
 * is there.
 */
export type { Ledger, LedgerOptions } from "./ledger.ts";
export { ledgerOptions, openLedger, openLedgerWith } from "./open-ledger.ts";
