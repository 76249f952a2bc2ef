import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { useHouse } from "../support/house.ts";
import { stormSize } from "../support/storm-size.ts";
import { buildSwapLoop, swapStorm } from "../support/swap-storm.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-swap-"));
const built = buildSwapLoop(folder);
const program = typeof built === "string" ? "" : built.program;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(program === "").each(["memory", "memory/deep"] as const)(
  "thousands of writes and reads while %s changes places with a link stay in the workspace",
  async (swapped) => {
    const house = useHouse();
    house.write({ "memory/deep/a.md": "The puffin is small.\n", "memory/a.md": "Mine.\n" });
    const memory = await house.open();
    const counts = await swapStorm(house, memory, { program, swapped, rounds: stormSize(5_000) });
    const { swaps, appended, refused, read, leaked, changed } = counts;
    process.stdout.write(
      `${swapped}: ${swaps} swaps, ${appended} written, ${read} read, ${refused} refused, ` +
        `${leaked} read outside, ${changed.length} changed outside\n`,
    );
    expect({ leaked, changed }).toEqual({ leaked: 0, changed: [] });
  },
);
