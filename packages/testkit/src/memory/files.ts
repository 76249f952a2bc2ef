import assert from "node:assert/strict";
import { mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assertFinds, pathsOf } from "./lab/expect.ts";
import type { MemoryCheck } from "./lab/lab.ts";

/** Which files are memory. */
export const fileChecks: readonly MemoryCheck[] = [
  {
    name: "files: MEMORY.md, USER.md and every Markdown file below memory/ are searched",
    async run(lab) {
      const paths = [
        "MEMORY.md",
        "USER.md",
        "memory/2026-01-05.md",
        "memory/deep/er/note.md",
        "memory/a name with spaces.md",
        "memory/笔记.md",
      ];
      for (const path of paths) await lab.write(path, `The walrus stands in ${path}.\n`);
      const opened = await lab.open();
      await opened.settle();
      const { results } = await opened.ask("walrus", { maxResults: 50, minScore: 0 });
      assert.deepEqual(
        pathsOf(results)
          .map((path) => path.normalize("NFC"))
          .toSorted(),
        paths.toSorted(),
      );
      for (const path of pathsOf(results)) {
        const read = await opened.memory.readFile({ relPath: path });
        assert.ok(read.text.includes("walrus"), `the path ${path} of a result cannot be read`);
      }
    },
  },
  {
    name: "files: other files of the workspace are not",
    async run(lab) {
      await lab.write("memory/a.md", "The walrus is here.\n");
      for (const path of [
        "notes.md",
        "src/readme.md",
        "memory/data.txt",
        "memory/page.html",
        "memory/.git/x.md",
        "memory/node_modules/y/z.md",
      ])
        await lab.write(path, "The walrus is elsewhere.\n");
      const opened = await lab.open();
      await opened.settle();
      const { results } = await opened.ask("walrus", { maxResults: 50, minScore: 0 });
      assert.deepEqual(pathsOf(results), ["memory/a.md"]);
    },
  },
  {
    name: "files: symbolic links are not followed",
    async run(lab) {
      await lab.write("memory/a.md", "The walrus is here.\n");
      await writeFile(join(lab.outsideDir, "secret.md"), "The walrus knows a secret.\n");
      await symlink(join(lab.outsideDir, "secret.md"), join(lab.workspaceDir, "memory/link.md"));
      await symlink(lab.outsideDir, join(lab.workspaceDir, "memory/folder"), "dir");
      const opened = await lab.open();
      await opened.settle();
      const { results } = await opened.ask("walrus", { maxResults: 50, minScore: 0 });
      assert.deepEqual(pathsOf(results), ["memory/a.md"]);
    },
  },
  {
    name: "files: an extra path is searched and its results can be read",
    async run(lab) {
      await mkdir(join(lab.outsideDir, "sub"));
      await writeFile(join(lab.outsideDir, "sub/extra.md"), "The walrus has a second home.\n");
      await writeFile(join(lab.outsideDir, "other.md"), "The walrus is not asked for.\n");
      const opened = await lab.open({ memorySearch: { extraPaths: [{ path: lab.outsideDir, pattern: "sub/**" }] } });
      await opened.settle();
      const { results } = await opened.ask("walrus", { minScore: 0 });
      assert.deepEqual(
        results.map(({ snippet }) => snippet.trim()),
        ["The walrus has a second home."],
      );
      const read = await opened.memory.readFile({ relPath: results[0]?.path ?? "" });
      assert.ok(read.text.includes("second home"), read.text);
    },
  },
  {
    name: "files: odd content harms neither itself nor its neighbours",
    async run(lab) {
      await lab.write("memory/empty.md", "");
      await lab.write("memory/blank.md", "\n\n   \n");
      await lab.write("memory/nul.md", "before\0after ocelot\n");
      await lab.write(
        "memory/invalid.md",
        Buffer.concat([Buffer.from("tapir "), Buffer.from([0xff, 0xfe, 0xc3, 0x28]), Buffer.from(" end\n")]),
      );
      await lab.write("memory/binary.md", Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256)));
      await lab.write("memory/open-front-matter.md", "---\ntitle: never closed\n\nThe serval is here.\n");
      await lab.write("memory/open-fence.md", "```\nThe margay is here.\n");
      await mkdir(join(lab.workspaceDir, "memory/folder.md"));
      await lab.write("memory/good.md", "The walrus is here.\n");
      const opened = await lab.open();
      await opened.settle();
      for (const [word, path] of [
        ["walrus", "good"],
        ["ocelot", "nul"],
        ["tapir", "invalid"],
        ["serval", "open-front-matter"],
        ["margay", "open-fence"],
      ] as const)
        await assertFinds(opened, word, `memory/${path}.md`);
    },
  },
  {
    name: "files: the notes are left as they were",
    async run(lab) {
      const content = "\u{feff}# Notes\r\n\r\nThe walrus is here.  \r\n\r\n\r\n";
      await lab.write("MEMORY.md", content);
      await lab.write("memory/a.md", content);
      const before = await snapshotOf(lab.workspaceDir);
      const opened = await lab.open();
      await opened.settle();
      await opened.settle({ force: true });
      await opened.ask("walrus");
      await opened.memory.readFile({ relPath: "memory/a.md" });
      await opened.memory.close();
      assert.deepEqual(await snapshotOf(lab.workspaceDir), before);
    },
  },
];

/** Every file and folder below a folder, with its content and modification time. */
async function snapshotOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    found[path] = entry.isFile()
      ? `${(await stat(path)).mtimeMs} ${(await readFile(path)).toString("base64")}`
      : "folder";
  }
  return found;
}
