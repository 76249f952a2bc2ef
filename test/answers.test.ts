import { readFileSync } from "node:fs";
import path from "node:path";
import type { Memory, MemorySearchOptions, MemorySearchResult, SearchReport } from "memslot";
import { beforeAll, describe, expect, test } from "vitest";
import { ask, useHouse } from "./support/temp-workspace.ts";
import tables from "./data/scenarios.json" with { type: "json" };

async function withNotes(notes: Record<string, string>): Promise<Memory> {
  const memory = await useHouse(notes).open({ memorySearch: { sync: { watch: false } } });
  await memory.sync();
  return memory;
}

interface Counted {
  results: MemorySearchResult[];
  shown: number;
  found: SearchReport["found"];
}

async function count(memory: Memory, query: string, options: MemorySearchOptions = {}): Promise<Counted> {
  const { results, report } = await ask(memory, query, options);
  return { results, shown: results.length, found: report.found };
}

const milk = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `memory/${index}.md`,
      `# Item ${index}\n\nMilk of day ${index}.\n\nAnd bread.\n`,
    ]),
  );

const filler = "Nothing of it stands here, and such a line is as long as they are where there is much to say.\n";

describe("how much is found", () => {
  test("counts each note that has no room once, whatever room there is", async () => {
    const memory = await withNotes(milk(40));
    for (const [maxResults, maxTokens, shown] of tables.shownOf40)
      expect(await count(memory, "milk", { maxResults, maxTokens })).toMatchObject({
        shown,
        found: { passages: 40, notes: 40, more: false },
      });
    for (const maxTokens of [100, 300, 1000])
      expect((await count(memory, "milk", { maxResults: 200, maxTokens })).found).toEqual(tables.all40);
    expect((await count(memory, "walrus")).found).toEqual({ passages: 0, notes: 0, more: false });
  });

  test("says that there are more than were looked at", async () => {
    const memory = await withNotes(milk(400));
    const { found } = await count(memory, "milk", { maxResults: 6 });
    expect(found?.more).toBe(true);
    expect(found?.notes).toBeGreaterThanOrEqual(100);
    expect(found?.notes).toBeLessThanOrEqual(400);
    const listed = await count(memory, "path:memory/", { maxResults: 6 });
    expect(listed.found).toEqual({ passages: 400, notes: 400, more: false });
  });

  test("each place that holds the words is shown or counted, whatever room there is", async () => {
    const place = (index: number): string =>
      `## Place ${index}\n\nThe ferry stops at pier ${index}.\n\n${filler.repeat(5)}\n`;
    const text = Array.from({ length: 45 }, (_, index) => place(index)).join("\n");
    const memory = await withNotes({ "memory/ferries.md": text, "memory/other.md": "A ferry to the pier.\n" });
    const lines = { "memory/ferries.md": text.split("\n"), "memory/other.md": ["A ferry to the pier."] };
    for (const options of tables.limits) {
      const { results, found } = await count(memory, "ferry pier", { maxResults: 200, ...options });
      const shown = results.flatMap(({ path, startLine, endLine, lines: ranges = [[startLine, endLine]] }) =>
        ranges.flatMap(([from, to]) => lines[path as keyof typeof lines].slice(from - 1, to)),
      );
      const places = shown.filter((line) => line.includes("ferry")).length;
      expect(places).toBeGreaterThan(0);
      expect(places + (found?.passages ?? 0) - results.length).toBe(46);
    }
  });

  test("counts the lines of a list that had no room, and the places of one long line", async () => {
    const filler = "and nothing else of it is said here ".repeat(30);
    const memory = await withNotes({
      "memory/list.md": Array.from({ length: 200 }, (_, index) => `- lemur ${index}`).join("\n"),
      "memory/one.md": `The zebra was born. ${filler}The zebra was sold. ${filler}The zebra came home. ${filler}`,
    });
    const list = await count(memory, "lemur", { maxResults: 1 });
    expect(list.found?.passages).toBeGreaterThan(list.shown);
    const zebra = await count(memory, "zebra", { maxResults: 50, maxTokens: 4000 });
    expect(zebra.found?.passages).toBeGreaterThanOrEqual(3);
    expect(zebra.found?.notes).toBe(1);
  });

  test("lists each note once, however long it is", async () => {
    const long = Array.from({ length: 40 }, (_, index) => `Line ${index}: ${filler}`).join("");
    const memory = await withNotes(
      Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`memory/2026-03-0${index + 1}.md`, long])),
    );
    const { results, found } = await count(memory, "path:memory/", { maxResults: 50, maxTokens: 4000 });
    expect(new Set(results.map(({ path }) => path)).size).toBe(results.length);
    expect(found).toEqual({ passages: 8, notes: 8, more: false });
  });

  test("by day, an answer of which none is among the best by words is none the less one", async () => {
    const memory = await withNotes(
      Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => {
          const day = new Date(Date.UTC(2025, 0, 1 + index)).toISOString().slice(0, 10);
          return [`memory/${day}.md`, "# Day\n\nRan along the canal.\n"];
        }),
      ),
    );
    for (const order of ["relevance", "newest", "oldest"] as const) {
      const { report } = await ask(memory, "canal", { order });
      expect([order, report.match?.level]).toEqual([order, "strong"]);
    }
  });
});

describe("the parts of a score", () => {
  let memory: Memory;

  beforeAll(async () => {
    const workspace = path.join(import.meta.dirname, "../bench/vault/notes");
    memory = await useHouse().open({ workspace, memorySearch: { sync: { watch: false } } });
    await memory.sync({ reason: "test" });
  });

  test.each(tables.scoredQueries)(
    "the parts of each score are the score, and asking for them changes nothing: %s",
    async (query) => {
      const plain = await memory.search(query, { maxResults: 12 });
      const explained = await memory.search(query, { maxResults: 12, explain: true });
      const unexplained = explained.map(({ parts: _parts, sections: _sections, ...result }) => result);
      expect(unexplained).toEqual(plain);
      for (const { score, parts } of explained) {
        const all = Object.values(parts ?? {});
        expect(all.length).toBe(4);
        expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
        expect(all.reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 9);
      }
    },
  );

  test("a note that is named like the question has its score from its name, one of a day from the day", async () => {
    const [named] = await memory.search("heat pump", { explain: true });
    expect(named?.path).toBe("Projects/Heat pump.md");
    expect(named?.parts?.names).toBeGreaterThan(0.2);
    const [dated] = await memory.search("what did we do on 12 March 2025", { explain: true });
    expect(dated?.parts?.dates).toBeGreaterThan(0.4);
  });

  test("a shared session gets no parts", async () => {
    const session = "agent:main:telegram:group:1";
    const results = await memory.search("heat pump", { explain: true, sessionKey: session });
    expect(results.filter(({ parts }) => parts !== undefined)).toEqual([]);
  });
});

describe("the confidence of an answer", () => {
  /** A vault of people, a house and work, in three languages, and queries by the level of their answer. */
  const data = JSON.parse(readFileSync(path.join(import.meta.dirname, "data/confidence.json"), "utf8")) as {
    notes: Record<string, string>;
    /** Found by the names of their folders. */
    folders: [query: string, path: string][];
    strong: string[];
    /** Their words are scattered over different notes. */
    scattered: string[];
    /** A name in them has no match. */
    unknown: [query: string, name: string][];
    /** The same in small letters. */
    small: string[];
  };
  let memory: Memory;

  beforeAll(async () => {
    memory = await useHouse(data.notes).open({ memorySearch: { notes: "all", sync: { watch: false } } });
    await memory.sync();
  });

  const levelOf = async (query: string): Promise<{ level: string | undefined; reason: string | undefined }> => {
    const { report } = await ask(memory, query);
    return { level: report.match?.level, reason: report.match?.reason };
  };

  test.each(data.folders)("%s: found by the names of its folders, %s", async (query, file) => {
    const { paths, report } = await ask(memory, query);
    expect([paths[0], report.match?.level]).toEqual([file, "strong"]);
  });

  test.each(data.strong)("%s: strong", async (query) => {
    expect(await levelOf(query)).toEqual({ level: "strong", reason: undefined });
  });

  test.each(data.scattered)("%s: weak, its words are scattered over different notes", async (query) => {
    expect(await levelOf(query)).toEqual({ level: "weak", reason: expect.stringContaining("different notes") });
  });

  test.each(data.unknown)("%s: none, and %s is named", async (query, name) => {
    expect(await levelOf(query)).toEqual({ level: "none", reason: expect.stringContaining(name) });
  });

  test.each(data.small)("%s: a name in small letters with no match makes it no strong one", async (query) => {
    expect((await levelOf(query)).level).not.toBe("strong");
  });
});
