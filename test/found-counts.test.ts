import type { Memory, MemorySearchOptions, MemorySearchResult, SearchReport } from "memslot";
import { describe, expect, onTestFinished, test } from "vitest";
import { createHouse } from "./support/house.ts";

async function withNotes(notes: Record<string, string>): Promise<Memory> {
  const house = createHouse();
  onTestFinished(async () => await house.end());
  house.write(notes);
  const memory = await house.open({ memorySearch: { sync: { watch: false } } });
  await memory.sync();
  return memory;
}

async function ask(memory: Memory, query: string, options: MemorySearchOptions = {}): Promise<Asked> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { ...options, onDebug: (given) => (report = given) });
  return { results, shown: results.length, found: report?.found };
}

interface Asked {
  results: MemorySearchResult[];
  shown: number;
  found: SearchReport["found"];
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
    for (const [maxResults, maxTokens, shown] of [
      [1, 4000, 1],
      [6, 4000, 6],
      [50, 4000, 40],
    ] as const)
      expect(await ask(memory, "milk", { maxResults, maxTokens })).toMatchObject({
        shown,
        found: { passages: 40, notes: 40, more: false },
      });
    for (const maxTokens of [100, 300, 1000])
      expect((await ask(memory, "milk", { maxResults: 200, maxTokens })).found).toEqual({
        passages: 40,
        notes: 40,
        more: false,
      });
    expect((await ask(memory, "walrus")).found).toEqual({ passages: 0, notes: 0, more: false });
  });

  test("says that there are more than were looked at", async () => {
    const memory = await withNotes(milk(400));
    const { found } = await ask(memory, "milk", { maxResults: 6 });
    expect(found?.more).toBe(true);
    expect(found?.notes).toBeGreaterThanOrEqual(100);
    expect(found?.notes).toBeLessThanOrEqual(400);
    const listed = await ask(memory, "path:memory/", { maxResults: 6 });
    expect(listed.found).toEqual({ passages: 400, notes: 400, more: false });
  });

  test("each place that holds the words is shown or counted, whatever room there is", async () => {
    const place = (index: number): string =>
      `## Place ${index}\n\nThe ferry stops at pier ${index}.\n\n${filler.repeat(5)}\n`;
    const text = Array.from({ length: 45 }, (_, index) => place(index)).join("\n");
    const memory = await withNotes({ "memory/ferries.md": text, "memory/other.md": "A ferry to the pier.\n" });
    const lines = { "memory/ferries.md": text.split("\n"), "memory/other.md": ["A ferry to the pier."] };
    for (const options of [
      { maxTokens: 100 },
      { maxTokens: 300 },
      { maxTokens: 500 },
      { maxTokens: 4000 },
      { maxResults: 1 },
    ]) {
      const { results, found } = await ask(memory, "ferry pier", { maxResults: 200, ...options });
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
    const list = await ask(memory, "lemur", { maxResults: 1 });
    expect(list.found?.passages).toBeGreaterThan(list.shown);
    const zebra = await ask(memory, "zebra", { maxResults: 50, maxTokens: 4000 });
    expect(zebra.found?.passages).toBeGreaterThanOrEqual(3);
    expect(zebra.found?.notes).toBe(1);
  });

  test("lists each note once, however long it is", async () => {
    const long = Array.from({ length: 40 }, (_, index) => `Line ${index}: ${filler}`).join("");
    const memory = await withNotes(
      Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`memory/2026-03-0${index + 1}.md`, long])),
    );
    const { results, found } = await ask(memory, "path:memory/", { maxResults: 50, maxTokens: 4000 });
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
      let report: SearchReport | undefined;
      await memory.search("canal", { order, onDebug: (given) => (report = given) });
      expect([order, report?.match?.level]).toEqual([order, "strong"]);
    }
  });
});
