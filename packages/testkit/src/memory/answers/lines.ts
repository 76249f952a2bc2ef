import assert from "node:assert/strict";
import type { MemorySearchResult } from "@memslot/core";
import { assertFinds, managerSearch } from "../lab/expect.ts";
import type { MemoryCheck, OpenedMemory } from "../lab/lab.ts";

const markers = ["zebrafish", "quokka", "pangolin", "axolotl", "capybara"];

/** Sections of prose with a marker word on some lines; longer than any backend would put into one chunk. */
function longNote(): string[] {
  const lines = ["# Animals of the year"];
  for (const [index, marker] of markers.entries()) {
    lines.push("", `## Part ${index + 1}`, "");
    for (let line = 0; line < 30; line++)
      lines.push(
        `Line ${line} of part ${index + 1} tells what was seen along the path that day, and what the weather did.`,
      );
    lines.push(`Here the ${marker} was seen by the fence.`);
    for (let line = 0; line < 10; line++)
      lines.push(`After that, line ${line} of part ${index + 1} goes on about supper and the way home.`);
  }
  return lines;
}

async function assertCovers(
  opened: OpenedMemory,
  path: string,
  lines: readonly string[],
  marker: string,
): Promise<MemorySearchResult> {
  const result = await assertFinds(opened, marker, path);
  const line = lines.findIndex((text) => text.includes(marker)) + 1;
  assert.ok(
    result.startLine >= 1 && result.endLine <= lines.length,
    `lines ${result.startLine} to ${result.endLine} of a file with ${lines.length}`,
  );
  assert.ok(
    result.startLine <= line && line <= result.endLine,
    `"${marker}" is on line ${line}, the result covers ${result.startLine} to ${result.endLine}`,
  );
  const read = await opened.memory.readFile({
    relPath: result.path,
    from: result.startLine,
    lines: result.endLine - result.startLine + 1,
  });
  assert.ok(read.text.includes(marker), `reading the lines of the result does not give "${marker}"`);
  return result;
}

/** Where a result says that it stands, and what it shows. */
export const lineChecks: readonly MemoryCheck[] = [
  {
    name: "search: line numbers are 1-based and cover the line",
    async run(lab) {
      const short = ["wombat on the first line", "a line between", "a line between", "numbat on the last line"];
      const long = longNote();
      await lab.write("memory/short.md", `${short.join("\n")}\n`);
      await lab.write("memory/one.md", "okapi");
      await lab.write("memory/long.md", `${long.join("\n")}\n`);
      const opened = await lab.open();
      await opened.settle();
      for (const marker of ["wombat", "numbat"]) await assertCovers(opened, "memory/short.md", short, marker);
      await assertCovers(opened, "memory/one.md", ["okapi"], "okapi");
      for (const marker of markers) await assertCovers(opened, "memory/long.md", long, marker);
    },
  },
  {
    name: "search: line numbers hold with CRLF, a byte order mark, front matter, code and blank lines",
    async run(lab) {
      const lines = [
        "---",
        "title: odd",
        "---",
        "",
        "",
        "# Heading",
        "",
        "```sh",
        "# not a heading",
        "echo zebrafish",
        "```",
        "",
        "",
        "- item quokka",
        "- item",
        "",
        "段落 pangolin 文字 🙂",
        "last axolotl",
      ];
      await lab.write("memory/crlf.md", `\u{feff}${lines.join("\r\n")}\r\n`);
      const opened = await lab.open();
      await opened.settle();
      for (const marker of ["zebrafish", "quokka", "pangolin", "axolotl"])
        await assertCovers(opened, "memory/crlf.md", lines, marker);
    },
  },
  {
    name: "search: a snippet holds the match and has at most 700 characters",
    async run(lab) {
      const long = longNote();
      const oneLine = `${"many words stand before it ".repeat(120)} the narwhal 🦄 surfaced ${"and many words come after it ".repeat(120)}`;
      await lab.write("memory/long.md", `${long.join("\n")}\n`);
      await lab.write("memory/one-line.md", `${oneLine}\n`);
      await lab.write("memory/emoji.md", `${"🙂🙃".repeat(900)} dugong ${"🙂🙃".repeat(900)}\n`);
      const opened = await lab.open();
      await opened.settle();
      const wanted: [string, string][] = [
        ...markers.map((marker): [string, string] => [marker, "memory/long.md"]),
        ["narwhal", "memory/one-line.md"],
        ["dugong", "memory/emoji.md"],
      ];
      for (const [marker, path] of wanted) {
        await assertFinds(opened, marker, path);
        // Below the guard, which cuts every text.
        const own = await opened.manager.search(marker, managerSearch());
        const { snippet } =
          own.find((result) => result.path === path) ?? assert.fail(`"${marker}" did not find ${path}`);
        assert.ok(snippet.length <= 700, `the snippet for "${marker}" has ${snippet.length} characters`);
        assert.ok(snippet.includes(marker), `the snippet for "${marker}" does not hold it: ${snippet.slice(0, 200)}`);
        assert.ok(snippet.isWellFormed(), `the snippet for "${marker}" ends inside a character`);
      }
    },
  },
  {
    name: "search: a snippet is made of the lines that the result names",
    async run(lab) {
      const files: Record<string, string[]> = {
        "memory/long.md": longNote(),
        "memory/b.md": ["# Birds", "", "The quokka is no bird.", "The heron is one."],
        "memory/c.md": ["The heron stood in the pond."],
      };
      for (const [path, lines] of Object.entries(files)) await lab.write(path, `${lines.join("\n")}\n`);
      const opened = await lab.open();
      await opened.settle();
      for (const query of ["heron", "quokka", "pangolin fence"]) {
        const { results } = await opened.ask(query);
        assert.ok(results.length > 0, `"${query}" found nothing`);
        for (const { path, startLine, endLine, snippet } of results) {
          const lines = (files[path] ?? assert.fail(`there is no file ${path}`)).slice(startLine - 1, endLine);
          for (const shown of snippet.split("\n").map((line) => line.replaceAll(/^…|…$/g, "").trim())) {
            assert.ok(
              lines.some((line) => line.includes(shown)),
              `"${shown}" does not stand in ${path} between lines ${startLine} and ${endLine}`,
            );
          }
        }
      }
    },
  },
];
