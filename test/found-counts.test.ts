import type { Memory, MemorySearchOptions, SearchReport } from "memslot";
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
  return { shown: results.length, found: report?.found };
}

interface Asked {
  shown: number;
  found: SearchReport["found"];
}

const milk = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`memory/${index}.md`, `Milk of day ${index}.\n`]));

const filler = "Nothing of it stands here, and such a line is as long as they are where there is much to say.\n";

describe("how much is found", () => {
  test("counts each note that has no room once, whatever room there is", async () => {
    const memory = await withNotes(milk(40));
    for (const [maxResults, maxTokens, shown] of [
      [1, 4000, 1],
      [6, 4000, 6],
      [50, 4000, 40],
    ] as const)
      expect(await ask(memory, "milk", { maxResults, maxTokens })).toEqual({
        shown,
        found: { passages: 40, notes: 40, more: false },
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

  test("counts further passages of a note that is shown: with more room they are there", async () => {
    const place = (index: number): string =>
      `## Place ${index}\n\nThe ferry stops at pier ${index}.\n\n${filler.repeat(5)}\n`;
    const memory = await withNotes({
      "memory/ferries.md": Array.from({ length: 45 }, (_, index) => place(index)).join("\n"),
      "memory/other.md": "A ferry.\n",
    });
    const all = await ask(memory, "ferry pier", { maxResults: 200, maxTokens: 4000 });
    expect(all.shown).toBeGreaterThan(6);
    for (const maxTokens of [100, 200, 500]) {
      const { shown, found } = await ask(memory, "ferry pier", { maxResults: 200, maxTokens });
      expect(shown).toBeLessThan(all.shown);
      expect(found?.passages).toBeGreaterThanOrEqual(all.shown);
    }
  });

  test("counts the same where little is asked for by number", async () => {
    const place = (index: number): string => `The ferry stops at pier ${index}.\n\n${filler.repeat(9)}\n`;
    const memory = await withNotes({
      "memory/ferries.md": Array.from({ length: 30 }, (_, index) => place(index)).join("\n"),
    });
    const { shown, found } = await ask(memory, "ferry pier", { maxResults: 1 });
    const all = await ask(memory, "ferry pier", { maxResults: 200, maxTokens: 4000 });
    expect(shown).toBe(1);
    expect(all.shown).toBeGreaterThan(3);
    expect(found).toMatchObject({ notes: 1 });
    expect(found?.passages).toBeGreaterThanOrEqual(all.shown);
  });
});
