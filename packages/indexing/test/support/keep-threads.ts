import { availableParallelism } from "node:os";
import { SharedLedger } from "../../src/ledger/thread/shared-threads.ts";

// A setup file of the quick tests, which open thousands of ledgers. The threads that ledgers share do not end with the
// last ledger of a test, because starting a thread costs several times as much as opening a ledger in it.
const kept = globalThis as { memslotLedgers?: unknown[] };
kept.memslotLedgers ??= Array.from({ length: Math.min(4, availableParallelism()) }, () => new SharedLedger());
