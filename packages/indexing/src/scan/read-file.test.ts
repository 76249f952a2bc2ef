import { execFileSync } from "node:child_process";
import fs, { type PathLike, renameSync, symlinkSync, truncateSync } from "node:fs";
import path from "node:path";
import { type ExtraPath, MemoryError, type MemoryReadResult } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { maxReadLength, readMemoryFile } from "./read-file.ts";
import { maxFileBytes } from "./file-state.ts";
import oddNames from "../../test/support/odd-names.json" with { type: "json" };
import { randomFrom, randomSentence } from "@memslot/test-tools/random";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { never } from "../../test/support/context.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import tables from "./test/paths.json" with { type: "json" };

const settings = { extraPaths: [], notes: "agent" } as const;
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

const notice = /\n?\[More content available\. Use from=(\d+) to continue\.\]$/;

test.each(tables.windows as [string, string, { from?: number; lines?: number }, object][])(
  "the window %s",
  async (_, content, window, expected) => {
    const result = await read(folderWith({ "memory/a.md": content }), "memory/a.md", window);
    expect(result).toEqual({ status: "ok", path: "memory/a.md", ...expected });
  },
);

describe("the budget", () => {
  test("cuts at whole lines, notice included, and says where to go on", async () => {
    const lines = Array.from({ length: 500 }, (_, index) => `line ${index + 1} ${"x".repeat(90)}`);
    const workspace = folderWith({ "memory/a.md": lines.join("\n") });
    const result = await read(workspace, "memory/a.md", { lines: 500 });
    expect(result.text.length).toBeLessThanOrEqual(maxReadLength);
    expect(result.text.length).toBeGreaterThan(maxReadLength - 150);
    expect(result).toMatchObject({ truncated: true, from: 1, nextFrom: (result.lines ?? 0) + 1 });
    expect(result.text.replace(notice, "")).toBe(lines.slice(0, result.lines).join("\n"));
  });

  test("fits a file of exactly that length without a notice", async () => {
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

  test("following nextFrom reads the whole file back exactly", async () => {
    const random = randomFrom(9);
    for (let round = 0; round < 10; round++) {
      const lines = Array.from({ length: 1 + random.below(600) }, () =>
        random.pick([
          () => "",
          () => randomSentence(random, 40),
          () => "x".repeat(random.below(11_000)),
          () => "数据库".repeat(random.below(300)),
        ])(),
      );
      lines.push("the end");
      const workspace = folderWith({ "MEMORY.md": lines.join("\n") });
      const back: string[] = [];
      let from: number | undefined = 1;
      while (from !== undefined) {
        const result = await read(workspace, "MEMORY.md", { from, lines: 50 + random.below(300) });
        expect(result.text.length).toBeLessThanOrEqual(maxReadLength);
        expect(result.nextFrom === undefined).toBe(!notice.test(result.text));
        const own = result.text.replace(notice, "");
        if (result.lines) back.push(...own.split("\n"));
        expect(result.nextFrom ?? lines.length + 1).toBe(back.length + 1);
        from = result.nextFrom;
      }
      expect(back).toEqual(lines);
    }
  });

  test("a single line that is over it is cut, never inside a surrogate pair, and the lines after it can be read", async () => {
    for (const shift of ["", "x"]) {
      const workspace = folderWith({ "memory/a.md": `${shift}${"👍".repeat(20_000)}\nafter\n` });
      const result = await read(workspace, "memory/a.md");
      expect(result.text.length).toBeLessThanOrEqual(maxReadLength);
      expect(result.text.length).toBeGreaterThan(maxReadLength - 5);
      expect(result.text.isWellFormed()).toBe(true);
      expect(result.text).toMatch(
        /\n\[Line 1 is 4000\d characters long and is cut here; .* Use from=2 for the lines after it\.\]$/,
      );
      expect(result).toMatchObject({ truncated: true, lines: 1, nextFrom: 2 });
      expect(await read(workspace, "memory/a.md", { from: 2 })).toMatchObject({ text: "after" });
    }
  });
});

describe("what can be read", () => {
  test("is what the scan takes", async () => {
    const workspace = folderWith({ "MEMORY.md": "m", "USER.md": "u", "memory/deep/a.MD": "a", "memory/..b.md": "b" });
    for (const file of ["MEMORY.md", "USER.md", "memory/deep/a.MD", "memory/..b.md"])
      expect(await read(workspace, file)).toMatchObject({ status: "ok", lines: 1, path: file });
  });

  test("under any spelling of its path that stays inside", async () => {
    const workspace = folderWith({ "MEMORY.md": "m", "memory/a.md": "a" });
    for (const [spelling, file] of tables.spelledPaths as [string, string][])
      expect(await read(workspace, spelling)).toMatchObject({ status: "ok", path: file });
  });

  test("also in extra paths, inside the workspace and outside, by the path that results show", async () => {
    const outside = folderWith({ "wiki/a.md": "wiki", "single.md": "single", "docs/x.md": "x", "docs/y.md": "y" });
    const workspace = folderWith({ "notes/n.md": "n" });
    const extraPaths = [
      "notes",
      path.join(outside, "wiki"),
      path.join(outside, "single.md"),
      { path: path.join(outside, "docs"), pattern: "x*" },
    ];
    const above = path.relative(workspace, outside).replaceAll(path.sep, "/");
    expect(await read(workspace, "notes/n.md", { extraPaths })).toMatchObject({ text: "n" });
    expect(await read(workspace, `${above}/wiki/a.md`, { extraPaths })).toMatchObject({
      text: "wiki",
      path: `${above}/wiki/a.md`,
    });
    expect(await read(workspace, `${above}/single.md`, { extraPaths })).toMatchObject({ text: "single" });
    expect(await read(workspace, `${above}/docs/x.md`, { extraPaths })).toMatchObject({ text: "x" });
    expect(await refusal(workspace, `${above}/docs/y.md`, extraPaths)).toMatchObject({ code: "PATH_NOT_ALLOWED" });
    expect(await refusal(workspace, `${above}/other.md`, extraPaths)).toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });

  test("a file that is not there is not_found, not an error", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    for (const file of [...tables.missingPaths, `memory/${"x".repeat(300)}.md`])
      expect(await read(workspace, file)).toMatchObject({ status: "not_found", text: "", path: file });
  });

  test.skipIf(isWindows)("names as odd as files may have", async () => {
    const files = oddNames.map((name) => `memory/${name}/${name}`);
    const workspace = folderWith(Object.fromEntries(files.map((file) => [file, "odd"])));
    for (const file of files)
      expect(await read(workspace, file)).toMatchObject({ status: "ok", text: "odd", path: file });
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
      ["memory/a\0.md", "it holds a NUL byte"],
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

  test.skipIf(isWindows)("an extra path that is a link is refused", async () => {
    const outside = folderWith({ "deep/secret.md": "s" });
    const workspace = folderWith();
    symlinkSync(path.join(outside, "deep"), path.join(workspace, "extra"));
    expect(await refusal(workspace, "extra/secret.md", ["extra"])).toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });

  test("an aborted read ends with an AbortError", async () => {
    const workspace = folderWith({ "MEMORY.md": "m" });
    const params = {
      relPath: "MEMORY.md",
      from: 1,
      lines: 10,
      audience: "private" as const,
      signal: AbortSignal.abort(),
    };
    await expect(readMemoryFile(params, { workspaceDir: workspace, settings })).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});

describe("a race", () => {
  /** Does something once a path has been looked at, before it is opened. */
  function afterTheLookAt(looked: string, happens: () => void): () => boolean {
    let done = false;
    const { lstatSync } = fs;
    const look = (file: PathLike, ...more: unknown[]): unknown => {
      const stats = lstatSync(file, ...(more as []));
      if (!done && file === looked) {
        done = true;
        happens();
      }
      return stats;
    };
    stubBuiltin(fs, { lstatSync: look as typeof lstatSync });
    return () => done;
  }

  test.skipIf(process.platform === "win32").each(["deep", "memory"])(
    "a folder that becomes a link between the look and the opening leads nowhere: %s",
    async (swapped) => {
      const outside = folderWith({ "secret/deep/a.md": "secret", "secret/a.md": "secret" });
      const workspace = folderWith({ "memory/deep/a.md": "mine" });
      const note = path.join(workspace, "memory/deep/a.md");
      const folder = swapped === "deep" ? path.dirname(note) : path.join(workspace, "memory");
      const hasHappened = afterTheLookAt(note, () => {
        renameSync(folder, `${folder}-before`);
        symlinkSync(path.join(outside, "secret"), folder);
      });
      const params = { relPath: "memory/deep/a.md", from: 1, lines: 10, audience: "private", signal: never } as const;
      await expect(readMemoryFile(params, { workspaceDir: workspace, settings })).rejects.toMatchObject({
        code: "PATH_NOT_ALLOWED",
        message: "memory/deep/a.md cannot be read: it leads out of the memory folder through a link.",
      });
      expect(hasHappened()).toBe(true);
    },
  );
});
