import assert from "node:assert/strict";
import cases from "../data/memory-cases.json" with { type: "json" };
import data from "../data/quality.json" with { type: "json" };
import { deterministicEmbeddings } from "../deterministic-providers.ts";
import { type MemoryCheck, type MemoryLab, numbered, pathsOf } from "./memory-test-environment.ts";

const { prose } = cases;

/** Notes, and for each query the file that must come first. */
const tableChecks = cases.words.map(({ id, promise, notes, first }): MemoryCheck => ({
  id,
  promise,
  needs: ["keyword"],
  async run(lab) {
    const expand = (text: string): string => text.replaceAll(/\{(\d)\}/gu, (_, count) => prose.repeat(Number(count)));
    const files = Object.entries(notes).map(([path, text]) => [path, expand(text ?? "")]);
    const opened = await lab.openWith(Object.fromEntries(files));
    for (const [query, path] of Object.entries(first)) {
      const { results } = await opened.ask(query);
      assert.equal(results[0]?.path, path, `"${query}" found ${pathsOf(results).join(", ")}`);
    }
  },
}));

/** What is found by words, without a provider. */
export const wordChecks: readonly MemoryCheck[] = [
  ...tableChecks,
  {
    id: "words.identifier",
    promise: "an identifier is found as written, whatever minScore is",
    needs: ["keyword"],
    async run(lab) {
      const opened = await lab.openWith({
        "memory/short.md": "Ticket QX-7919 is closed.\n",
        "memory/long.md": `${prose.repeat(8)}\nSee QX-7919 for the rest.\n${prose.repeat(8)}\n`,
        "memory/other.md": "Ticket QX-7918 is open.\n",
      });
      for (const minScore of [undefined, 0, 0.5, 0.99, 1]) {
        for (const query of ["QX-7919", "what became of ticket QX-7919?"]) {
          const paths = pathsOf((await opened.ask(query, { minScore })).results);
          for (const path of ["memory/short.md", "memory/long.md"])
            assert.ok(paths.includes(path), `"${query}" with minScore ${minScore} found ${paths.join(", ")}`);
        }
      }
    },
  },
  {
    id: "words.every-word",
    promise: "a text with every word of the query is found, whatever minScore is",
    needs: ["keyword"],
    async run(lab) {
      const opened = await lab.openWith({
        "memory/a.md": `${prose.repeat(6)}\nThe saffron harvest was bad. ${prose.repeat(6)}\n`,
        "memory/b.md": `Saffron harvest. Saffron harvest.\n`,
      });
      assert.deepEqual(await opened.paths("saffron harvest", { minScore: 1 }), ["memory/a.md", "memory/b.md"]);
    },
  },
  {
    id: "words.strict",
    promise: "a minScore of the caller cuts texts with only some of the words",
    needs: ["keyword"],
    async run(lab) {
      const rest = "Other things happened on that long day by the river. ".repeat(12);
      const opened = await lab.openWith({
        "memory/all.md": `The kestrel nesting box hangs on the north gable. ${rest}\n`,
        "memory/some.md": `A kestrel was seen once. ${rest}\n`,
        ...numbered(5, (day) => `Groceries and errands, list ${day}.\n`),
      });
      const ask = (minScore: number, strict: boolean) => opened.askManager("kestrel nesting box", { minScore, strict });
      const both = ["memory/all.md", "memory/some.md"];
      const wide = await ask(0, true);
      assert.deepEqual(pathsOf(wide).toSorted(), both);
      const between = (1 + (wide.find(({ path }) => path === both[1])?.score ?? 1)) / 2;
      assert.deepEqual(pathsOf(await ask(between, true)), ["memory/all.md"]);
      // The threshold of the configuration applies only to results of the vector search.
      assert.deepEqual(pathsOf(await ask(between, false)).toSorted(), both);
    },
  },
  {
    id: "words.long-texts",
    promise: "the end of a long note, of a long line and of a list of many words is found",
    async run(lab) {
      const filler = "Nothing of note was said that morning, and the afternoon was no better. ";
      const many = Array.from({ length: 3000 }, (_, index) => `word${index.toString(36)}`).join(" ");
      const words = { capercaillie: "note", ptarmigan: "line", whinchat: "words" };
      const opened = await lab.openWith({
        "memory/note.md": `# Minutes\n\n${`${filler}\n\n`.repeat(1500)}The capercaillie closed the meeting.\n`,
        "memory/line.md": `${filler.repeat(400)}The ptarmigan is at the end.\n`,
        "memory/words.md": `${many} and the whinchat\n`,
      });
      for (const [word, name] of Object.entries(words)) {
        const { snippet } = await opened.finds(word, `memory/${name}.md`);
        assert.ok(snippet.includes(word), `the snippet for "${word}" does not contain it`);
      }
    },
  },
];

interface Question {
  query: string;
  /** The file that must come first. */
  first: string;
  /** True if the file contains no word of the query. */
  paraphrase?: boolean;
}

const questions: readonly Question[] = data.questions;
const openWithData = (lab: MemoryLab) =>
  lab.openWith(data.files, { embeddings: lab.capabilities.vector ? deterministicEmbeddings() : "none" });

/** Expects a number of questions to find their file first: a minimum, not a ranking. */
async function assertFloor(lab: MemoryLab, asked: readonly Question[], floor: number): Promise<void> {
  const { memory } = await openWithData(lab);
  const misses: string[] = [];
  for (const { query, first } of asked) {
    const [best] = await memory.search(query);
    if (best?.path !== first) misses.push(`"${query}": expected ${first}, got ${best?.path ?? "nothing"}`);
  }
  const right = asked.length - misses.length;
  assert.ok(right >= floor, `${right} of ${asked.length}, the minimum is ${floor}\n${misses.join("\n")}`);
}

/** Twenty questions about a small set of notes. */
export const qualityChecks: readonly MemoryCheck[] = [
  {
    id: "quality.all",
    promise: `at least ${data.floor.all} of ${data.questions.length} questions find their file first`,
    needs: ["keyword", "vector"],
    run: (lab) => assertFloor(lab, questions, data.floor.all),
  },
  {
    id: "quality.words",
    promise: `at least ${data.floor.words} of the questions that share words with their file find it first`,
    needs: ["keyword"],
    run(lab) {
      const asked = questions.filter((each) => each.paraphrase !== true);
      return assertFloor(lab, asked, data.floor.words);
    },
  },
  {
    id: "quality.paraphrases",
    promise: `at least ${data.floor.paraphrases} of the paraphrases find their file first`,
    needs: ["vector"],
    run(lab) {
      const asked = questions.filter((each) => each.paraphrase === true);
      return assertFloor(lab, asked, data.floor.paraphrases);
    },
  },
  {
    id: "quality.no-errors",
    promise: "every question is answered without an error",
    async run(lab) {
      const { memory } = await openWithData(lab);
      for (const { query } of questions) assert.ok(Array.isArray(await memory.search(query)));
    },
  },
];
