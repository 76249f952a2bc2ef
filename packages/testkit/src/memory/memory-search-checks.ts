import assert from "node:assert/strict";
import { type MemorySearchResult } from "@memslot/core";
import { resultTokens } from "@memslot/core/host";
import { hostileStrings } from "../helpers/hostile-strings.ts";
import { assertPlainData } from "../helpers/assert-plain-data.ts";
import {
  type MemoryCheck,
  type MemoryLab,
  type OpenedMemory,
  assertSound,
  managerSearch,
  numbered,
  pathsOf,
} from "./memory-test-environment.ts";

const markers = ["zebrafish", "quokka", "pangolin", "axolotl", "capybara"];

/** Sections of prose with one marker word each; longer than a chunk. */
const longNote: readonly string[] = markers.flatMap((marker, part) => [
  ...(part === 0 ? ["# Animals of the year", ""] : [""]),
  `## Part ${part + 1}`,
  "",
  ...Array.from({ length: 30 }, (_, line) => `Line ${line} of part ${part + 1} tells what was seen along the path.`),
  `Here the ${marker} was seen by the fence.`,
  ...Array.from({ length: 10 }, (_, line) => `After that, line ${line} of part ${part + 1} goes on about supper.`),
]);

/** Expects the result to cover the line of the marker, and reading its lines to give the marker. */
async function assertCovers(opened: OpenedMemory, path: string, lines: readonly string[], marker: string) {
  const { startLine, endLine } = await opened.finds(marker, path);
  const line = lines.findIndex((text) => text.includes(marker)) + 1;
  const said = `"${marker}" is on line ${line} of ${lines.length}, the result covers ${startLine} to ${endLine}`;
  assert.ok(1 <= startLine && startLine <= line && line <= endLine && endLine <= lines.length, said);
  const { text } = await opened.read(path, { from: startLine, lines: endLine - startLine + 1 });
  assert.ok(text.includes(marker), `reading the lines of the result does not give "${marker}"`);
}

/** Expects the snippet to be made of the named lines, in order, and to be all of them if nothing is left out. */
function assertShowsItsLines(result: MemorySearchResult, file: readonly string[]): void {
  const { path, startLine, endLine, lines = [[startLine, endLine]], snippet } = result;
  const where = `${path}, lines ${JSON.stringify(lines)}`;
  assert.ok(1 <= startLine && startLine <= endLine && endLine <= file.length, `${where} of ${file.length}`);
  const named = lines.flatMap(([from, to]) => file.slice(from - 1, to)).map((line) => line.trim());
  const shown = snippet.split("\n").map((line) => line.replaceAll(/^…|…$/gu, "").trim());
  let at = 0;
  for (const line of shown.filter((each) => each !== "")) {
    const found = named.findIndex((each, index) => index >= at && each.includes(line));
    assert.ok(found >= 0, `"${line}" is not in ${where}`);
    at = found + 1;
  }
  if (!snippet.includes("…") && snippet.length < 600)
    assert.equal(shown.length, named.length, `${where} show ${snippet}`);
}

const source = "turbine serviced";

/** Expects so many sorted results of 120 notes. */
async function assertCounts(lab: MemoryLab, counts: readonly number[]): Promise<void> {
  const text = (index: number): string => `The orchard report ${index}.\n${"orchard ".repeat(index % 5)}\n`;
  const opened = await lab.openWith(numbered(120, text));
  for (const maxResults of counts) {
    const { results } = await opened.ask("orchard report", { maxResults, minScore: 0 });
    assert.equal(pathsOf(results).length, Math.min(maxResults, 120));
    const scores = results.map(({ score }) => score);
    assert.deepEqual(
      scores.toSorted((left, right) => right - left),
      scores,
    );
  }
}

/** What a search returns, and how it names the place. */
export const searchChecks: readonly MemoryCheck[] = [
  {
    id: "search.report",
    promise: "each search gives one report, which is plain data",
    async run(lab) {
      const opened = await lab.openWith({ "memory/a.md": "The lighthouse keeper is called Ingrid.\n" });
      for (const query of ["lighthouse keeper", "qzxvwkjpf"]) {
        let count = 0;
        await opened.askManager(query, { onDebug: () => count++ });
        assert.equal(count, 1, `the manager gave ${count} reports for "${query}"`);
      }
      const { results, report } = await opened.ask("lighthouse keeper");
      assert.equal(results.length, 1);
      assertSound(report);
      assertPlainData(report, "the report");
    },
  },
  {
    id: "search.empty",
    promise: "an unknown word gives an empty list and a report with the reason, also in an empty workspace",
    async run(lab) {
      const assertEmpty = async (opened: OpenedMemory): Promise<void> => {
        const { results, report } = await opened.ask("qzxvwkjpf");
        assert.deepEqual(results, []);
        assert.ok((report.reason ?? "").trim() !== "", "the report gives no reason");
      };
      const opened = await lab.openWith({});
      await assertEmpty(opened);
      await lab.write({ "memory/a.md": "The lighthouse keeper is called Ingrid.\n" });
      await opened.settle();
      await assertEmpty(opened);
      assertSound((await opened.ask("qzxvwkjpf")).report);
      let own: string | undefined;
      await opened.askManager("qzxvwkjpf", { onDebug: ({ reason }) => (own = reason) });
      assert.ok((own ?? "").trim() !== "", "the manager's own report gives no reason");
    },
  },
  {
    id: "search.blank",
    promise: "a blank query gives an empty list",
    async run(lab) {
      const { memory } = await lab.openWith({ "memory/a.md": "Something.\n" });
      for (const query of ["", " ", "\n\t ", "\u3000"]) assert.deepEqual(await memory.search(query), []);
    },
  },
  {
    id: "search.hostile",
    promise: "hostile query text raises no error",
    async run(lab) {
      const opened = await lab.openWith({ "memory/a.md": "Plain words, 中文, 🙂 and a number 42.\n" });
      for (const query of hostileStrings(140, 11)) {
        const results = await opened.memory.search(query).catch((error: unknown) => String(error));
        assert.ok(Array.isArray(results), `the query ${JSON.stringify(query.slice(0, 80))} gave ${String(results)}`);
      }
      // Without the guard, which cuts long queries and answers blank ones.
      for (const query of ["*", "\0", "？！", "a".repeat(9999)])
        assert.ok(Array.isArray(await opened.askManager(query)));
    },
  },
  {
    id: "search.max-results",
    promise: "results are sorted and cut to maxResults",
    run: (lab) => assertCounts(lab, [1, 4, 20]),
  },
  {
    id: "search.many-results",
    promise: "there are as many results as asked for, if so many match",
    run: (lab) => assertCounts(lab, [60, 110, 200]),
  },
  {
    id: "search.max-tokens",
    promise: "the texts of all results fit in maxTokens and are not cut for it",
    async run(lab) {
      const files = Object.fromEntries(
        Array.from({ length: 12 }, (_, note) => {
          const filler = Array.from(
            { length: 12 },
            (_line, line) => `- Nothing much of pier ${note} and line ${line}.`,
          );
          const pilot = `- The harbour pilot of pier ${note} has the code HX-${note}.`;
          return [`memory/${note}.md`, [`# Harbour ${note}`, "", ...filler, pilot, "", ...filler]];
        }),
      );
      const opened = await lab.openWith(files);
      for (const maxTokens of [100, 300, 1000, 4000]) {
        const { results, report } = await opened.ask("harbour pilot code", { maxResults: 12, maxTokens, minScore: 0 });
        const tokens = results.reduce((sum, result) => sum + resultTokens(result), 0);
        assert.ok(results.length > 0);
        assert.ok(results.length === 1 || tokens <= maxTokens, `${tokens} tokens in an answer of ${maxTokens}`);
        const { tokens: dropped = 0, limit } = report.dropped;
        if (maxTokens === 100) assert.ok(dropped + limit > 0, JSON.stringify(report));
        for (const result of results) assertShowsItsLines(result, files[result.path] ?? []);
      }
    },
  },
  {
    id: "search.scores",
    promise: "scores are from 0 to 1, and a better result has a higher one",
    async run(lab) {
      const rest = "Other things happened on that long day by the river. ".repeat(12);
      const opened = await lab.openWith({
        "memory/good.md": "The kestrel nesting box hangs on the north gable.\n",
        "memory/poor.md": `A kestrel was seen once. ${rest}\n`,
        ...numbered(5, (index) => `Groceries and errands, list ${index}.\n`),
      });
      const { results } = await opened.ask("kestrel nesting box", { minScore: 0 });
      const scores = results.map(({ score }) => score);
      assert.ok(
        scores.every((score) => score >= 0 && score <= 1),
        scores.join(", "),
      );
      assert.equal(results[0]?.path, "memory/good.md");
      assert.ok((await opened.paths("kestrel")).includes("memory/poor.md"), "the poor file was not found");
      const poor = results.find(({ path }) => path === "memory/poor.md")?.score ?? 0;
      assert.ok(poor < results[0].score, `the poor file has ${poor}, the good one ${results[0].score}`);
    },
  },
  {
    id: "search.sources",
    promise: "only the given sources are searched",
    async run(lab) {
      const opened = await lab.openWith(numbered(12, (index) => `The turbine was serviced, entry ${index}.\n`));
      const found = await opened.askManager(source, { minScore: 0 });
      assert.deepEqual([...new Set(found.map((result) => result.source))], ["memory"]);
      const sources = ["a source that contains nothing"];
      assert.deepEqual(pathsOf(await opened.askManager(source, { sources, minScore: 0 })), []);
    },
  },
  {
    id: "search.names-source",
    promise: "every result names the source it is from",
    async run(lab) {
      const message = { role: "user", content: "When was the turbine serviced?" };
      const line = JSON.stringify({ type: "message", timestamp: "2026-03-14T09:05:00Z", message });
      await lab.write({ "../state/agents/main/sessions/s1.jsonl": `${line}\n` });
      const notes = { "memory/a.md": "The turbine was serviced in May.\n" };
      const opened = await lab.openWith(notes, { memorySearch: { sources: ["memory", "sessions"] } });
      const found = async (...sources: string[]): Promise<string[]> =>
        (await opened.askManager(source, { sources, minScore: 0 }))
          .map((result) => `${result.source} ${result.path}`)
          .toSorted();
      assert.deepEqual(await found("memory"), ["memory memory/a.md"]);
      const transcripts = await found("sessions");
      if (transcripts.length === 0) return "the manager does not search transcripts";
      assert.deepEqual(transcripts, ["sessions sessions/s1.jsonl"]);
      assert.deepEqual(await found("memory", "sessions"), ["memory memory/a.md", "sessions sessions/s1.jsonl"]);
      return undefined;
    },
  },
  {
    id: "search.own-results",
    promise: "results do not change after they are returned, and the caller may change them",
    async run(lab) {
      const notes = { "memory/a.md": "The heron is in the pond.\n", "memory/b.md": "The heron was on the roof.\n" };
      const opened = await lab.openWith(notes);
      const results = await opened.askManager("heron", { minScore: 0 });
      const copy = structuredClone(results);
      assert.equal(results.length, 2);
      await lab.write({ "memory/a.md": "The kingfisher is in the pond, and the heron is gone.\n" });
      await opened.settle();
      const after = await opened.askManager("heron", { minScore: 0 });
      await opened.askManager("kingfisher");
      assert.deepEqual(results, copy, "an answer changed after it was returned");
      const kept = structuredClone(after);
      for (const result of after) Object.assign(result, { snippet: "mine now", path: "elsewhere.md" });
      after.length = 0;
      assert.deepEqual(await opened.askManager("heron", { minScore: 0 }), kept);
    },
  },
  {
    id: "lines.cover",
    promise: "line numbers are 1-based and cover the match",
    async run(lab) {
      const short = ["wombat on the first line", "a line between", "a line between", "numbat on the last line"];
      const opened = await lab.openWith({
        "memory/short.md": short,
        "memory/one.md": "okapi",
        "memory/long.md": longNote,
      });
      for (const marker of ["wombat", "numbat"]) await assertCovers(opened, "memory/short.md", short, marker);
      await assertCovers(opened, "memory/one.md", ["okapi"], "okapi");
      for (const marker of markers) await assertCovers(opened, "memory/long.md", longNote, marker);
    },
  },
  {
    id: "lines.odd-files",
    promise: "line numbers are right with CRLF, a byte order mark, front matter, code and blank lines",
    async run(lab) {
      const code = ["```sh", "# not a heading", "echo zebrafish", "```", "", ""];
      const end = ["- item quokka", "- item", "", "段落 pangolin 文字 🙂", "last axolotl"];
      const lines = ["---", "title: odd", "---", "", "", "# Heading", "", ...code, ...end];
      const opened = await lab.openWith({ "memory/crlf.md": `\u{feff}${lines.join("\r\n")}\r\n` });
      for (const marker of markers.slice(0, 4)) await assertCovers(opened, "memory/crlf.md", lines, marker);
    },
  },
  {
    id: "lines.shown",
    promise: "the snippet is made of the lines that the result names, and of no fewer",
    async run(lab) {
      const section = Array.from(
        { length: 80 },
        (_, day) => `On day ${day} there was rain, and the wind from the sea.`,
      );
      const files: Record<string, readonly string[]> = {
        "memory/one.md": ["The dotterel is on the first line.", "Nothing is said here.", "And no more here."],
        "memory/last.md": ["Nothing is said here.", "And no more here.", "The dotterel is on the last line."],
        "memory/section.md": [
          "## Weather",
          "",
          ...section,
          "",
          "## Birds",
          "",
          "The dotterel has a section.",
          "Short.",
        ],
        "memory/long.md": longNote,
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
      const opened = await lab.openWith(files);
      assert.equal((await opened.paths("dotterel")).length, 4);
      for (const query of ["dotterel", "stoat", "quokka", "pangolin fence"]) {
        const { results } = await opened.ask(query, { minScore: 0 });
        assert.ok(results.length > 0, `"${query}" found nothing`);
        for (const result of results) assertShowsItsLines(result, files[result.path] ?? []);
      }
    },
  },
  {
    id: "lines.snippet",
    promise: "a snippet contains the match and has at most 700 characters",
    async run(lab) {
      const around = (text: string, word: string, count: number): string =>
        `${text.repeat(count)} ${word} ${text.repeat(count)}\n`;
      const opened = await lab.openWith({
        "memory/long.md": longNote,
        "memory/one-line.md": around("many words are before and after it ", "the narwhal 🦄 surfaced", 100),
        "memory/emoji.md": around("🙂🙃", "dugong", 900),
      });
      const wanted = { narwhal: "memory/one-line.md", dugong: "memory/emoji.md" };
      const rows = [...markers.map((marker) => [marker, "memory/long.md"] as const), ...Object.entries(wanted)];
      for (const [marker, path] of rows) {
        await opened.finds(marker, path);
        // Without the guard, which cuts every text.
        const own = (await opened.manager.search(marker, managerSearch())).find((result) => result.path === path);
        const snippet = own?.snippet ?? assert.fail(`"${marker}" did not find ${path}`);
        assert.ok(snippet.length <= 700, `the snippet for "${marker}" has ${snippet.length} characters`);
        assert.ok(snippet.includes(marker), `the snippet for "${marker}" is ${snippet.slice(0, 200)}`);
        assert.ok(snippet.isWellFormed(), `the snippet for "${marker}" ends inside a character`);
      }
    },
  },
];
