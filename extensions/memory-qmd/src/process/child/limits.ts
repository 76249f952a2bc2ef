import type { QmdLimits } from "../../qmd-contract.ts";

/** The times of the adapter contract. */
export const defaultLimits: Readonly<QmdLimits> = {
  initializeMs: 5000,
  cliQueryMs: 5000,
  probeMs: 5000,
  updateBaseMs: 30_000,
  updatePerFileMs: 10,
  updateGraceMs: 60_000,
  stopMs: 2000,
  killMs: 3000,
  restartMs: [1000, 5000, 30_000, 300_000],
  crashWindowMs: 600_000,
  lockWaitMs: 120_000,
  busyRetryMs: 300,
  maxMemoryBytes: 600 * 1024 * 1024,
  memoryCheckMs: 15_000,
};
