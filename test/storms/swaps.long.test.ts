import { tempFolder } from "@memslot/test-tools/files";
import { expect, test, vi } from "vitest";
import { useHouse } from "../support/house.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";
import { buildSwapLoop, swapStorm } from "../support/swap-storm.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const built = buildSwapLoop(tempFolder());
const program = typeof built === "string" ? "" : built.program;

test.skipIf(program === "").each(["memory", "memory/deep"] as const)(
  `writes and reads while %s changes places with a link stay in the workspace (${seeded})`,
  async (swapped) => {
    const house = useHouse();
    house.write({ "memory/deep/a.md": "The puffin is small.\n", "memory/a.md": "Mine.\n" });
    const memory = await house.open();
    const counts = await swapStorm(house, memory, { program, swapped, rounds: 16 * stormSize(300), seed: stormSeed() });
    const { swaps, appended, refused, read, leaked, changed } = counts;
    process.stdout.write(
      `${swapped}: ${swaps} swaps, ${appended} written, ${read} read, ${refused} refused, ` +
        `${leaked} read outside, ${changed.length} changed outside\n`,
    );
    expect({ leaked, changed }).toEqual({ leaked: 0, changed: [] });
  },
);
