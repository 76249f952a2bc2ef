export type { Ledger, LedgerOptions } from "./ledger.ts";
export { ledgerOptions, openLedger, openLedgerWith } from "./open-ledger.ts";
