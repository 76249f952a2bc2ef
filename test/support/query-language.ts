import { readFileSync } from "node:fs";
import path from "node:path";
import { makeFakeQmd } from "@memslot/fakes/qmd";
import { clientSources } from "@memslot/core";
import { createReferencePlugin, deterministicEmbeddings } from "@memslot/testkit";
import type { Memory, MemorySearchOptions } from "memslot";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type Asked, inSlot, useHouse, withQmd } from "./temp-workspace.ts";

/** Notes, and which of them each query and each period finds. */
export const queryLanguage = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "../data/query-language.json"), "utf8"),
) as {
  notes: Record<string, string>;
  found: [query: string, paths: string[]][];
  within: [options: MemorySearchOptions, paths: string[]][];
  /** Queries that find three notes among a crowd of better matches. */
  few: [query: string, options: MemorySearchOptions][];
  /** A query with each kind of filter, for a backend that is not checked in full. */
  chosen: string[];
  /** Queries with an empty answer, and the reason. */
  reasons: [query: string, options: MemorySearchOptions, reason: string][];
  refused: [options: MemorySearchOptions, message: string][];
  /** Queries of a group. */
  group: [query: string, options: MemorySearchOptions][];
};
const { notes, found: finds, within, few, chosen: chosenFinds, reasons, refused } = queryLanguage;

const crowd = 450;

/** Each of the crowd is a better match for "otter" than the three, and contains "holt" or is elsewhere. */
function crowded(): Record<string, string> {
  const files: Record<string, string> = {};
  for (let index = 0; index < crowd; index++)
    files[`memory/crowd/${index}.md`] = `otter otter otter otter\nholt of the otter ${index}\n`;
  for (let index = 0; index < 3; index++)
    files[`memory/few/${index}.md`] =
      `---\ntags: [rare]\ndate: 2019-07-0${index + 1}\n---\n\n${"A long day by the river with many words and one otter. ".repeat(3)}\n`;
  return files;
}

/** Below `memory/`, as the tables name them. */
export async function askIn(memory: Memory, query: string, options: MemorySearchOptions = {}): Promise<Asked> {
  const asked = await ask(memory, query, { maxResults: 20, ...options });
  return { ...asked, paths: asked.paths.map((each) => each.replace(/^memory\//u, "")) };
}

export type QueryBackend = "memory-core" | "memory-core by meaning" | "memory-lancedb" | "reference" | "qmd";

/** Registers the checks of the query language on a backend: all, or a case of each kind without the crowd. */
export function describeQueryLanguage(backend: QueryBackend, checks: "all" | "chosen"): void {
  const byMeaning = backend.endsWith("meaning");
  const isQmd = backend === "qmd";
  // qmd is asked for words where there are too many notes to read them all: that is another test.
  const isCrowded = checks === "all" && !isQmd;

  describe(`the query language in ${backend}`, () => {
    let memory: Memory;

    beforeAll(async () => {
      const house = useHouse({ ...notes, ...(isCrowded && crowded()) });
      const fake = isQmd ? makeFakeQmd() : undefined;
      afterAll(() => fake?.remove());
      memory = await house.open({
        settings: fake ? withQmd(fake) : inSlot(backend.split(" ")[0] ?? ""),
        embeddings: byMeaning ? deterministicEmbeddings({ dimensions: 32 }) : undefined,
        memorySearch: { sync: { watch: false } },
        plugins: backend === "reference" ? [createReferencePlugin()] : [],
      });
      await memory.sync();
    }, 120_000);

    const found = async (query: string, options?: MemorySearchOptions): Promise<string[]> =>
      (await askIn(memory, query, options)).paths.toSorted();
    const chosen = finds.filter(([query]) => checks === "all" || chosenFinds.includes(query));

    test.each(chosen)("%s finds %j and nothing else", async (query, paths) => {
      const all = await found(query);
      // By meaning more is near to a word than what contains it. What is excluded never comes, and a phrase has to match.
      const isOpen = byMeaning && /^[a-z]+ -/u.test(query);
      expect(isOpen ? all.filter((each) => paths.includes(each)) : all).toEqual(paths);
      const left = /^[a-z]+ -(?<word>[a-z]+)$/u.exec(query)?.groups?.["word"];
      if (left !== undefined)
        for (const each of all)
          expect(notes[`memory/${each}`] ?? notes[each] ?? "").not.toMatch(new RegExp(String.raw`\b${left}`, "iu"));
    });

    test.each(checks === "all" ? within : within.slice(1, 2))("dentist within %j is in %j", async (options, paths) => {
      expect(await found("dentist", options)).toEqual(paths);
      const { report } = await askIn(memory, "dentist", options);
      expect(report.filters?.undated).toBeGreaterThan(0);
      expect(report.filters?.order).toBe("relevance");
    });

    if (checks === "chosen") return;

    test.each(["", " ", "?", '""'])("%j with days asks for all that is of them", async (query) => {
      const days = { since: "2024-03-01", until: "2025-06-30" };
      const { paths, report } = await askIn(memory, query, days);
      expect(paths.toSorted()).toEqual(["2024-03-05.md", "2025-01-10.md", "by-property.md", "log.md"]);
      expect(report).toMatchObject({ state: "ok", filters: { words: "", since: "2024-03-01", until: "2025-06-30" } });
      expect((await askIn(memory, query, { order: "newest" })).paths[0]).toBe("2026-02-11-trip.md");
    });

    test("the newest and the oldest come first, those without a day last", async () => {
      const order = ["2026-02-11-trip.md", "by-property.md", "2025-01-10.md", "2024-03-05.md"];
      const period = { since: "2024", until: "2026" };
      const { paths, report } = await askIn(memory, "dentist", { order: "newest", ...period });
      expect(paths).toEqual(order);
      expect(report.filters).toMatchObject({ since: "2024-01-01", until: "2026-12-31", order: "newest" });
      expect((await askIn(memory, "dentist", { order: "oldest", ...period })).paths).toEqual(order.toReversed());
      const all = (await askIn(memory, "dentist", { order: "newest" })).paths;
      if (!byMeaning) expect(all).toEqual([...order, "log.md", "undated.md"]);
      expect((await askIn(memory, "dentist", { order: "newest", maxResults: 1 })).paths).toEqual(order.slice(0, 1));
    });

    test("filters without a word list the notes, the newest first, each once", async () => {
      const { paths, report } = await askIn(memory, "path:memory/20 path:memory/by path:memory/recipes");
      expect(paths).toEqual([
        "2026-02-11-trip.md",
        "recipes/2026-01-02-bread.md",
        "by-property.md",
        "2025-01-10.md",
        "2024-03-05.md",
        "recipes/soup.md",
      ]);
      expect(report).toMatchObject({ state: "ok", filters: { words: "", order: "newest" } });
      const oldest = await askIn(memory, "path:memory/20 after:2025", { order: "oldest" });
      expect(oldest.paths).toEqual(["2025-01-10.md", "2026-02-11-trip.md"]);
      expect((await askIn(memory, "path:memory/recipes -ginger")).paths).toEqual(["recipes/2026-01-02-bread.md"]);
      expect((await askIn(memory, "path:memory/recipes", { maxResults: 1 })).report.dropped.limit).toBe(1);
    });

    test("an empty answer names the part that excluded something", async () => {
      const reason = async (query: string, options?: MemorySearchOptions): Promise<string | undefined> =>
        (await askIn(memory, query, options)).report.reason;
      // qmd is not asked twice, and by meaning something is always near.
      if (isQmd) return expect(await reason('"pump heat"')).toBeDefined();
      expect(await reason('"pump heat"')).toMatch(/^no note contains the phrase "pump heat"; without it \d+ results$/u);
      if (byMeaning) return;
      for (const [query, options, expected] of reasons)
        expect(await reason(query, options), query).toMatch(new RegExp(expected, "u"));
    });

    test("what looks like a filter and is none is words, and the report says so", async () => {
      const { paths, report } = await askIn(memory, "after:yesteryear source:nowhere ginger");
      expect(paths[0]).toBe("recipes/soup.md");
      expect(report.filters?.words).toBe("after:yesteryear source:nowhere ginger");
      expect(report.filters?.unread).toEqual([
        expect.stringMatching(/^after:yesteryear is searched as words: it is not a time such as 2026-03-05/u),
        `source:nowhere is searched as words: the sources are memory, sessions, journal, ${clientSources.join(", ")}`,
      ]);
      expect((await askIn(memory, "ginger")).report.filters).toBeUndefined();
    });

    test("a time that cannot be read is an error that names the argument and the forms it takes", async () => {
      for (const [options, message] of refused)
        await expect(memory.search("heat", options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message });
    });

    test.skipIf(!isCrowded)(`three results behind ${crowd} better ones outside of the filter are found`, async () => {
      const rare = ["few/0.md", "few/1.md", "few/2.md"];
      expect((await askIn(memory, "otter")).paths.filter((each) => rare.includes(each))).toEqual([]);
      for (const [query, options] of few) {
        const paths = await found(query, options);
        expect([query, paths.filter((each) => rare.includes(each))]).toEqual([query, rare]);
        expect(paths.filter((each) => each.startsWith("crowd"))).toEqual([]);
        if (!byMeaning) expect(paths).toEqual(rare);
      }
      const newest = await askIn(memory, "otter", { order: "newest", maxResults: 3 });
      expect(newest.paths).toEqual(rare.toReversed());
    });
  });
}
