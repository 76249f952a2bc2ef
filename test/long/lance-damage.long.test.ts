import { expect, test, vi } from "vitest";
import { stormLance } from "../damage/lance-storm.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

test("no answer called ok is wrong after any of 300 damages of one file of an index in LanceDB", async () => {
  const { counts, lines, embeddedAgain, files } = await stormLance({ damages: 300, notes: 60, seed: 12 });
  process.stderr.write(`file damage: ${JSON.stringify({ ...counts, files, embeddedAgain })}\n`);
  expect(lines).toEqual([]);
});
