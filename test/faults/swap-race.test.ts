import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { useHouse } from "../support/house.ts";
import { buildSwapLoop, swapStorm } from "../support/swap-storm.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-swap-"));
const built = buildSwapLoop(folder);
const program = typeof built === "string" ? "" : built.program;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe(`a folder that changes places with a link${typeof built === "string" ? ` (not run: ${built})` : ""}`, () => {
  test.skipIf(program === "").each([
    ["memory", 40],
    ["memory/deep", 24],
  ] as const)("leads no write and no read out of the workspace: %s", async (swapped, rounds) => {
    const house = useHouse();
    house.write({ "memory/deep/a.md": "The puffin is small.\n", "memory/a.md": "Mine.\n" });
    const memory = await house.open();
    const counts = await swapStorm(house, memory, { program, swapped, rounds });
    expect(counts).toMatchObject({ leaked: 0, changed: [] });
    expect(counts.swaps).toBeGreaterThan(0);
    expect(counts.appended + counts.refused).toBeGreaterThan(0);
  });
});
