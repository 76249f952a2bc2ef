import fs from "node:fs";
import promises from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { readMemoryFile } from "./read-memory-file.ts";
import { scanMemory, type ScanResult } from "./scan.ts";
import type { Workspace } from "./memory-roots.ts";
import { never } from "../../test/support/context.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import tables from "./test/paths.json" with { type: "json" };

/** How a disk of the test differs from the one that it is played on. */
interface Disk {
  /** A name is found under other spellings: case, and the way accents are written. */
  folds?: boolean;
  /** Files have no numbers. */
  hidesNumbers: boolean;
}

/**
 * Plays a disk as macOS and Windows have it, on one that makes a difference between all spellings: what is asked for
 * under one spelling is looked up under the one that is there.
 */
function playDisk({ folds = false, hidesNumbers }: Disk): void {
  const real = { ...fs };
  const { open } = promises;
  const spelled = (given: fs.PathLike): string => (folds ? realSpelling(real, String(given)) : String(given));
  const numbered = (stats: { ino: number | bigint } | undefined): unknown => {
    if (hidesNumbers && stats) stats.ino = typeof stats.ino === "bigint" ? 0n : 0;
    return stats;
  };
  const lstatSync = (file: string, options?: object): unknown =>
    numbered(real.lstatSync(spelled(file), options as never));
  const readdirSync = (folder: string, options?: object): unknown =>
    real.readdirSync(spelled(folder), options as never);
  const native = (file: string): string => real.realpathSync.native(spelled(file));
  stubBuiltin(fs, {
    openSync: (file, flags, mode) => real.openSync(spelled(file), flags, mode),
    lstatSync: lstatSync as typeof fs.lstatSync,
    readdirSync: readdirSync as typeof fs.readdirSync,
    realpathSync: Object.assign((file: string) => real.realpathSync(spelled(file)), {
      native,
    }) as typeof fs.realpathSync,
  });
  stubBuiltin(promises, { open: (file, ...more) => open(spelled(file as string), ...more) });
}

function realSpelling({ existsSync, lstatSync, readdirSync }: typeof fs, given: string): string {
  let current = path.parse(given).root;
  for (const part of given.slice(current.length).split(path.sep)) {
    if (part === "" || existsSync(path.join(current, part))) current = path.join(current, part);
    else {
      const names = existsSync(current) && lstatSync(current).isDirectory() ? readdirSync(current) : [];
      current = path.join(current, names.find((name) => folded(name) === folded(part)) ?? part);
    }
  }
  return current;
}

function folded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

type ExtraPaths = Workspace["settings"]["extraPaths"];

async function scan(workspaceDir: string, extraPaths: ExtraPaths = []): Promise<ScanResult> {
  return await scanMemory({ workspaceDir, settings: { extraPaths, notes: "agent" } }, never);
}

/** What can be read of each result of a scan under its own path. */
async function readAll(
  workspace: string,
  { files }: ScanResult,
  extraPaths: ExtraPaths = [],
): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const { path: relPath } of files) texts[relPath] = await textOf(workspace, relPath, extraPaths);
  return texts;
}

async function textOf(workspace: string, relPath: string, extraPaths: ExtraPaths = []): Promise<string> {
  const params = { relPath, from: 1, lines: 10, audience: "private", signal: never } as const;
  const { status, text } = await readMemoryFile(params, {
    workspaceDir: workspace,
    settings: { extraPaths, notes: "agent" },
  });
  return status === "ok" ? text : status;
}

describe.each([
  ["with numbers", false],
  ["without numbers", true],
])("a disk that makes no difference between spellings, %s", (_, hidesNumbers) => {
  test("the usual places are found as they are spelled there, under their usual paths", async () => {
    const workspace = folderWith({ "Memory.md": "m", "user.md": "u", "Memory/Deep/Note.md": "n" });
    playDisk({ folds: true, hidesNumbers });
    const result = await scan(workspace);
    expect(await readAll(workspace, result)).toEqual(tables.usualTexts);
    expect(result.roots).toEqual(tables.usualRoots);
    expect(await textOf(workspace, "memory.md")).toBe("m");
    expect(await textOf(workspace, "memory/deep/NOTE.md")).toBe("n");
  });

  test("each file is taken once, however many spellings lead to it, without a report of the others", async () => {
    const files = { "Memory.md": "m", "Memory/Note.md": "n", "Caf\u00e9/a.md": "a", "Cafe\u0301s/b.md": "b" };
    const workspace = folderWith(files);
    playDisk({ folds: true, hidesNumbers });
    const extraPaths = [
      ".",
      "MEMORY",
      "memory",
      "MEMORY.MD",
      "cafe\u0301",
      "CAF\u00c9",
      "caf\u00e9s",
      path.join(workspace, "MemorY"),
    ];
    const result = await scan(workspace, extraPaths);
    expect(await readAll(workspace, result, extraPaths)).toEqual(tables.foldedTexts);
    expect(result.roots.filter(({ state }) => state === "skipped")).toMatchObject([
      { path: "USER.md", state: "skipped", reason: "does not exist" },
    ]);
    expect(result.failed).toEqual([]);
  });
});

describe("a disk that makes a difference between spellings", () => {
  test("has as many files as there are spellings", async () => {
    const files = tables.spelledFiles;
    const workspace = folderWith(files);
    for (const hidesNumbers of [false, true]) {
      playDisk({ hidesNumbers });
      expect(await readAll(workspace, await scan(workspace))).toEqual(files);
    }
  });

  test("a note is read under another way to write its accents, where it is the only one", async () => {
    const workspace = folderWith(tables.accentedFiles);
    const extraPaths = ["extr\u00e0"];
    const read = async (relPath: string): Promise<string> => await textOf(workspace, relPath, extraPaths);
    for (const form of ["NFC", "NFD"]) {
      expect(await read("memory/caf\u00e9/\u00fcber.md".normalize(form)), form).toBe("decomposed");
      expect(await read("memory/caf\u00e9s/\u00fcber.md".normalize(form)), form).toBe("composed");
      expect(await read("extr\u00e0/a.md".normalize(form)), form).toBe("extra");
      expect(await read("memory/caf\u00e9/\u00f6.md".normalize(form)), form).toBe("not_found");
    }
  });

  test("a pattern is held against the spelling on the disk", async () => {
    const workspace = folderWith({ "docs/cafe\u0301.md": "d", "docs/other.md": "o" });
    const extraPaths = [{ path: "docs", pattern: "cafe\u0301*" }];
    expect((await scan(workspace, extraPaths)).files).toHaveLength(1);
    expect(await textOf(workspace, "docs/caf\u00e9.md", extraPaths)).toBe("d");
    await expect(textOf(workspace, "docs/other.md", extraPaths)).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });
});
