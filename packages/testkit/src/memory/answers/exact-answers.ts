import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assertFinds, managerSearch, pathsOf } from "../lab/expect.ts";
import type { MemoryCheck } from "../lab/lab.ts";
import { openWith } from "../lab/notes.ts";

/** More than a chunk: what comes behind it does not stand in one with it. */
const longSection: readonly string[] = [
  "## Weather",
  "",
  ...Array.from(
    { length: 80 },
    (_, day) => `On day ${day} there was rain in the morning, and the wind came from the sea.`,
  ),
  "",
];

/** That an answer is what it says it is, and all of it. */
export const exactAnswerChecks: readonly MemoryCheck[] = [
  {
    name: "search: the lines of a result are no more than what it shows",
    async run(lab) {
      const files: Record<string, string[]> = {
        "memory/one.md": ["The dotterel is on the first line.", "Nothing is said here.", "And no more here."],
        "memory/last.md": ["Nothing is said here.", "And no more here.", "The dotterel is on the last line."],
        "memory/section.md": [...longSection, "## Birds", "", "The dotterel has a section.", "It is short."],
        "MEMORY.md": [
          "# Birds",
          "",
          "- The dotterel is one.",
          "- The stoat is none.",
          "",
          "# Trees",
          "",
          "- The alder.",
        ],
      };
      const opened = await openWith(
        lab,
        Object.fromEntries(Object.entries(files).map(([path, lines]) => [path, `${lines.join("\n")}\n`])),
      );
      const { results } = await opened.ask("dotterel", { minScore: 0 });
      assert.deepEqual(pathsOf(results).toSorted(), Object.keys(files).toSorted());
      for (const { path, startLine, endLine, lines = [[startLine, endLine]], snippet } of results) {
        const all = files[path] ?? assert.fail(`there is no file ${path}`);
        assert.ok(startLine >= 1 && endLine <= all.length, `${path} has no lines ${startLine} to ${endLine}`);
        // Of so short a text nothing is left out, so the snippet is the lines.
        if (snippet.includes("…")) continue;
        const shown = snippet.split("\n").map((line) => line.trim());
        const named = lines.flatMap(([from, to]) => all.slice(from - 1, to)).map((line) => line.trim());
        assert.deepEqual(withoutEnds(shown), withoutEnds(named), `${path}, lines ${startLine} to ${endLine}`);
        assert.equal(shown.length, named.length, `lines ${startLine} to ${endLine} of ${path} are not what is shown`);
      }
    },
  },
  {
    name: "search: every result names the source that it is from",
    async run(lab) {
      await lab.write("memory/a.md", "The turbine was serviced in May.\n");
      const folder = join(lab.stateDir, "agents/main/sessions");
      await mkdir(folder, { recursive: true });
      const message = { role: "user", content: "When was the turbine serviced?" };
      const line = JSON.stringify({ type: "message", timestamp: "2026-03-14T09:05:00Z", message });
      await writeFile(join(folder, "s1.jsonl"), `${line}\n`);
      const opened = await lab.open({ memorySearch: { sources: ["memory", "sessions"] } });
      await opened.settle();
      const sourcesOf = async (sources: readonly string[]): Promise<string[]> => {
        const results = await opened.manager.search("turbine serviced", managerSearch({ sources, minScore: 0 }));
        return results.map(({ path, source }) => `${source} ${path}`).toSorted();
      };
      assert.deepEqual(await sourcesOf(["memory"]), ["memory memory/a.md"]);
      const transcripts = await sourcesOf(["sessions"]);
      if (transcripts.length === 0) return "the manager searches no transcripts";
      assert.deepEqual(transcripts, ["sessions sessions/s1.jsonl"]);
      assert.deepEqual(await sourcesOf(["memory", "sessions"]), ["memory memory/a.md", "sessions sessions/s1.jsonl"]);
      return undefined;
    },
  },
  {
    name: "search: minScore that a caller names cuts what holds only some of the words",
    needs: ["keyword"],
    async run(lab) {
      const rest = "Other things happened on that long day by the river. ".repeat(12);
      const opened = await openWith(lab, {
        "memory/all.md": `The kestrel nesting box hangs on the north gable. ${rest}\n`,
        "memory/some.md": `A kestrel was seen once. ${rest}\n`,
        ...Object.fromEntries(
          [1, 2, 3, 4, 5].map((day) => [`memory/${day}.md`, `Groceries and errands, list ${day}.\n`]),
        ),
      });
      const query = "kestrel nesting box";
      const wide = await opened.manager.search(query, managerSearch({ minScore: 0, strict: true }));
      assert.deepEqual(pathsOf(wide).toSorted(), ["memory/all.md", "memory/some.md"]);
      const score = wide.find(({ path }) => path === "memory/some.md")?.score ?? 1;
      const strict = managerSearch({ minScore: (1 + score) / 2, strict: true });
      assert.deepEqual(pathsOf(await opened.manager.search(query, strict)), ["memory/all.md"]);
      // The threshold of the configuration is for what only the vector leg has found.
      const usual = await opened.manager.search(query, managerSearch({ minScore: (1 + score) / 2 }));
      assert.deepEqual(pathsOf(usual).toSorted(), ["memory/all.md", "memory/some.md"]);
    },
  },
  {
    name: "search: as many results as are asked for, when so many match",
    async run(lab) {
      for (let index = 0; index < 120; index++) await lab.write(`memory/${index}.md`, `The orchard report ${index}.\n`);
      const opened = await lab.open();
      await opened.settle();
      for (const maxResults of [60, 110, 200]) {
        const { results } = await opened.ask("orchard report", { maxResults, minScore: 0 });
        assert.equal(new Set(pathsOf(results)).size, Math.min(maxResults, 120));
      }
    },
  },
  {
    name: "search: the end of a long note, of a long line and of a list of many words is found",
    async run(lab) {
      const filler = "Nothing of note was said that morning, and the afternoon was no better. ";
      const many = Array.from({ length: 3000 }, (_, index) => `word${index.toString(36)}`).join(" ");
      const opened = await openWith(lab, {
        "memory/note.md": `# Minutes\n\n${`${filler}\n\n`.repeat(1500)}The capercaillie closed the meeting.\n`,
        "memory/line.md": `${filler.repeat(400)}The ptarmigan stands at the end.\n`,
        "memory/words.md": `${many} and the whinchat\n`,
      });
      for (const [word, name] of [
        ["capercaillie", "note"],
        ["ptarmigan", "line"],
        ["whinchat", "words"],
      ] as const) {
        const { snippet } = await assertFinds(opened, word, `memory/${name}.md`);
        assert.ok(snippet.includes(word), `the snippet for "${word}" does not hold it`);
      }
    },
  },
  {
    name: "search: results do not change in the hands of whoever asked",
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/a.md": "The heron is in the pond.\n",
        "memory/b.md": "The heron was on the roof.\n",
      });
      const results = await opened.manager.search("heron", managerSearch({ minScore: 0 }));
      const copy = structuredClone(results);
      assert.equal(results.length, 2);
      await lab.write("memory/a.md", "The kingfisher is in the pond, and the heron is gone.\n");
      await opened.settle();
      const after = await opened.manager.search("heron", managerSearch({ minScore: 0 }));
      await opened.manager.search("kingfisher", managerSearch());
      assert.deepEqual(results, copy, "an answer changed after it was given");
      // And what a caller does to its answer is nobody else's.
      const kept = structuredClone(after);
      for (const result of after) Object.assign(result, { snippet: "mine now", path: "elsewhere.md" });
      after.length = 0;
      assert.deepEqual(await opened.manager.search("heron", managerSearch({ minScore: 0 })), kept);
    },
  },
];

/** Without blank lines at either end. */
function withoutEnds(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line !== "");
  const last = lines.findLastIndex((line) => line !== "");
  return lines.slice(first, last + 1);
}
