import assert from "node:assert/strict";
import { mkdir, readFile, readdir, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryError, type MemoryReadResult } from "@memslot/core";
import cases from "../data/memory-cases.json" with { type: "json" };
import { type MemoryCheck, linesOf } from "./memory-test-environment.ts";

const { memoryPaths, otherPaths, refusedPaths } = cases;

/** Every file and folder below a folder, with its content and modification time. */
async function snapshotOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const content = async (): Promise<string> => `${(await stat(path)).mtimeMs} ${await readFile(path, "base64")}`;
    found[path] = entry.isFile() ? await content() : "folder";
  }
  return found;
}

/** Which files are memory. */
export const noteChecks: readonly MemoryCheck[] = [
  {
    id: "notes.which",
    promise: "MEMORY.md, USER.md and Markdown files below memory/ are searched, and no other file or symbolic link",
    async run(lab) {
      const paths = [...memoryPaths, ...otherPaths];
      await lab.write(Object.fromEntries(paths.map((path) => [path, `The walrus is in ${path}.\n`])));
      const outside = await lab.outside("linked", { "secret.md": "The walrus knows a secret.\n" });
      await symlink(join(outside, "secret.md"), join(lab.workspaceDir, "memory/link.md"));
      await symlink(outside, join(lab.workspaceDir, "memory/folder"), "dir");
      const opened = await lab.openWith({});
      const found = await opened.paths("walrus");
      assert.deepEqual(found.map((path) => path.normalize("NFC")).toSorted(), memoryPaths.toSorted());
      for (const path of found) assert.ok((await opened.read(path)).text.includes("walrus"), `${path} cannot be read`);
    },
  },
  {
    id: "notes.extra-path",
    promise: "files of an extra path are searched and can be read",
    async run(lab) {
      const files = { "sub/extra.md": "The walrus has a second home.\n", "other.md": "The walrus is elsewhere.\n" };
      const extraPaths = [{ path: await lab.outside("extra", files), pattern: "sub/**" }];
      const opened = await lab.openWith({}, { memorySearch: { extraPaths } });
      const { results } = await opened.ask("walrus", { minScore: 0 });
      assert.deepEqual(
        results.map(({ snippet }) => snippet.trim()),
        ["The walrus has a second home."],
      );
      assert.ok((await opened.read(results[0]?.path ?? "")).text.includes("second home"));
    },
  },
  {
    id: "notes.odd-content",
    promise: "unusual content affects neither its own file nor others",
    async run(lab) {
      await mkdir(join(lab.workspaceDir, "memory/folder.md"), { recursive: true });
      const opened = await lab.openWith({
        "memory/empty.md": "",
        "memory/blank.md": "\n\n   \n",
        "memory/nul.md": "before\0after ocelot\n",
        "memory/invalid.md": Buffer.from("tapir \u00ff\u00fe\u00c3\u0028 end\n", "latin1"),
        "memory/binary.md": Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256)),
        "memory/front-matter.md": "---\ntitle: never closed\n\nThe serval is here.\n",
        "memory/fence.md": "```\nThe margay is here.\n",
        "memory/good.md": "The walrus is here.\n",
      });
      const rows = { walrus: "good", ocelot: "nul", tapir: "invalid", serval: "front-matter", margay: "fence" };
      for (const [word, name] of Object.entries(rows)) await opened.finds(word, `memory/${name}.md`);
    },
  },
  {
    id: "notes.unchanged",
    promise: "the notes are not changed",
    async run(lab) {
      const content = "\u{feff}# Notes\r\n\r\nThe walrus is here.  \r\n\r\n\r\n";
      await lab.write({ "MEMORY.md": content, "memory/a.md": content });
      const before = await snapshotOf(lab.workspaceDir);
      const opened = await lab.openWith({});
      await opened.settle({ force: true });
      await opened.ask("walrus");
      await opened.read("memory/a.md");
      await opened.memory.close();
      assert.deepEqual(await snapshotOf(lab.workspaceDir), before);
    },
  },
];

const twelve = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
const here = { "memory/a.md": "here\n" };

/** What reading a file returns, and what is refused. */
export const readChecks: readonly MemoryCheck[] = [
  {
    id: "read.current",
    promise: "a read gives the current content, whatever the size, the time and the index say",
    async run(lab) {
      const opened = await lab.openWith({ "memory/a.md": "The code is 1111.\n" });
      const file = join(lab.workspaceDir, "memory/a.md");
      const read = async (): Promise<string[]> => linesOf(await opened.read("memory/a.md"));
      assert.deepEqual(await read(), ["The code is 1111."]);
      const { atime, mtime } = await stat(file);
      for (const code of ["2222", "3333"]) {
        await writeFile(file, `The code is ${code}.\n`);
        await utimes(file, atime, mtime);
        assert.deepEqual(await read(), [`The code is ${code}.`]);
        await opened.settle();
      }
      await lab.write({ "memory/a.md": "A longer text than before.\n" });
      assert.deepEqual(await read(), ["A longer text than before."]);
    },
  },
  {
    id: "read.window",
    promise: "a window gives its lines and where to continue",
    async run(lab) {
      const opened = await lab.openWith({ "memory/a.md": twelve });
      for (const [from, lines, nextFrom] of cases.windows as [number, number, number | null][]) {
        const read = await opened.read("memory/a.md", { from, lines });
        const wanted = twelve.slice(from - 1, from - 1 + lines);
        assert.deepEqual(
          [read.status, read.path, read.from, read.lines, read.nextFrom],
          ["ok", "memory/a.md", from, wanted.length, nextFrom ?? undefined],
        );
        assert.deepEqual(linesOf(read), wanted);
      }
      const behind = await opened.read("memory/a.md", { from: 500 });
      assert.deepEqual([behind.status, behind.text, behind.nextFrom], ["ok", "", undefined], "behind the end");
    },
  },
  {
    id: "read.short",
    promise: "a short file is returned whole and unchanged",
    async run(lab) {
      const text = "# 标题\n\n- one 🙂\n\n- two";
      const opened = await lab.openWith({ "MEMORY.md": text });
      const read = await opened.read("MEMORY.md");
      assert.equal(read.text.replace(/\n$/, ""), text);
      assert.deepEqual([read.nextFrom, read.truncated ?? false], [undefined, false]);
    },
  },
  {
    id: "read.next-from",
    promise: "following nextFrom gives every line once",
    async run(lab) {
      const lines = Array.from({ length: 900 }, (_, index) => `${index} ${"word ".repeat(index % 60)}`.trimEnd());
      const opened = await lab.openWith({ "memory/long.md": lines });
      const seen: string[] = [];
      for (let from: number | undefined = 1; from !== undefined;) {
        const read: MemoryReadResult = await opened.read("memory/long.md", { from });
        seen.push(...linesOf(read));
        assert.ok((read.nextFrom ?? Infinity) > from, `nextFrom goes from ${from} to ${read.nextFrom}`);
        from = read.nextFrom;
      }
      assert.deepEqual(seen, lines);
    },
  },
  {
    id: "read.cut",
    promise: "too long a text is cut between lines or characters, reported as truncated, and can be continued",
    async run(lab) {
      const lines = Array.from({ length: 100 }, (_, index) => `${index} ${"x".repeat(500)}`);
      const long = "🙂".repeat(40_000);
      const opened = await lab.openWith({ "memory/wide.md": lines, "memory/one.md": `first\n${long}\nlast\n` });
      const wide = await opened.read("memory/wide.md", { lines: 100 });
      assert.deepEqual(linesOf(wide), lines.slice(0, wide.lines));
      assert.deepEqual([wide.truncated, wide.nextFrom], [true, (wide.lines ?? 0) + 1]);
      assert.equal((await opened.read("memory/one.md")).nextFrom, 2);
      const second = await opened.read("memory/one.md", { from: 2 });
      assert.ok(second.text.startsWith("🙂") && second.text.isWellFormed());
      assert.deepEqual([second.truncated, second.nextFrom], [true, 3]);
      for (const { text } of [wide, second]) assert.ok(text.length <= 12_500, `${text.length} characters`);
      assert.deepEqual(linesOf(await opened.read("memory/one.md", { from: 3 })), ["last"]);
    },
  },
  {
    id: "read.missing",
    promise: "a missing file is not_found",
    async run(lab) {
      const opened = await lab.openWith(here);
      for (const relPath of ["memory/none.md", "memory/no/such/folder.md", "USER.md"]) {
        const { status, text, path } = await opened.read(relPath);
        assert.deepEqual([status, text, path], ["not_found", "", relPath]);
      }
    },
  },
  {
    id: "read.refused",
    promise: "paths outside the memory files are refused",
    async run(lab) {
      const others = { "package.json": "{}", "src/readme.md": "not memory\n", "memory/data.txt": "not Markdown\n" };
      const opened = await lab.openWith({ ...here, ...others });
      const outside = await lab.outside("links", { "secret.md": "secret\n" });
      await symlink(join(outside, "secret.md"), join(lab.workspaceDir, "memory/link.md"));
      await symlink(outside, join(lab.workspaceDir, "memory/folder"), "dir");
      for (const relPath of [...refusedPaths, join(outside, "secret.md")]) {
        const outcome = await opened.read(relPath).then(JSON.stringify, (error: unknown) => error);
        assert.ok(MemoryError.is(outcome, "PATH_NOT_ALLOWED"), `${relPath} gave ${String(outcome)}`);
      }
    },
  },
];
