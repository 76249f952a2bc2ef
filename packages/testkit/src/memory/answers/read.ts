import assert from "node:assert/strict";
import { stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryReadResult } from "@memslot/core";
import { linesOf } from "../lab/expect.ts";
import type { MemoryCheck } from "../lab/lab.ts";
import { openWith } from "../lab/notes.ts";

const twelve = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);

/** What reading a file promises. */
export const readChecks: readonly MemoryCheck[] = [
  {
    name: "read: gives the file as it is, whatever its size and time say",
    async run(lab) {
      const { memory, settle } = await openWith(lab, { "memory/a.md": "The code is 1111.\n" });
      const file = join(lab.workspaceDir, "memory/a.md");
      assert.deepEqual(linesOf(await memory.readFile({ relPath: "memory/a.md" })), ["The code is 1111."]);
      const { atime, mtime } = await stat(file);
      for (const code of ["2222", "3333"]) {
        await writeFile(file, `The code is ${code}.\n`);
        await utimes(file, atime, mtime);
        assert.deepEqual(linesOf(await memory.readFile({ relPath: "memory/a.md" })), [`The code is ${code}.`]);
        await settle();
      }
    },
  },
  {
    name: "read: a window gives its lines and where to go on",
    async run(lab) {
      const { memory } = await openWith(lab, { "memory/a.md": `${twelve.join("\n")}\n` });
      const windows: [from: number, lines: number, next: number | undefined][] = [
        [1, 1, 2],
        [1, 5, 6],
        [4, 3, 7],
        [11, 1, 12],
        [10, 3, undefined],
        [12, 1, undefined],
        [8, 100, undefined],
        [1, 12, undefined],
      ];
      for (const [from, lines, next] of windows) {
        const result = await memory.readFile({ relPath: "memory/a.md", from, lines });
        const wanted = twelve.slice(from - 1, from - 1 + lines);
        assert.deepEqual(
          {
            status: result.status,
            path: result.path,
            from: result.from,
            lines: result.lines,
            nextFrom: result.nextFrom,
          },
          { status: "ok", path: "memory/a.md", from, lines: wanted.length, nextFrom: next },
        );
        assert.deepEqual(linesOf(result), wanted);
      }
    },
  },
  {
    name: "read: a short file comes whole, as it is",
    async run(lab) {
      const { memory } = await openWith(lab, { "MEMORY.md": "# 标题\n\n- one 🙂\n\n- two" });
      const result = await memory.readFile({ relPath: "MEMORY.md" });
      assert.equal(result.text.replace(/\n$/, ""), "# 标题\n\n- one 🙂\n\n- two");
      assert.equal(result.nextFrom, undefined);
      assert.notEqual(result.truncated, true);
    },
  },
  {
    name: "read: a window behind the end is empty and not an error",
    async run(lab) {
      const { memory } = await openWith(lab, { "memory/a.md": "one\ntwo\n" });
      const result = await memory.readFile({ relPath: "memory/a.md", from: 500 });
      assert.deepEqual(
        { status: result.status, text: result.text, nextFrom: result.nextFrom },
        { status: "ok", text: "", nextFrom: undefined },
      );
    },
  },
  {
    name: "read: following nextFrom gives every line once",
    async run(lab) {
      const lines = Array.from({ length: 900 }, (_, index) => `${index} ${"word ".repeat(index % 60)}`.trimEnd());
      const { memory } = await openWith(lab, { "memory/long.md": `${lines.join("\n")}\n` });
      const seen: string[] = [];
      let from: number | undefined = 1;
      while (from !== undefined) {
        const result: MemoryReadResult = await memory.readFile({ relPath: "memory/long.md", from });
        seen.push(...linesOf(result));
        assert.ok(
          result.nextFrom === undefined || result.nextFrom > from,
          `nextFrom goes from ${from} to ${result.nextFrom}`,
        );
        from = result.nextFrom;
      }
      assert.equal(seen.length, lines.length);
      assert.deepEqual(seen, lines);
    },
  },
  {
    name: "read: what does not fit is cut, says so, and can be followed",
    async run(lab) {
      const lines = Array.from({ length: 100 }, (_, index) => `${index} ${"x".repeat(500)}`);
      const { memory } = await openWith(lab, { "memory/wide.md": `${lines.join("\n")}\n` });
      const result = await memory.readFile({ relPath: "memory/wide.md", lines: 100 });
      assert.ok(result.text.length <= 12_500, `${result.text.length} characters`);
      assert.equal(result.truncated, true);
      assert.equal(result.nextFrom, (result.lines ?? 0) + 1);
      assert.deepEqual(linesOf(result), lines.slice(0, result.lines));
    },
  },
  {
    name: "read: one line that is too long is cut between characters, and the rest of the file can be reached",
    async run(lab) {
      const { memory } = await openWith(lab, { "memory/one.md": `first\n${"🙂".repeat(40_000)}\nlast\n` });
      const { nextFrom } = await memory.readFile({ relPath: "memory/one.md" });
      assert.equal(nextFrom, 2);
      const long = await memory.readFile({ relPath: "memory/one.md", from: 2 });
      assert.ok(
        long.text.startsWith("🙂") && long.text.isWellFormed() && long.text.length <= 12_500,
        `${long.text.length} characters`,
      );
      assert.deepEqual([long.truncated, long.nextFrom], [true, 3]);
      assert.deepEqual(linesOf(await memory.readFile({ relPath: "memory/one.md", from: 3 })), ["last"]);
    },
  },
];
