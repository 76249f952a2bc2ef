import { expect, test, vi } from "vitest";
import { stormLance, stormSqlite } from "../support/damage-storm.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

/** Notes of an index and damages to it: one page or file of each table, or several. */
const small = { notes: 20, damages: stormSize(24) };

test.each([
  ["page of an index in SQLite", stormSqlite, { notes: 200, damages: stormSize(300) }],
  ["file of an index in LanceDB", stormLance, { notes: 60, damages: stormSize(300) }],
] as const)(`no answer called ok is wrong after damage to any %s (${seeded})`, async (_, storm, large) => {
  const all = large.damages === 1 ? [small] : [small, large];
  for (const [number, { notes, damages }] of all.entries()) {
    expect(await storm({ damages, notes, seed: stormSeed(number) })).toEqual([]);
  }
});
