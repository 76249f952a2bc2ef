import assert from "node:assert/strict";
import type { FileFilter, PathScope, QueryTerm } from "@memslot/indexing";
import data from "../data/store-scopes.json" with { type: "json" };
import { hostileStrings } from "../helpers/hostile-strings.ts";
import { randomFrom } from "../helpers/seeded-random.ts";
import {
  type StoreCheck,
  type StoreLab,
  byNumber,
  chunkOf,
  exactly,
  note,
  notes,
  one,
  session,
  textOf,
  textsWith,
  vectorOf,
} from "./store-test-environment.ts";

const oddTexts: readonly string[] = [
  "cafe\u0301 and Zu\u0308rich",
  "before\0after",
  "left \ud83d right",
  "one\r\ntwo\rthree\u2028four\u0085five\n",
  "  \t two blanks before and three after   ",
  "\ufeffbegins with a mark",
  "zero\u200bwidth \u200e\u202eright to left\u202c soft\u00adhyphen",
  "\u{1f469}\u200d\u{1f4bb} \u{1d518}\u{1d52b}\u{20000}\u{10ffff}",
  `'; DROP TABLE chunks; -- " \\ % _ $1 :name ? {{x}} \${y}`,
  "",
];

/** What a store answers to words. */
const keywordChecks: readonly StoreCheck[] = [
  {
    id: "chunks.odd-texts",
    promise: "long and unusual texts are accepted and found by their terms and vectors",
    async run(lab) {
      const sizes = [8192, 8193, 65_536, 300_000];
      const texts = [...sizes.map((size) => "long text, 文字 too. ".repeat(size / 10).slice(0, size)), ...oddTexts];
      const files = texts.map((text, index) => {
        const own = { context: `Heading ${text.slice(0, 9000)}`, terms: `all each${index}` };
        return { ...note(`${index}.md`), chunks: [chunkOf(text, 3, own)] };
      });
      await lab.put(...files);
      await lab.embed(one, texts, (text) => byNumber(String(texts.indexOf(text))));
    },
  },
  {
    id: "keyword.order",
    promise: "rows come best first by BM25, with positive scores",
    async run(lab) {
      const common = "common and a good many other words beside it";
      const texts = ["rare common", "common common common", common, "rare rare rare common"];
      await lab.put(...notes(40, (index) => `nothing to see here ${index}x`), ...texts.map((text) => note(text, text)));
      const terms = exactly("rare", "common");
      const { rows } = await lab.store.searchKeyword({ terms, sources: ["memory"], limit: 10 });
      assert.deepEqual(
        rows.map(({ path }) => path),
        [3, 0, 1, 2].map((index) => texts[index]),
        "rarity, frequency and length decide",
      );
      const best = await lab.store.searchKeyword({ terms, sources: ["memory"], limit: 2 });
      assert.deepEqual(best.rows, rows.slice(0, 2), "the limit cuts the worst");
    },
  },
  {
    id: "keyword.hostile",
    promise: "hostile terms raise no error and find nothing",
    async run(lab) {
      await lab.put(note("a.md", "plain words only"));
      for (const term of hostileStrings(150, 7)) {
        if (/^(?:plain|words|only)$/iu.test(term.trim()) || term === "") continue;
        await lab.words(exactly(term));
        await lab.store.searchKeyword({ terms: [{ term, prefix: true }], sources: [term], limit: 5 });
      }
      await lab.agree();
    },
  },
  {
    id: "keyword.many-terms",
    promise: "each of many terms is found, and a long one as a whole",
    async run(lab) {
      const many = Array.from({ length: 5000 }, (_, index) => `term${index.toString(36)}`);
      const long = "x".repeat(1000);
      const texts = { many: many.join(" "), long: `${long}y other`, like: `${long}z other` };
      const chunks = (text: string, terms: string) => [chunkOf(text, 1, { terms })];
      await lab.put(...Object.entries(texts).map(([text, terms]) => ({ ...note(text), chunks: chunks(text, terms) })));
      for (const index of [0, 999, 1000, 2048, 4095, 4096, 4999]) await lab.words(exactly(many[index] ?? ""));
      await lab.words(exactly(`${long}y`));
      await lab.words(exactly(...many.slice(0, 400)));
    },
  },
];

/** What a store answers to vectors, and which vectors it compares. */
const vectorChecks: readonly StoreCheck[] = [
  {
    id: "vectors.exact",
    promise: "ranking and scores are those of the exact cosine, from -1 to 1",
    async run(lab) {
      const numbers = Array.from({ length: 300 }, (_, index) => String(index));
      await lab.put(note("a.md", ...numbers));
      await lab.embed(one, numbers);
      for (const seed of [5000, 5001, 5002]) await lab.near(one, vectorOf(seed), { limit: 12 });
      const opposite = byNumber("7").map((value) => -value);
      for (const vector of [byNumber("7"), opposite]) await lab.near(one, vector);
    },
  },
  {
    id: "vectors.wrong-length",
    promise: "a vector of another length is refused or ignored",
    async run(lab) {
      await lab.put(note("a.md", "1", "2"));
      await lab.embed(one, ["1"]);
      const wrong = { space: one, vector: vectorOf(2, 23), sources: ["memory"], limit: 9 };
      await lab.store.putVectors(one, [{ hash: chunkOf("2").hash, vector: vectorOf(2, 25) }]).catch(() => undefined);
      await lab.store.searchVector(wrong).catch(() => undefined);
      const { rows } = await lab.store.searchVector({ ...wrong, vector: byNumber("1"), limit: 1 });
      assert.deepEqual(rows.map(textOf), ["1"]);
      await lab.embed(one, ["1", "2"]);
    },
  },
  {
    id: "vectors.unknown-hash",
    promise: "vectors of an unknown hash raise no error and find nothing",
    async run(lab) {
      const early = [{ hash: chunkOf("1").hash, vector: byNumber("1") }];
      await lab.store.putVectors(one, early);
      await lab.store.putVectors(one, []);
      await lab.near(one, byNumber("1"));
      await lab.store.replaceFiles([note("a.md", "1", "2")]);
      await lab.store.putVectors(one, early);
      await lab.put(note("a.md", "1", "2"));
      await lab.embed(one, ["1", "2", "3"]);
      await lab.remove("a.md");
      await lab.embed(one, ["1", "2"]);
    },
  },
  {
    id: "vectors.many",
    promise: "thousands are given in one call, and words are found as before",
    async run(lab) {
      const texts = Array.from({ length: 2000 }, (_, index) => `word ${index}`);
      await lab.store.replaceFiles([note("a.md", ...texts)]);
      const entries = texts.map((text, index) => ({ hash: chunkOf(text).hash, vector: vectorOf(index) }));
      await lab.store.putVectors(one, entries);
      for (const index of [0, 998, 1999]) {
        const query = { space: one, vector: vectorOf(index), sources: ["memory"], limit: 1 };
        assert.deepEqual((await lab.store.searchVector(query)).rows.map(textOf), [`word ${index}`]);
      }
      assert.deepEqual(await textsWith(lab.store, "1234"), ["word 1234"]);
    },
  },
];

const { hostilePaths, vocabulary } = data;
const near = vectorOf(1);
const far = vectorOf(2);

/** Asks in both ways, by words and by a vector. Both must find the same paths in the same order of their names. */
async function pathsFound(lab: StoreLab, filter: FileFilter, limit = 100): Promise<string[]> {
  const words = await lab.store.searchKeyword({ terms: exactly("word", "near"), ...filter, limit });
  const vectors = await lab.store.searchVector({ space: one, vector: near, ...filter, limit });
  const [byWords = [], byVector] = [words, vectors].map(({ rows }) =>
    rows.map(({ source, path }) => (source === "memory" ? path : `${source} ${path}`)).toSorted(),
  );
  assert.deepEqual(byVector, byWords, "vectors find other files than words");
  return byWords;
}

async function embedNear(lab: StoreLab, texts: readonly string[]): Promise<void> {
  const entries = texts.map((text) => ({ hash: chunkOf(text).hash, vector: text.includes("near") ? near : far }));
  await lab.store.putVectors(one, entries);
}

/** Written again, so that a fault in the function that stores may use for it is found. */
function isIn(path: string, { within, without }: PathScope): boolean {
  const isAt = (place: string): boolean =>
    place === "" || path === place || (place.endsWith("/") && path.startsWith(place));
  return within.some(isAt) && !without.some(isAt);
}

const scope: PathScope = { within: ["shared/"], without: ["shared/own/"] };

/** A search of some files only. Files outside the scope have no influence on the answer. */
const scopeChecks: readonly StoreCheck[] = [
  {
    id: "scopes.sources",
    promise: "sources are filtered before the limit",
    async run(lab) {
      const texts = Array.from({ length: 500 }, (_, index) => `word near near ${index}`);
      const wanted = "a word among a good many other words of this one line";
      await lab.store.replaceFiles([...texts.map((text, index) => session(`${index}`, text)), note("a.md", wanted)]);
      await embedNear(lab, [...texts, wanted]);
      assert.deepEqual(await pathsFound(lab, { sources: ["memory"] }, 1), ["a.md"]);
      assert.deepEqual(await pathsFound(lab, { sources: ["an unknown source"] }), []);
    },
  },
  {
    id: "scopes.places",
    promise: "a scope finds files within and not those without, by path and by folder",
    async run(lab) {
      await lab.store.replaceFiles(data.paths.map((path) => note(path, "word")));
      await embedNear(lab, ["word"]);
      for (const { expected, ...scope } of data.scopes)
        assert.deepEqual(await pathsFound(lab, { scope, sources: ["memory"] }), expected, JSON.stringify(scope));
    },
  },
  {
    id: "scopes.as-written",
    promise: "a scope takes paths as written, whatever they contain",
    async run(lab) {
      await lab.store.replaceFiles(hostilePaths.map((path) => note(path, "word")));
      await embedNear(lab, ["word"]);
      const folders = hostilePaths.flatMap((path) =>
        [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)),
      );
      for (const place of new Set([...hostilePaths, ...folders])) {
        const scopes = [
          { within: [place], without: [] },
          { within: [""], without: [place] },
        ];
        for (const each of scopes) {
          const expected = hostilePaths.filter((path) => isIn(path, each)).toSorted();
          const found = await pathsFound(lab, { scope: each, sources: ["memory"] });
          assert.deepEqual(found, expected, JSON.stringify(each));
        }
      }
    },
  },
  {
    id: "scopes.limit",
    promise: "a scope is filtered before the limit",
    async run(lab) {
      const texts = Array.from({ length: 600 }, (_, index) => `word near near ${index}`);
      const wanted = "a word among a good many others that make this text long";
      const better = texts.map((text, index) => note(`memory/${index}.md`, text));
      await lab.store.replaceFiles([...better, note("shared/a.md", wanted)]);
      await embedNear(lab, [...texts, wanted]);
      for (const [within, without] of [
        [["shared/"], []],
        [[""], ["memory/"]],
      ] as const)
        assert.deepEqual(await pathsFound(lab, { scope: { within, without }, sources: ["memory"] }, 1), [
          "shared/a.md",
        ]);
    },
  },
  {
    id: "scopes.thousands",
    promise: "a scope may name thousands of places",
    async run(lab) {
      await lab.store.replaceFiles(["in/7.md", "in/8.md", "x.md"].map((path) => note(path, "word")));
      await embedNear(lab, ["word"]);
      const places = (first: number): string[] => Array.from({ length: 3000 }, (_, index) => `in/${index + first}.md`);
      const found = await pathsFound(lab, { scope: { within: places(0), without: places(8) }, sources: ["memory"] });
      assert.deepEqual(found, ["in/7.md"]);
    },
  },
  {
    id: "scopes.unaffected",
    promise: "with a scope, rows, scores and order do not change with files outside it",
    async run(lab) {
      const random = randomFrom(20);
      const draw = (most: number): number => Math.floor(random() * most);
      const word = (): string => vocabulary[draw(vocabulary.length)] ?? "heron";
      const drawn = (folder: string, count: number) =>
        notes(count, (index) => `${Array.from({ length: 1 + draw(9) }, word).join(" ")} ${folder}${index}`, folder);
      const embed = (files: ReturnType<typeof notes>): Promise<void> =>
        lab.store.putVectors(
          one,
          files.flatMap(({ chunks }) =>
            chunks.map(({ hash }) => ({ hash, vector: vectorOf(Number.parseInt(hash.slice(-9), 16) % 9973) })),
          ),
        );
      const within = drawn("shared", 30);
      await lab.store.replaceFiles([...within, note("shared/new.md", "without a vector")]);
      await embed(within);
      const questions: QueryTerm[][] = Array.from({ length: 12 }, (_, index) =>
        index % 4 === 0 ? [{ term: word().slice(0, 3), prefix: true }] : exactly(word(), word(), "outsideonly"),
      );
      const askAll = async (): Promise<unknown[]> => {
        const answers: unknown[] = [];
        for (const limit of [2, 50]) {
          const filter = { sources: ["memory"], scope, limit };
          for (const terms of questions) answers.push(await lab.store.searchKeyword({ terms, ...filter }));
          for (const seed of [101, 102, 103])
            answers.push(await lab.store.searchVector({ space: one, vector: vectorOf(seed), ...filter }));
        }
        return answers;
      };
      const before = await askAll();
      const outside = [...drawn("memory", 50), ...drawn("shared/own", 10)];
      const long = note("memory/long.md", `${"heron ".repeat(300)}outsideonly pla`);
      await lab.store.replaceFiles([...outside, long, note("memory/new.md", "without a vector, and private")]);
      await embed(outside);
      assert.deepEqual(await askAll(), before);
    },
  },
  {
    id: "scopes.common-words",
    promise: "among thousands of chunks a common word within the scope is found beside one that is only outside it",
    async run(lab) {
      // Stores leave very common words out of a search of many chunks. How common one is depends on the scope.
      const many = Array.from({ length: 5200 }, (_, index) => `deploy entry ${index}`);
      const steps = Array.from({ length: 10 }, (_, index) => `deploy step ${index}`);
      const trip = note("memory/trip.md", "zanzibar");
      const shared = [note("shared/how.md", ...steps), session("shared/how.md", "deploy as said")];
      await lab.store.replaceFiles([note("memory/log.md", ...many), trip, ...shared]);
      const found = async (terms: string[], filter: FileFilter): Promise<number> =>
        (await lab.store.searchKeyword({ terms: exactly(...terms), ...filter, limit: 50 })).rows.length;
      assert.equal(await found(["deploy", "zanzibar"], { scope, sources: ["memory"] }), steps.length);
      assert.equal(await found(["deploy", "zanzibar"], { sources: ["sessions"] }), 1, "a source is a filter too");
      assert.equal(
        await found(["deploy"], { sources: ["memory"] }),
        50,
        "a word in nearly every chunk, searched alone",
      );
    },
  },
];

export const searchChecks: readonly StoreCheck[] = [...keywordChecks, ...vectorChecks, ...scopeChecks];
