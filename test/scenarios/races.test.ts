import { renameSync, symlinkSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { afterwards, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { type House, useHouse } from "../support/temp-workspace.ts";
import { buildSwapLoop, swapStorm } from "../support/swap-storm.ts";

const built = buildSwapLoop(tempFolder());
const program = typeof built === "string" ? "" : built.program;

/** A folder of notes that becomes a link to another agent's notes in the moment before one of them is opened. */
function useTrap(): House & { arm(): void; isSprung(): boolean } {
  const house = useHouse({ "memory/sub/trap.md": "The puffin is small.\n" });
  const elsewhere = path.join(house.folder, "elsewhere");
  writeFiles(elsewhere, { "trap.md": "The CANARY of another agent.\n" });
  const { open } = files;
  const setOpen = (to: typeof open): void => {
    files.open = to;
    syncBuiltinESMExports();
  };
  afterwards(() => setOpen(open));
  return {
    ...house,
    arm: () =>
      setOpen((...given) => {
        if (String(given[0]).endsWith("trap.md")) {
          setOpen(open);
          renameSync(house.at("memory/sub"), path.join(house.folder, "away"));
          symlinkSync(elsewhere, house.at("memory/sub"), "junction");
        }
        return open(...given);
      }),
    isSprung: () => files.open === open,
  };
}

test("a folder that becomes a link while a note is read leads nowhere", async () => {
  const house = useTrap();
  const memory = await house.open();
  await memory.sync();
  house.arm();
  await expect(memory.readFile({ relPath: "memory/sub/trap.md" })).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  expect(house.isSprung()).toBe(true);
});

test("a folder that becomes a link while a note is indexed brings nothing into the index", async () => {
  const house = useTrap();
  const memory = await house.open();
  house.arm();
  const report = await memory.sync();
  expect(house.isSprung()).toBe(true);
  expect(report?.failed).toEqual([expect.objectContaining({ path: "memory/sub/trap.md" })]);
  expect(await memory.search("CANARY")).toEqual([]);
  await memory.sync();
  expect(await memory.search("CANARY")).toEqual([]);
});

describe(`a folder that changes places with a link${typeof built === "string" ? ` (not run: ${built})` : ""}`, () => {
  test.skipIf(program === "").each(["memory", "memory/deep"] as const)(
    "leads no write and no read out of the workspace: %s",
    async (swapped) => {
      const house = useHouse({ "memory/deep/a.md": "The puffin is small.\n", "memory/a.md": "Mine.\n" });
      const counts = await swapStorm(house, await house.open(), { program, swapped, rounds: 16 });
      expect(counts).toMatchObject({ leaked: 0, changed: [] });
      expect(counts.swaps).toBeGreaterThan(0);
      expect(counts.appended + counts.refused).toBeGreaterThan(0);
    },
  );
});
