import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { useHouse } from "../support/house.ts";

/** Runs once, right before a file of this name is opened. */
const before = vi.hoisted(() => ({ name: "", act: undefined as (() => void) | undefined }));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return {
    ...real,
    open(...given: Parameters<typeof real.open>) {
      if (before.act && String(given[0]).endsWith(before.name)) {
        const { act } = before;
        before.act = undefined;
        act();
      }
      return real.open(...given);
    },
  };
});

/** A folder of notes that becomes a link to somebody else's notes in the moment before one of them is opened. */
function useTrap(): ReturnType<typeof useHouse> & { arm(): void } {
  const house = useHouse();
  house.write({ "memory/sub/trap.md": "The puffin is small.\n" });
  const elsewhere = path.join(house.folder, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(path.join(elsewhere, "trap.md"), "The CANARY of another agent.\n");
  const folder = path.join(house.notes, "memory", "sub");
  return {
    ...house,
    arm() {
      before.name = "trap.md";
      before.act = () => {
        renameSync(folder, path.join(house.folder, "away"));
        symlinkSync(elsewhere, folder, "junction");
      };
    },
  };
}

test("a folder that becomes a link while a note is read leads nowhere", async () => {
  const house = useTrap();
  const memory = await house.open();
  await memory.sync();
  house.arm();
  await expect(memory.readFile({ relPath: "memory/sub/trap.md" })).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  expect(before.act).toBeUndefined();
});

test("a folder that becomes a link while a note is indexed brings nothing into the index", async () => {
  const house = useTrap();
  const memory = await house.open();
  house.arm();
  const report = await memory.sync();
  expect(before.act).toBeUndefined();
  expect(report?.failed).toEqual([expect.objectContaining({ path: "memory/sub/trap.md" })]);
  expect(await memory.search("CANARY")).toEqual([]);
  await memory.sync();
  expect(await memory.search("CANARY")).toEqual([]);
});
