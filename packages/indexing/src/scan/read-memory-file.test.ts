import { execFileSync } from "node:child_process";
import { symlinkSync, truncateSync } from "node:fs";
import path from "node:path";
import { type ExtraPath, MemoryError, type MemoryReadResult } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { readMemoryFile } from "./read-memory-file.ts";
import { maxFileBytes } from "./file-state.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import tables from "./test/paths.json" with { type: "json" };

const isWindows = process.platform === "win32";

async function read(
  workspaceDir: string,
  relPath: string,
  window: { from?: number; lines?: number; extraPaths?: (string | ExtraPath)[] } = {},
): Promise<MemoryReadResult> {
  const { from = 1, lines = 120, extraPaths = [] } = window;
  return await readMemoryFile(
    { relPath, from, lines, audience: "private", signal: new AbortController().signal },
    { workspaceDir, settings: { extraPaths, notes: "agent" } },
  );
}

/** The error that a read must end with. */
async function refusal(
  workspaceDir: string,
  relPath: string,
  extraPaths: (string | ExtraPath)[] = [],
): Promise<MemoryError> {
  const outcome: unknown = await read(workspaceDir, relPath, { extraPaths }).catch((error: unknown) => error);
  if (MemoryError.is(outcome)) return outcome;
  throw new Error(`${JSON.stringify(relPath)} gave ${JSON.stringify(outcome)}`);
}

test.each(tables.windows as [string, string, { from?: number; lines?: number }, object][])(
  "the window %s",
  async (_, content, window, expected) => {
    const result = await read(folderWith({ "memory/a.md": content }), "memory/a.md", window);
    expect(result).toEqual({ status: "ok", path: "memory/a.md", ...expected });
  },
);

test("the budget fits a file of exactly that length without a notice", async () => {
  const text = `${"x".repeat(5999)}\n${"y".repeat(6000)}`;
  const workspace = folderWith({ "memory/a.md": text, "memory/b.md": `${text}z` });
  expect(await read(workspace, "memory/a.md")).toEqual({
    status: "ok",
    path: "memory/a.md",
    text,
    from: 1,
    lines: 2,
  });
  expect(await read(workspace, "memory/b.md")).toMatchObject({ lines: 1, nextFrom: 2, truncated: true });
});

test.each(["", "x"])("a line over the budget is never cut inside a character (after %j)", async (before) => {
  const workspace = folderWith({ "memory/a.md": `${before}${"👍".repeat(20_000)}\nafter\n` });
  const result = await read(workspace, "memory/a.md");
  expect(result.text.isWellFormed()).toBe(true);
  expect(result).toMatchObject({ truncated: true, lines: 1, nextFrom: 2 });
});

describe("what can be read", () => {
  test("under any spelling of its path that stays inside", async () => {
    const workspace = folderWith({ "MEMORY.md": "m", "memory/a.md": "a" });
    for (const [spelling, file] of tables.spelledPaths as [string, string][])
      expect(await read(workspace, spelling)).toMatchObject({ status: "ok", path: file });
  });

  test("a file that is not there is not_found, not an error", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    for (const file of [...tables.missingPaths, `memory/${"x".repeat(300)}.md`])
      expect(await read(workspace, file)).toMatchObject({ status: "not_found", text: "", path: file });
  });
});

describe("what cannot be read", () => {
  test.each(tables.unreadablePaths)("%j is refused with the rule", async (relPath) => {
    const files = ["memory/note.md", "README.md", "other/note.md", "memory/picture.png", "memoryx/a.md"];
    const folder = folderWith({
      "outside.md": "o",
      ...Object.fromEntries(files.map((file) => [`workspace/${file}`, "x"])),
    });
    const error = await refusal(path.join(folder, "workspace"), relPath);
    expect(error.code).toBe("PATH_NOT_ALLOWED");
    expect(error.message).toContain(JSON.stringify(relPath));
    expect(error.message).toContain("memory/**/*.md");
  });

  test("is refused with the reason", async () => {
    const picture = Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256));
    const tools = ["memory/node_modules/pkg/README.md", "memory/.git/note.md", "docs/node_modules/note.md"];
    const workspace = folderWith({
      ...Object.fromEntries([...tools, "memory/x.md/note.md", "memory/note.md"].map((file) => [file, "x"])),
      "memory/big.md": "",
      "memory/larger.md": "",
      "memory/picture.md": picture,
    });
    truncateSync(path.join(workspace, "memory/big.md"), 200 * 1000 * 1000);
    truncateSync(path.join(workspace, "memory/larger.md"), maxFileBytes + 1);
    const rows: [string, string][] = [
      ["memory/a\0.md", "it contains a NUL byte"],
      ["/etc/notes.md", "it is an absolute path"],
      // Also where it leads to a memory file.
      [path.join(workspace, "memory/note.md"), "it is an absolute path"],
      ["~/notes.md", "~ is not expanded"],
      ["memory/notes.txt", "it is not a Markdown file (.md)"],
      ["notes.md", "it is outside the memory files"],
      ["memory/x.md", "memory/x.md"],
      ["memory/big.md", "larger than 16 MiB. Split it"],
      ["memory/larger.md", "larger than 16 MiB. Split it"],
      ["memory/picture.md", "memory/picture.md cannot be read: it is not text"],
      ["memory/picture.md", "save it as UTF-8"],
      ...tools.map((file): [string, string] => [file, file]),
    ];
    if (!isWindows) {
      // One that is opened would wait for a writer.
      execFileSync("mkfifo", [path.join(workspace, "memory/pipe.md")]);
      rows.push(["memory/pipe.md", "memory/pipe.md"]);
    }
    for (const [file, words] of rows) {
      const error = await refusal(workspace, file, ["docs"]);
      expect([file, error.code]).toEqual([file, "PATH_NOT_ALLOWED"]);
      expect(error.message).toContain(words);
    }
  });

  test.skipIf(isWindows)("links are refused: a file, a parent, a root, to inside and to outside", async () => {
    const outside = folderWith({ "secret.md": "s", "deep/secret.md": "s" });
    const workspace = folderWith({ "memory/real/note.md": "n", "MEMORY.md": "m" });
    const link = (target: string, name: string): void => symlinkSync(target, path.join(workspace, name));
    link(path.join(outside, "secret.md"), "memory/link.md");
    link(path.join(workspace, "MEMORY.md"), "memory/inside.md");
    link(path.join(outside, "deep"), "memory/linked");
    link(path.join(workspace, "memory/real"), "memory/again");
    link(path.join(outside, "nowhere.md"), "memory/broken.md");
    link(path.join(outside, "secret.md"), "USER.md");
    for (const file of tables.linkedPaths) {
      const error = await refusal(workspace, file);
      expect(error).toMatchObject({ code: "PATH_NOT_ALLOWED" });
      expect(error.message).toContain("symbolic link");
    }
  });
});
