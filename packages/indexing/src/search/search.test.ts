import { EmbeddingError, type SearchReport } from "@memslot/core";
import { describe, expect, test, vi } from "vitest";
import type { KeywordQuery, VectorQuery } from "../chunk-store.ts";
import { noteTasks } from "../scan/note-worker-tasks.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import type { SourceScope } from "./session-scope.ts";
import { type FakeEmbeddings, fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import type { FakeStore } from "../../test/support/fake-store.ts";
import { expectAnyQueryIsAnswered, type Found, isCounted, notes, search, storeWith } from "./test/search-lab.ts";
import dated from "./test/dated-notes.json" with { type: "json" };
import tables from "./test/golden-notes.json" with { type: "json" };

function asked({ calls }: FakeStore): (KeywordQuery | VectorQuery)[] {
  const searches = calls.filter((call) => call.method.startsWith("search") && !isCounted(call));
  return searches.map(({ argument }) => argument as KeywordQuery | VectorQuery);
}

describe("by time", () => {
  const diary: Record<string, string> = tables.diary;
  // In the order of the notes above.
  const days = ["2024-03-12", "2025-03-12", "2025-03-13", "2026-03-09", "2026-03-14"].map(
    (day) => Date.parse(day) / 86_400_000,
  );

  test.each(tables.byTime as [string, string[]][])(
    "%s lists the notes of that time in their order",
    async (query, expected) => {
      const found = await search(await storeWith(diary), query, { days });
      expect(found.paths.slice(0, expected.length)).toEqual(expected);
      expect(found.report.confidence).toBe(1);
    },
  );

  test("a note of the time is found although it holds no other word of the question, behind one that does", async () => {
    const found = await search(await storeWith(diary), "which hedge did I see on 14 March 2026", { days });
    expect(found.paths).toContain("memory/2026-03-14.md");
    expect((await search(await storeWith(diary), "bicycle in March 2025", { days })).paths[0]).toBe(
      "memory/2025-03-12.md",
    );
    const { candidates = 0, kept = 0 } = found.report.legs.keyword ?? {};
    expect(candidates).toBeGreaterThanOrEqual(kept);
  });

  test("a note without a day is found by those in its headings, and shown by the lines under them", async () => {
    const log =
      "# Log\n\n## 2026-03-01\n\nSowed radishes.\n\n## 2026-03-05\n\nFrost killed the beans.\n\n## 2026-03-08\n\nSnow.\n";
    const store = await storeWith({ ...diary, "Log.md": log });
    const found = await search(store, "what happened on 5 March 2026", { days });
    expect(found.results[0]).toMatchObject({ path: "Log.md", startLine: 7, endLine: 9 });
    expect(found.results[0]?.snippet).toContain("Frost");
    expect(found.results[0]?.snippet).not.toMatch(/radishes|Snow/u);
    expect(found.report.match?.level).toBe("strong");
    expect((await search(store, "which beans in March 2026", { days })).paths[0]).toBe("Log.md");
    const week = await search(store, "what happened from 2 to 10 March 2026", { days });
    // Notes of the days themselves go first.
    expect(week.paths.slice(0, 2)).toEqual(["memory/2026-03-09.md", "Log.md"]);
  });

  test.each(dated)("what a note is of goes first: $what", async ({ files, first }) => {
    const store = await storeWith({});
    for (const [path, text] of Object.entries(files)) {
      const chunks = await noteTasks.cut({ bytes: Buffer.from(text), path }, () => Promise.resolve());
      const file = { path, source: "memory", hash: text, mtimeMs: 1, size: text.length, recipe: "r", chunks };
      await store.replaceFiles([file]);
    }
    for (const [query, path] of first)
      expect([query, (await search(store, query ?? "")).paths[0]]).toEqual([query, path]);
  });

  test("a time without a note is the reason of an empty answer", async () => {
    const { results, report } = await search(await storeWith({ "a.md": "words" }), "what did I do last week");
    expect([results, report.reason]).toEqual([[], "there is no note of 2026-03-02 to 2026-03-08"]);
  });

  test("notes of the time that may not be seen are not found", async () => {
    const scope: SourceScope = () => ({ within: [""], without: ["memory/2026-03-14.md"] });
    const found = await search(await storeWith(diary), "yesterday", { days, scope });
    expect(found.paths).not.toContain("memory/2026-03-14.md");
  });
});

describe("by keywords", () => {
  test.each(tables.byWords as [string, string][])(
    "%s finds %s first, with the very lines that are shown",
    async (query, path) => {
      const { results, report } = await search(await storeWith(notes), query);
      expect(results[0]).toMatchObject({ path, source: "memory", startLine: 1 });
      expect(results[0]?.score).toBeGreaterThan(0);
      expect(results[0]?.score).toBeLessThan(1);
      expect(results[0]?.textScore).toBe(results[0]?.score);
      expect(results[0]).not.toHaveProperty("vectorScore");
      const lines = notes[path]?.split("\n") ?? [];
      const [[from = 0, to = 0] = []] = results[0]?.lines ?? [[1, results[0]?.endLine ?? 0]];
      const shown = [...(from > 1 ? ["…"] : []), ...lines.slice(from - 1, to)];
      expect(results[0]?.snippet).toBe(shown.join("\n"));
      expect(report).toMatchObject({
        backend: "test",
        mode: "keyword",
        state: "ok",
        legs: { keyword: { candidates: expect.any(Number) as number } },
      });
      expect(report.reason).toBeUndefined();
      expect(results.map(({ score }) => score)).toEqual(results.map(({ score }) => score).toSorted((x, y) => y - x));
    },
  );

  test("a key that is pasted into the question finds the line that held one, and the store does not get it", async () => {
    const key = ["sk", "proj", "Zx81QwErTy", "UiOp4567LkJhGfDsAqWeRtYuIoP"].join("-");
    const kept = redactSecrets(`The key of the importer is ${key}.\n`);
    const store = await storeWith({ ...notes, "memory/keys.md": kept });
    expect((await search(store, `which importer has ${key}`)).paths[0]).toBe("memory/keys.md");
    expect(JSON.stringify(store.calls).toLowerCase()).not.toContain("zx81qwerty");
  });

  test("a term with no match, and no other, is tried as the beginning of a word, from three letters on", async () => {
    const store = await storeWith(notes);
    expect((await search(store, "impor")).paths).toContain("memory/2026-03-05.md");
    expect((await search(store, "kitt budget")).paths).toEqual(
      expect.arrayContaining(["memory/2026-03-06.md", "MEMORY.md"]),
    );
    expect((await search(store, "im")).paths).toEqual([]);
    expect((await search(store, "budge2")).paths).toEqual([]);
    const both = await storeWith({ "memory/a.md": "the car", "memory/b.md": "the carpet" });
    expect((await search(both, "car")).paths).toEqual(["memory/a.md"]);
  });
});

describe("by both legs", () => {
  test("finds by meaning what holds none of the words", async () => {
    const store = await storeWith(notes);
    const { results, report } = await search(store, "money", { provider: fakeEmbeddings() });
    expect(results.map(({ path }) => path).toSorted()).toEqual(["MEMORY.md", "memory/2025-01-10.md"]);
    expect(results[0]?.vectorScore).toBeGreaterThan(0.9);
    expect(results[0]).not.toHaveProperty("textScore");
    expect(report).toMatchObject({
      mode: "hybrid",
      state: "ok",
      legs: { keyword: { candidates: 0, kept: 0 }, vector: { candidates: 5, kept: 2 } },
    });
  });

  test("what is found by meaning is no miss for want of its words; a name that is missing stays one", async () => {
    const days = Array.from({ length: 60 }, (_, index) => [`memory/day-${index}.md`, "The kitten slept.\n"] as const);
    const store = await storeWith({ ...Object.fromEntries(days), "MEMORY.md": "Anna keeps the budget.\n" });
    const match = async (query: string, provider?: FakeEmbeddings): Promise<SearchReport["match"]> =>
      (await search(store, query, { ...(provider && { provider }) })).report.match;
    // Where all words are written like names, one that no note holds is taken for one.
    expect(await match("Anna Money")).toMatchObject({
      level: "none",
      reason: 'none of these results contains "Money"',
      code: "match.absent",
      params: { words: '"Money"' },
    });
    expect((await match("Anna Money", fakeEmbeddings()))?.level).not.toBe("none");
    expect((await match("where is the money", fakeEmbeddings()))?.level).not.toBe("none");
    expect(await match("where is the money of Petra", fakeEmbeddings())).toMatchObject({
      level: "none",
      reason: 'none of these results contains "Petra"',
    });
  });

  test("hybrid search turned off asks the provider nothing", async () => {
    const provider = fakeEmbeddings();
    const { report } = await search(await storeWith(notes), "money", { provider, hybrid: { enabled: false } });
    expect(provider.queries).toEqual([]);
    expect(report).toMatchObject({ mode: "keyword", legs: { vector: undefined } });
  });

  test.each(tables.weights)(
    "with the weights %o the only note that holds a code is found with every minScore",
    async (hybrid) => {
      const store = await storeWith(notes);
      for (const minScore of [0, 0.35, 0.9, 1]) {
        for (const strict of [false, true]) {
          const found = await search(store, "the kitten and QX-7919", {
            provider: fakeEmbeddings(),
            hybrid,
            minScore,
            strict,
          });
          const own = found.results.find(({ path }) => path === "memory/2026-03-05.md");
          expect(own?.score, `${minScore} ${strict}`).toBeGreaterThan(0);
          for (const { score } of found.results) expect(score).toBeLessThanOrEqual(1);
        }
      }
    },
  );
});

describe("minScore", () => {
  test("from the settings cuts what only the vector leg found", async () => {
    const store = await storeWith(notes);
    const low = await search(store, "money", { provider: fakeEmbeddings(), minScore: 0 });
    const high = await search(store, "money", { provider: fakeEmbeddings(), minScore: 0.35 });
    expect(low.results).toHaveLength(5);
    expect(high.results).toHaveLength(2);
    expect(high.report.dropped).toEqual({ minScore: 3, source: 0, limit: 0 });
  });

  test("keeps what is exactly as near as that, and tells of a single one that is not", async () => {
    const store = await storeWith({ "memory/2026-03-05.md": notes["memory/2026-03-05.md"] ?? "" });
    const provider = fakeEmbeddings();
    const [near] = (await search(store, "money", { provider, minScore: 0 })).results;
    const score = near?.score ?? Number.NaN;
    expect((await search(store, "money", { provider, minScore: score })).results).toHaveLength(1);
    const above = await search(store, "money", { provider, minScore: score + Number.EPSILON });
    expect(above.results).toEqual([]);
    expect(above.report.reason).toBe("1 result is below minScore");
  });

  test("from the settings cuts nothing that words found", async () => {
    const store = await storeWith(notes);
    const query = "importer kitten lab Kraków budget zebra crossing";
    const { results, report } = await search(store, query, { minScore: 0.99 });
    expect(results.length).toBe(4);
    expect(report.dropped.minScore).toBe(0);
  });
});

describe("limits", () => {
  test.each(tables.candidates as [number, number, number][])(
    "%i results times %i ask each leg for %i candidates",
    async (maxResults, candidateMultiplier, expected) => {
      const store = await storeWith(notes);
      await search(store, "budget", { maxResults, hybrid: { candidateMultiplier }, provider: fakeEmbeddings() });
      expect(asked(store).map(({ limit }) => limit)).toEqual([expected, expected]);
    },
  );

  test("sources are filtered inside the store, and those without a chunk are not asked", async () => {
    const store = await storeWith(notes, { source: "sessions" });
    expect((await search(store, "budget", { sources: ["memory"], provider: fakeEmbeddings() })).paths).toEqual([]);
    for (const chunks of [undefined, 1])
      expect((await search(store, "budget", { sources: ["memory", "sessions"], chunks })).paths).toEqual(["MEMORY.md"]);
    const sources = asked(store).map((query) => query.sources.join());
    expect(sources.slice(-3)).toEqual(["memory", "sessions", "sessions"]);
  });

  test("one note among five hundred transcripts that match better is in the answer", async () => {
    const line = "The budget budget budget of the budget";
    const transcripts = Array.from({ length: 500 }, (_, index): [string, string] => [
      `sessions/${index}.jsonl`,
      `${line} ${index}`,
    ]);
    const store = await storeWith(Object.fromEntries(transcripts), { source: "sessions" });
    await storeWith(
      { "MEMORY.md": "Somewhere in a long note about quite other things a budget is named once." },
      { store },
    );
    const sources = ["memory", "sessions"];
    const provider = fakeEmbeddings();
    for (const given of [{ sources }, { sources, provider }]) {
      const { results, report } = await search(store, "budget", { ...given, maxResults: 8 });
      expect(results).toHaveLength(8);
      expect(results.map(({ path }) => path)).toContain("MEMORY.md");
      expect(report.sources).toEqual([
        { source: "memory", candidates: 1, kept: 1 },
        { source: "sessions", candidates: 100, kept: 7 },
      ]);
    }
    expect((await search(store, "budget", { sources: ["memory"], maxResults: 8, provider })).paths).toEqual([
      "MEMORY.md",
    ]);
  });

  test.each([
    ["that is known to be large", 5200, undefined],
    ["of unknown size", undefined, undefined],
    ["with a scope", 5200, { within: ["notes.md"], without: [] }],
  ])("in an index %s rare terms choose the candidates, all terms weigh them", async (_, chunks, scope) => {
    const text = (index: number): string =>
      `common${index % 2 === 0 ? " half" : ""}${index % 1000 === 7 ? " rare" : ""}`;
    const store = await storeWith({});
    const terms = Array.from({ length: 5200 }, (__, index) => text(index));
    const rows = terms.map((each, index) => {
      return { startLine: index + 1, endLine: index + 1, text: each, context: "", terms: each, hash: `${index}` };
    });
    const file = { path: "notes.md", source: "memory", hash: "x", mtimeMs: 1, size: 1, recipe: "r", chunks: rows };
    await store.replaceFiles([file]);
    const found = async (query: string): Promise<[rows: number, best: string | undefined]> => {
      const { report, results } = await search(store, query, { chunks, scope: () => scope });
      return [report.legs.keyword?.candidates ?? 0, results[0]?.snippet.split("\n")[0]];
    };
    expect(await found("rare half common")).toEqual([6, "common rare"]);
    expect((await found("half common"))[0]).toBe(100);
    expect(await found("rare absent")).toEqual([6, "common rare"]);
    expect(await found("absent")).toEqual([0, undefined]);
  });

  test("what a scope leaves out is no candidate", async () => {
    const store = await storeWith(notes);
    const scope = { within: ["docs/"], without: [] };
    await search(store, "budget", { scope: () => scope, provider: fakeEmbeddings() });
    expect(asked(store).map((query) => query.scope)).toEqual([scope, scope]);
  });

  test("a session that may see nothing asks neither store nor provider", async () => {
    const store = await storeWith(notes);
    const provider = fakeEmbeddings();
    const before = store.calls.length;
    const { results, report } = await search(store, "budget", { scope: () => ({ within: [], without: [] }), provider });
    expect(results).toEqual([]);
    expect(report.reason).toBe("none of the requested sources may be searched in this session");
    expect(store.calls.slice(before).filter(({ method }) => method.startsWith("search"))).toEqual([]);
    expect(provider.queries).toEqual([]);
  });
});

describe("an empty answer says why", () => {
  test.each(tables.noWords as [string, string][])("%s: %s", async (query, reason) => {
    const { results, report } = await search(await storeWith(notes), query);
    expect(results).toEqual([]);
    expect(report).toMatchObject({ state: "ok", reason });
  });

  test("also where the store found words and gave no rows", async () => {
    const { report } = await search(await storeWith(notes, { source: "sessions" }), "budget");
    expect(report.reason).toBe("nothing in memory matches");
  });
});

describe("a retriever that fails", () => {
  const queryFails = (error: Error): FakeEmbeddings =>
    fakeEmbeddings({ fail: (what) => (what === "query" ? error : undefined) });
  const [refused, said] = [new EmbeddingError("auth", "fake answered 401"), "refused at memory/divorce.md"];
  const scope: SourceScope = () => ({ within: [""], without: [] });

  /** The same, without the waits between attempts. */
  async function searchAtOnce(...given: Parameters<typeof search>): Promise<Found> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const found = search(...given);
      found.catch(() => undefined);
      await vi.advanceTimersByTimeAsync(60_000);
      return await found;
    } finally {
      vi.useRealTimers();
    }
  }

  interface Failure {
    what: string;
    query?: string;
    provider?: FakeEmbeddings;
    store?: (store: FakeStore) => void;
    shared?: boolean;
    report: Partial<SearchReport>;
    first?: "textScore" | "vectorScore";
  }

  test.each<Failure>([
    {
      what: "the query embedding: keywords answer",
      provider: queryFails(refused),
      report: { mode: "keyword", reason: "keyword search only: fake answered 401" },
      first: "textScore",
    },
    {
      what: "the query embedding, with an abort of its own: keywords answer",
      provider: queryFails(new DOMException("gone", "AbortError")),
      report: { mode: "keyword" },
      first: "textScore",
    },
    {
      what: "the vector search of the store: keywords answer",
      store: (store) => store.fail("searchVector", () => new Error("no such table")),
      report: { mode: "keyword" },
      first: "textScore",
    },
    {
      what: "the keyword search of the store: meaning answers",
      query: "money",
      store: (store) => store.fail("searchKeyword", () => new Error("fts5: broken")),
      report: {
        mode: "vector",
        reason: "keyword search failed, vector search answered: fts5: broken",
      },
    },
    {
      what: "keyword search that the store lacks: meaning answers, with its own scores",
      query: "money",
      store: (store) => store.setHealth({ fts: { enabled: true, available: false, error: "no such module: fts5" } }),
      report: { mode: "vector", reason: "keyword search is not available: no such module: fts5" },
      first: "vectorScore",
    },
    {
      what: "for a shared audience the query embedding, without its message, which may be about private notes",
      provider: queryFails(new EmbeddingError("auth", said)),
      shared: true,
      report: { mode: "keyword", reason: "keyword search only: the question could not be embedded" },
    },
    {
      what: "for a shared audience the keyword search, without its message",
      store: (store) => store.fail("searchKeyword", () => new Error(said)),
      shared: true,
      report: { mode: "vector", reason: "keyword search failed, vector search answered" },
    },
  ])("$what", async ({ query = "budget", provider = fakeEmbeddings(), store: change, shared, report, first }) => {
    const store = await storeWith(notes);
    change?.(store);
    const found = await searchAtOnce(store, query, { provider, ...(shared && { scope, audience: "shared" }) });
    expect(found.paths).toContain("MEMORY.md");
    if (first) expect(found.results[0]?.score).toBe(found.results[0]?.[first]);
    expect(found.report).toMatchObject({ state: "degraded", ...report });
    if (report.mode === "vector") expect(found.report.confidence).toBeUndefined();
  });

  test("both: the error of the first is thrown", async () => {
    const store = await storeWith(notes);
    const error = new Error("database is closed");
    store.fail("searchKeyword", () => error);
    await expect(search(store, "budget")).rejects.toBe(error);
    store.fail("searchVector", () => new Error("other"));
    await expect(search(store, "budget", { provider: fakeEmbeddings() })).rejects.toBe(error);
  });

  test("the only one there is: its error is thrown, and no empty answer given", async () => {
    const store = await storeWith(notes);
    store.setHealth({ fts: { enabled: true, available: false } });
    const provider = queryFails(new Error("connection refused"));
    await expect(searchAtOnce(store, "budget", { provider })).rejects.toThrow("connection refused");
  });
});

test("for those who read along nothing of a scale is of notes that they may not see", async () => {
  const asked: number[] = [];
  const base = await storeWith(notes);
  const store: FakeStore = {
    ...base,
    async sampleVectors(_space, count) {
      asked.push(count);
      return [{ hash: "0", text: "hidden", vector: Float32Array.of(0, 0, 0, 0, 1) }];
    },
    note: async () => undefined,
    noted: async () => JSON.stringify({ weight: 0.15, quality: 1, pairs: 32, vectors: 5 }),
  };
  const provider = fakeEmbeddings();
  const own = await search(store, "money", { provider });
  expect([asked.length, own.report.meaning?.weight]).toEqual([1, 0.15]);
  const shared = await search(store, "money", { provider, audience: "shared" });
  // It is looked only whether all vectors are the same.
  expect([asked.length, shared.report.meaning?.weight]).toEqual([2, 0.03]);
});

test("any query is answered, with scores in range and no result twice", async () => {
  await expectAnyQueryIsAnswered({ seed: 77, queries: 120 });
});
