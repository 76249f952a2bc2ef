import { expect, test, vi } from "vitest";
import { stormLance } from "../damage/lance-storm.ts";
import { stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const damages = stormSize(300);

test(`no answer called ok is wrong after any of ${damages} damages of one file of an index in LanceDB`, async () => {
  const { counts, lines, embeddedAgain, files } = await stormLance({ damages, notes: 60, seed: 12 });
  process.stderr.write(`file damage: ${JSON.stringify({ ...counts, files, embeddedAgain })}\n`);
  expect(lines).toEqual([]);
});
