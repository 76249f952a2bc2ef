import { constants, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { listConfined, MovedError, openConfinedFolder, openConfined } from "@memslot/core/files";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return { ...fs, readlinkSync: vi.fn<typeof fs.readlinkSync>(fs.readlinkSync) };
});
vi.mock("node:fs/promises", async (original) => {
  const fs = await original<typeof import("node:fs/promises")>();
  return { ...fs, open: vi.fn<typeof fs.open>(fs.open) };
});
const real = await vi.importActual<typeof import("node:fs")>("node:fs");
const realPromises = await vi.importActual<typeof import("node:fs/promises")>("node:fs/promises");

let folder: string;
let note: string;
let outside: string;

beforeEach(() => {
  folder = tempFolder({ "notes/memory/a.md": "mine", "outside/a.md": "theirs" });
  note = path.join(folder, "notes/memory/a.md");
  outside = path.join(folder, "outside");
});

afterEach(() => {
  vi.mocked(readlinkSync).mockReset().mockImplementation(real.readlinkSync);
  vi.mocked(open).mockReset().mockImplementation(realPromises.open);
});

const memory = (): string => path.dirname(note);

function becomesLink(): void {
  renameSync(memory(), path.join(folder, "away"));
  symlinkSync(outside, memory(), "junction");
}

function isFolderAgain(): void {
  rmSync(memory());
  renameSync(path.join(folder, "away"), memory());
}

/** Something happens before and after each opening of a file of that name. */
function around(name: string, before: () => void, after: () => void): void {
  vi.mocked(open).mockImplementation(async (...given) => {
    if (!String(given[0]).endsWith(name)) return await realPromises.open(...given);
    before();
    try {
      return await realPromises.open(...given);
    } finally {
      after();
    }
  });
}

async function textOf(file: string): Promise<string> {
  const handle = await openConfined(file, constants.O_RDONLY);
  try {
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

const systems =
  process.platform === "linux"
    ? (["as Linux tells it", "by the path alone"] as const)
    : (["by the path alone"] as const);

describe.each(systems)("what lies at a path, %s", (how) => {
  beforeEach(() => {
    if (how === "as Linux tells it") return;
    vi.mocked(readlinkSync).mockImplementation((file, ...more) => {
      if (String(file).startsWith("/proc/self/fd/")) throw Object.assign(new Error("no /proc"), { code: "ENOENT" });
      return real.readlinkSync(file, ...(more as []));
    });
  });

  test("is opened, listed, and made", async () => {
    expect(await textOf(note)).toBe("mine");
    expect(listConfined(memory()).map(({ name }) => name)).toEqual(["a.md"]);
    const opened = await openConfinedFolder(memory());
    await opened.mkdir("deep");
    const made = await opened.open("b.md", constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    expect(opened.holds(made, "b.md")).toBe(true);
    expect(opened.holds(made, "a.md")).toBe(false);
    await made.close();
    expect(readdirSync(memory()).toSorted()).toEqual(["a.md", "b.md", "deep"]);
    await opened.remove("b.md");
    await expect(opened.open("b.md", constants.O_RDONLY)).rejects.toMatchObject({
      code: "ENOENT",
      message: expect.stringContaining(path.join(memory(), "b.md")),
    });
    await opened.close();
  });

  test("is not what a link leads to", async () => {
    becomesLink();
    await expect(openConfined(note, constants.O_RDONLY)).rejects.toBeInstanceOf(MovedError);
    await expect(openConfinedFolder(memory())).rejects.toThrow(/^(?:ENOTDIR|ELOOP)/);
  });

  test("is not what a link led to for the moment of the opening", async () => {
    around("a.md", becomesLink, isFolderAgain);
    await expect(openConfined(note, constants.O_RDONLY)).rejects.toBeInstanceOf(MovedError);
  });

  test("is opened anew where it was moved for a moment", async () => {
    let times = 0;
    around(
      "a.md",
      () => ++times === 1 && becomesLink(),
      () => times === 1 && isFolderAgain(),
    );
    expect(await textOf(note)).toBe("mine");
    expect(times).toBe(2);
  });

  test("does not hold what is opened in a folder that was moved away", async () => {
    const opened = await openConfinedFolder(memory());
    becomesLink();
    const made = await opened
      .open("b.md", constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL)
      .catch((error: unknown) => error);
    if (how === "by the path alone") expect(made).toBeInstanceOf(MovedError);
    else {
      expect(opened.holds(made as Awaited<ReturnType<typeof open>>, "b.md")).toBe(false);
      await (made as Awaited<ReturnType<typeof open>>).close();
    }
    await opened.mkdir("deep").catch(() => undefined);
    expect(readdirSync(outside)).toEqual(["a.md"]);
    await opened.close();
  });

  test("may have been replaced by a save since it was opened", async () => {
    around(
      "a.md",
      () => undefined,
      () => {
        writeFileSync(`${note}~`, "saved");
        renameSync(`${note}~`, note);
      },
    );
    // By the path alone the save is another file, which is asked for until nobody saves in between.
    if (how === "by the path alone") await expect(textOf(note)).rejects.toBeInstanceOf(MovedError);
    else expect(await textOf(note)).toBe("mine");
  });
});
