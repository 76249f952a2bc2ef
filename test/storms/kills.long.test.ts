import { tempFolder } from "@memslot/test-tools/files";
import { expect, test, vi } from "vitest";
import { buildFileFaults } from "../support/file-faults.ts";
import { useHouse } from "../support/house.ts";
import { killStorm } from "../support/kill-storm.ts";
import { twoPartNotes } from "../support/notes.ts";
import { resultOf } from "../support/start-memory.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

/** As many of each kind: in a sync, in a rebuild, in an append. */
const kills = 3 * stormSize(167);
const files = 60;
const faults = buildFileFaults(tempFolder());

test.skipIf(typeof faults === "string")(`${kills} kills lose nothing (${seeded})`, async () => {
  if (typeof faults === "string") return;
  const house = useHouse();
  house.write(twoPartNotes(files));
  const memory = house.start({ model: "model-a", batchItems: 4 });
  resultOf(await memory.open());
  resultOf(await memory.sync());
  resultOf(await memory.close());
  const { killed, ended, notes } = await killStorm(house, { library: faults.library, files, kills, seed: stormSeed() });
  process.stdout.write(
    `${kills} kills: ${killed.sync} in a sync, ${killed.rebuild} in a rebuild, ${killed.append} in an append; ` +
      `${ended} runs ended before theirs; ${notes} notes written, 0 lost\n`,
  );
  expect(killed.sync + killed.rebuild + killed.append).toBe(kills);
});
