import { expect, test } from "vitest";
import { stormLance } from "./lance-storm.ts";

test("no answer called ok is wrong after a damaged file of an index in LanceDB, whichever it is", async () => {
  const { counts, lines } = await stormLance({ damages: 24, notes: 20, seed: 4 });
  expect(lines).toEqual([]);
  expect(counts).toMatchObject({ damages: 24, wrongOk: 0, failed: 0, unrecovered: 0 });
}, 300_000);
