import { expect, test, vi } from "vitest";
import { stormSqlite } from "../damage/sqlite-storm.ts";
import { stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const damages = stormSize(300);

test(`no answer called ok is wrong after any of ${damages} damages of one page of the index`, async () => {
  const { counts, lines, embeddedAgain } = await stormSqlite({ damages, notes: 200, seed: 11 });
  process.stderr.write(`page damage: ${JSON.stringify({ ...counts, embeddedAgain })}\n`);
  expect(lines).toEqual([]);
});
