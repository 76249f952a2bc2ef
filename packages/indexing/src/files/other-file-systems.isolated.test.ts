import { linkSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readMemoryFile } from "./read-file.ts";
import { scanMemory, type ScanOptions, type ScanResult } from "./scan.ts";
import { never } from "../../test/support/context.ts";
import type { FoldingRules } from "../../test/support/folding-file-system.ts";
import { useTempFolders } from "../../test/support/temp-folder.ts";

const rules = vi.hoisted((): FoldingRules => ({ folds: false, hidesNumbers: false }));
vi.mock("node:fs", async (original) => {
  const { foldingFs } = await import("../../test/support/folding-file-system.ts");
  return foldingFs(await original(), rules);
});
vi.mock("node:fs/promises", async (original) => {
  const { foldingFsPromises } = await import("../../test/support/folding-file-system.ts");
  return foldingFsPromises(await vi.importActual("node:fs"), await original(), rules);
});

const folderWith = useTempFolders();
afterEach(() => void Object.assign(rules, { folds: false, hidesNumbers: false }));

async function scan(workspaceDir: string, extraPaths: ScanOptions["extraPaths"] = []): Promise<ScanResult> {
  return await scanMemory({ workspaceDir, extraPaths, signal: never });
}

/** What can be read of each result of a scan under its own path. */
async function readAll(
  workspace: string,
  { files }: ScanResult,
  extraPaths: ScanOptions["extraPaths"] = [],
): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const { path: relPath } of files) texts[relPath] = await textOf(workspace, relPath, extraPaths);
  return texts;
}

async function textOf(workspace: string, relPath: string, extraPaths: ScanOptions["extraPaths"] = []): Promise<string> {
  const params = { relPath, from: 1, lines: 10, audience: "private", signal: never } as const;
  const { status, text } = await readMemoryFile(params, workspace, extraPaths);
  return status === "ok" ? text : status;
}

describe.each([
  ["with numbers", false],
  ["without numbers", true],
])("a disk that makes no difference between spellings, %s", (_, hidesNumbers) => {
  test("the usual places are found as they are spelled there, under their usual paths", async () => {
    const workspace = folderWith({ "Memory.md": "m", "user.md": "u", "Memory/Deep/Note.md": "n" });
    Object.assign(rules, { folds: true, hidesNumbers });
    const result = await scan(workspace);
    expect(await readAll(workspace, result)).toEqual({
      "MEMORY.md": "m",
      "USER.md": "u",
      "memory/Deep/Note.md": "n",
    });
    expect(result.roots).toEqual([
      { path: "MEMORY.md", state: "indexed", files: 1 },
      { path: "USER.md", state: "indexed", files: 1 },
      { path: "memory", state: "indexed", files: 1 },
    ]);
    expect(await textOf(workspace, "memory.md")).toBe("m");
    expect(await textOf(workspace, "memory/deep/NOTE.md")).toBe("n");
  });

  test("memory.md is one file, and is shown as it is spelled", async () => {
    const workspace = folderWith({ "memory.md": "m" });
    Object.assign(rules, { folds: true, hidesNumbers });
    const result = await scan(workspace);
    expect(result.files.map((file) => file.path)).toEqual(["memory.md"]);
    expect(result.roots[0]).toEqual({ path: "MEMORY.md", state: "skipped", reason: "memory.md is used" });
  });

  test("each file is taken once, however many spellings lead to it, and nothing is said of the others", async () => {
    const files = { "Memory.md": "m", "Memory/Note.md": "n", "Caf\u00e9/a.md": "a", "Cafe\u0301s/b.md": "b" };
    const workspace = folderWith(files);
    Object.assign(rules, { folds: true, hidesNumbers });
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
    expect(await readAll(workspace, result, extraPaths)).toEqual({
      "MEMORY.md": "m",
      "memory/Note.md": "n",
      "Caf\u00e9/a.md": "a",
      "Cafe\u0301s/b.md": "b",
    });
    expect(result.roots.filter(({ state }) => state === "skipped")).toEqual([
      { path: "USER.md", state: "skipped", reason: "does not exist" },
    ]);
    expect(result.failed).toEqual([]);
  });
});

describe("a disk that makes a difference between spellings", () => {
  test("has as many files as there are spellings", async () => {
    const files = {
      "memory/note.md": "1",
      "memory/Note.md": "2",
      "memory/caf\u00e9.md": "3",
      "memory/cafe\u0301.md": "4",
    };
    const workspace = folderWith(files);
    for (const hidesNumbers of [false, true]) {
      Object.assign(rules, { hidesNumbers });
      expect(await readAll(workspace, await scan(workspace))).toEqual(files);
    }
  });

  test("a note is read under another way to write its accents, where it is the only one", async () => {
    const workspace = folderWith({
      "memory/cafe\u0301/u\u0308ber.md": "decomposed",
      "memory/caf\u00e9s/\u00fcber.md": "composed",
      "extr\u00e0/a.md": "extra",
    });
    const extraPaths = ["extr\u00e0"];
    const read = async (relPath: string): Promise<string> => await textOf(workspace, relPath, extraPaths);
    for (const form of ["NFC", "NFD"]) {
      expect(await read("memory/caf\u00e9/\u00fcber.md".normalize(form)), form).toBe("decomposed");
      expect(await read("memory/caf\u00e9s/\u00fcber.md".normalize(form)), form).toBe("composed");
      expect(await read("extr\u00e0/a.md".normalize(form)), form).toBe("extra");
      expect(await read("memory/caf\u00e9/\u00f6.md".normalize(form)), form).toBe("not_found");
    }
  });

  test("the path of such a note is given as it is on the disk", async () => {
    const workspace = folderWith({ "memory/cafe\u0301.md": "text" });
    const params = { relPath: "memory/caf\u00e9.md", from: 1, lines: 1, audience: "private", signal: never } as const;
    expect((await readMemoryFile(params, workspace, [])).path).toBe("memory/cafe\u0301.md");
  });

  test("a pattern is held against the spelling on the disk", async () => {
    const workspace = folderWith({ "docs/cafe\u0301.md": "d", "docs/other.md": "o" });
    const extraPaths = [{ path: "docs", pattern: "cafe\u0301*" }];
    expect((await scan(workspace, extraPaths)).files).toHaveLength(1);
    expect(await textOf(workspace, "docs/caf\u00e9.md", extraPaths)).toBe("d");
    await expect(textOf(workspace, "docs/other.md", extraPaths)).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });
});

test("of two hard links the first in the order of the walk is taken, whichever is older", async () => {
  const workspace = folderWith({ "memory/z.md": "same", "extra/a.md": "other" });
  linkSync(path.join(workspace, "memory/z.md"), path.join(workspace, "memory/m.md"));
  linkSync(path.join(workspace, "memory/z.md"), path.join(workspace, "extra/b.md"));
  linkSync(path.join(workspace, "extra/a.md"), path.join(workspace, "not-memory.md"));
  const result = await scan(workspace, ["extra"]);
  expect(result.files.map((file) => file.path)).toEqual(["memory/m.md", "extra/a.md"]);
  expect(result.roots.filter(({ reason = "" }) => reason.includes("same file"))).toEqual([
    { path: "memory/z.md", state: "skipped", reason: "is the same file as memory/m.md, which is indexed" },
    { path: "extra/b.md", state: "skipped", reason: "is the same file as memory/m.md, which is indexed" },
  ]);
});
