import { expect, test, vi } from "vitest";
import { stormSqlite } from "../damage/sqlite-storm.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

test("no answer called ok is wrong after any of 300 damages of one page of the index", async () => {
  const { counts, lines, embeddedAgain } = await stormSqlite({ damages: 300, notes: 200, seed: 11 });
  process.stderr.write(`page damage: ${JSON.stringify({ ...counts, embeddedAgain })}\n`);
  expect(lines).toEqual([]);
});
