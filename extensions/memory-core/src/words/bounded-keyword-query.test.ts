import Database from "better-sqlite3";
import type { QueryTerm } from "@memslot/indexing";
import { expect, onTestFinished, test, vi } from "vitest";
import { findBounded } from "./bounded-keyword-query.ts";
import { type CountedTerm } from "./word-counts.ts";
import { fileOf, openHere, type StoreHere, tempPath, words } from "../test/stores.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

const chunks = 20_000;
const common = ["alpha", "beta", "gamma", "delta"];
const beginnings = Array.from({ length: 40 }, (_, index) => `pre${index}`);

async function largeStore(): Promise<{ store: StoreHere; path: string }> {
  const path = await tempPath();
  const store = openHere(path);
  onTestFinished(() => store.close());
  const texts = Array.from({ length: chunks }, (_, index) => {
    const own = [0, 1, 2].map((step) => beginnings[(index * 3 + step) % beginnings.length]);
    return [...common, ...own, `n${index}`].join(" ");
  });
  store.replaceFiles([fileOf("a.md", texts), fileOf("b.jsonl", ["alpha alone", "beta alone"], "sessions")]);
  return { store, path };
}

const prepare = Database.prototype.prepare;

/** Notes what each statement that gives scores is asked, from here to the end of the test. */
function noteAsked(): { sql: string; parameters: Record<string, unknown> }[] {
  const asked: { sql: string; parameters: Record<string, unknown> }[] = [];
  const spy = vi.spyOn(Database.prototype, "prepare").mockImplementation(function (this: Database.Database, sql) {
    const statement = prepare.call(this, sql);
    if (!sql.includes("bm25(")) return statement;
    const all = statement.all.bind(statement);
    statement.all = (parameters: unknown) => {
      asked.push({ sql, parameters: parameters as Record<string, unknown> });
      return all(parameters as never);
    };
    return statement;
  });
  onTestFinished(() => spy.mockRestore());
  return asked;
}

/** How many chunks these statements have given a score to, before the best were chosen. */
function weighed(path: string, asked: readonly { sql: string; parameters: Record<string, unknown> }[]): number[] {
  const db = new Database(path, { readonly: true });
  const rows = asked.map(({ sql, parameters: { limit: _limit, ...parameters } }) => {
    const whole = sql.replace(/ORDER BY[\s\S]*$/u, "");
    return prepare.call(db, `SELECT count(*) FROM (${whole})`).pluck().get(parameters) as number;
  });
  db.close();
  return rows;
}

test("of 20,000 chunks with the same common words, 8,000 are weighed, and all are counted", async () => {
  const asked = noteAsked();
  const { store, path } = await largeStore();
  const ask = (terms: QueryTerm[], ...sources: string[]) => {
    asked.length = 0;
    const { rows, documentFrequencies } = store.searchKeyword({ terms, sources, limit: 100 });
    return { texts: rows.map(({ text }) => text), documentFrequencies, weighed: weighed(path, asked) };
  };
  const all = ask(words(...common), "memory", "sessions");
  expect([all.weighed, all.texts.length]).toEqual([[8000], 100]);
  expect(all.documentFrequencies).toEqual([chunks + 1, chunks + 1, chunks, chunks]);

  // A source that holds none of the chunks that were written last, nor the rarest words, is answered all the same.
  const ofSource = ask(words(...common), "sessions");
  expect(ofSource.texts.toSorted()).toEqual(["alpha alone", "beta alone"]);
  expect(Math.max(...ofSource.weighed)).toBeLessThanOrEqual(8000);

  // A rarer word among them comes first.
  const ofRare = ask(words(...common, "n77"), "memory", "sessions");
  expect([ofRare.weighed[0], ofRare.texts[0]?.split(" ").at(-1)]).toEqual([1, "n77"]);

  // Words of a beginning that are in more places than are weighed: some of them are looked for, and no beginning.
  const ofBeginning = ask([{ term: "pre", prefix: true }], "memory", "sessions");
  expect(asked.filter(({ parameters }) => String(parameters["match"]).includes("*"))).toEqual([]);
  expect(Math.max(...ofBeginning.weighed)).toBeLessThanOrEqual(8000);
  expect([ofBeginning.texts.length, ofBeginning.documentFrequencies]).toEqual([100, [chunks + 2]]);
});

test("of a question with 64 common words half a million places are counted, and the rest is estimated from the first ones", async () => {
  const chunks = 8000;
  const looked = vi.fn<(word: unknown) => void>();
  const spy = vi.spyOn(Database.prototype, "prepare").mockImplementation(function (this: Database.Database, sql) {
    const statement = prepare.call(this, sql);
    if (!sql.includes("AS found")) return statement;
    const get = statement.get.bind(statement);
    statement.get = (word: unknown) => {
      looked(word);
      return get(word as never);
    };
    return statement;
  });
  onTestFinished(() => spy.mockRestore());
  const path = await tempPath();
  const store = openHere(path);
  onTestFinished(() => store.close());
  const many = Array.from({ length: 64 }, (_, index) => `word${index}`);
  store.replaceFiles([
    fileOf(
      "a.md",
      Array.from({ length: chunks }, (_, index) => `${many.join(" ")} ${index % 2 === 0 ? "half" : ""} n${index}`),
    ),
  ]);
  const ask = () => store.searchKeyword({ terms: words(...many, "half", "n5"), sources: ["memory"], limit: 10 });
  const { documentFrequencies } = ask();
  expect(documentFrequencies.slice(0, 64)).toEqual(many.map(() => chunks));
  // The estimate is right to one in a hundred, and exact for a word of few chunks.
  expect(Math.abs((documentFrequencies[64] ?? 0) - chunks / 2)).toBeLessThan(chunks / 200);
  expect(documentFrequencies[65]).toBe(1);

  // One word is examined once, also in the next question.
  const once = looked.mock.calls.length;
  expect(once).toBeGreaterThan(1);
  expect(ask().documentFrequencies).toEqual(documentFrequencies);
  expect(looked).toHaveBeenCalledTimes(once);

  // What is remembered is forgotten with the next change.
  store.replaceFiles([fileOf("b.md", ["word0 n5"])]);
  expect(ask().documentFrequencies.filter((_, index) => index === 0 || index === 65)).toEqual([chunks + 1, 2]);
});

/** Searches a store that returns these rows for each match. A term that ends in `*` is a prefix, of these words. */
function asking(
  terms: readonly [string, number][],
  given: Record<string, number[]>,
  { limit = 100, words = 0, chunks = 1 }: { limit?: number; words?: number; chunks?: number } = {},
) {
  const asked: [match: string, newest: number | undefined][] = [];
  const counted = terms.map(([term, postings]): CountedTerm => {
    return { term: { term: term.replace("*", ""), prefix: term.endsWith("*") }, chunks: postings, postings };
  });
  const rows = findBounded(counted, limit, {
    ask: (match, newest) => {
      asked.push([match, newest]);
      return (given[match] ?? []).map((id) => ({ id, score: 1 }));
    },
    wordsWith: () => Array.from({ length: words }, (_, index) => ({ word: `w${index}`, chunks })),
  });
  return { asked, ids: rows.map(({ id }) => id) };
}

test.each(cases.boundedFinds as unknown as [string, Parameters<typeof asking>, ReturnType<typeof asking>][])(
  "%s",
  (_name, given, expected) => {
    // What is not weighed has no limit, `null` in JSON.
    expect(JSON.parse(JSON.stringify(asking(...given)))).toEqual(expected);
  },
);

test("when enough chunks have the three rarest words, nothing else is searched", () => {
  const enough = Array.from({ length: 100 }, (_, id) => id);
  expect(asking(cases.commonTerms as [string, number][], { '"a" AND "b" AND "c"': enough }).asked).toHaveLength(1);
});
