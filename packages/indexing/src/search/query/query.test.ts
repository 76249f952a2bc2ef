import { describe, expect, test } from "vitest";
import { collectChecks } from "../../../test/support/collect-checks.ts";
import { randomFrom } from "@memslot/test-tools/random";
import { indexTerms, scanTerms } from "../../text/index-terms.ts";
import { holdsPhrase, parseQuery, phraseOf, type QueryPart } from "./parse-query.ts";
import tables from "./test/queries.json" with { type: "json" };
import { isoDate } from "../../text/times/calendar.ts";
import { row } from "../test/ranked.ts";
import { daysOfChunk, daysOfLine, linesWithin, fitsTags } from "./chunk-filter.ts";
import type { ManagerSearchOptions, MemorySearchResult } from "@memslot/core";
import { searchOptions, settingsWith } from "../../../test/support/context.ts";
import { createFakeStore } from "../../../test/support/fake-store.ts";
import type { NoteIndex } from "../../note-index.ts";
import type { IndexedFile } from "../../index-row-types.ts";
import { askedQuery, readDays } from "./query-filters.ts";
import { searchFiltered } from "./filtered-search.ts";

test.each(tables.twoWords as [string, boolean][])("%s fits a tag of two words: %s", (context, expected) => {
  const asked = askedQuery('tag:"two  words"', searchOptions(), new Date());
  expect(fitsTags({ context }, asked)).toBe(expected);
});

describe("a query", () => {
  /** Short: words as they are, phrases in «», what is excluded behind a minus, filters in []. */
  function read(query: string): string {
    return parseQuery(query)
      .map((part) => {
        if (part.kind === "words") return part.text;
        const minus = part.isExcluded ? "-" : "";
        return part.kind === "phrase" ? `${minus}«${part.value}»` : `${minus}[${part.name}=${part.value}]`;
      })
      .join(" | ");
  }

  describe("reads", () => {
    test.each(tables.reads as [string, string][])("%s", (query, expected) => {
      expect(read(query)).toBe(expected);
    });
  });

  describe("what cannot be read as anything else is words", () => {
    test.each(tables.words)("%j", (query) => {
      expect(parseQuery(query).map(({ kind }) => kind)).toEqual(query.trim() === "" ? [] : ["words"]);
      expect(read(query)).toBe(query.trim());
    });
  });

  const pieces = [
    ..."abcXYZ0189 \t\n-–:：\"“”„«»「」『』()*?[]{}#/\\.,;!'’+_~^|&@$%家热泵ñß🙂\u200b\ud800",
    ...tables.pieces,
  ];

  function wordsOf(text: string): string[] {
    const words: string[] = [];
    // A pair across a mark is none: characters of such scripts are compared one by one.
    scanTerms(text, (term, _start, _end, kind) => {
      // An emoji is a word only in a part without any other.
      if (kind === "word") words.push(...(/\p{Extended_Pictographic}/u.test(term) ? [] : [term]));
      else if (kind === "pair" || kind === "single") words.push([...term][0] ?? "");
    });
    return words.toSorted();
  }

  function written(part: QueryPart): string {
    return part.kind === "filter" ? `${part.name}: ${part.value}` : part.kind === "phrase" ? part.value : part.text;
  }

  test("300 random texts are all read, with every part where it stands and no word lost or made up", () => {
    const random = randomFrom(38);
    const { wrong, check } = collectChecks();
    const kinds = new Map<string, number>();
    for (let round = 0; round < 300; round++) {
      const query = Array.from({ length: random.below(24) }, () => random.pick(pieces)).join("");
      const parts = parseQuery(query);
      for (const { kind } of parts) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      let at = 0;
      for (const { text } of parts) {
        const found = query.indexOf(text, at);
        check(found >= 0, `round ${round}: ${JSON.stringify(text)} is not in ${JSON.stringify(query)}`);
        at = found + text.length;
      }
      const [before, after] = [wordsOf(query), wordsOf(parts.map(written).join(" \n"))];
      check(
        before.join(" ") === after.join(" "),
        `round ${round}: ${JSON.stringify(query)} gives ${JSON.stringify(parts)}`,
      );
    }
    expect(wrong).toEqual([]);
    expect([...kinds.keys()].toSorted()).toEqual(["filter", "phrase", "words"]);
    for (const count of kinds.values()) expect(count).toBeGreaterThan(15);
  });

  test("a question of 5,000 characters is read in steps that grow with it, whatever it is made of", () => {
    for (const piece of ['"', ' "a', "“", " -", " -a-", "path:", " tag:x", "「", "«»", ' -"', " a-b.c-d_e", "-a'b'c"]) {
      const query = piece.repeat(Math.floor(5000 / piece.length));
      expect(parseQuery(query).map(written).join("").length).toBeGreaterThan(0);
    }
  });
});

describe("a phrase", () => {
  const holds = (text: string, phrase: string): boolean => holdsPhrase(phraseOf(text), phraseOf(phrase));

  test.each(tables.phrases as [string, string, boolean][])("%j with the phrase %j: %s", (text, phrase, expected) => {
    expect(holds(text, phrase)).toBe(expected);
  });
});

describe("days", () => {
  /** A Sunday. */
  const now = new Date(2026, 2, 15, 23, 30);
  const shown = (days: { from: number; to: number } | undefined): string | undefined =>
    days && `${isoDate(days.from)} ${isoDate(days.to)}`;

  test.each(tables.days as [string, string?][])("%j is %s", (text, expected) => {
    expect(shown(readDays(text, now))).toBe(expected);
  });

  const log = "before\n\n## 2023-05-01\n\nfirst\n\n### Details\n\nmore\n\n## 2024-12-24\n\nsecond\n\n## Plans\n\nthird";

  test.each(tables.chunkDays as [string, object, string[]][])("a chunk is of the days of %s", (_, change, expected) => {
    expect(daysOfChunk(row("text", change)).map(shown)).toEqual(expected);
  });

  test("of a chunk with several days each part is of its own, and only the lines asked for are left", () => {
    const chunk = row(log, { startLine: 11 });
    expect(daysOfChunk(chunk).map(shown)).toEqual(["2023-05-01 2023-05-01", "2024-12-24 2024-12-24"]);
    const lines = log.split("\n");
    const lineOf = (text: string): string[] => daysOfLine(chunk, lines.indexOf(text)).map((days) => isoDate(days.from));
    expect(lineOf("more")).toEqual(["2023-05-01"]);
    expect(lineOf("second")).toEqual(["2024-12-24"]);
    const within = (year: string): ReturnType<typeof linesWithin> =>
      linesWithin(chunk, ({ from }) => isoDate(from).startsWith(year));
    expect(within("2023")).toMatchObject(tables.linesOf2023);
    expect(within("2024")).toMatchObject({ startLine: 21, endLine: 23, text: "## 2024-12-24\n\nsecond" });
    expect(within("2025")).toBeUndefined();
    const whole = row("all of it", { path: "2024-12-24.md" });
    expect(linesWithin(whole, () => true)).toBe(whole);
  });
});

describe("a filtered search", () => {
  const now = new Date(2026, 2, 15);

  /** An index of one chunk for each text, and how many rows were read of it. */
  async function indexOf(texts: readonly string[]): Promise<{
    rows: () => number;
    ask: (query: string, change?: Partial<ManagerSearchOptions>) => Promise<MemorySearchResult[]>;
    reason: () => string | undefined;
    unread: () => readonly string[];
  }> {
    const fake = createFakeStore();
    await fake.replaceFiles(
      texts.map((text, at): IndexedFile => {
        const chunk = { startLine: 1, endLine: 1, text, context: "", terms: indexTerms(text), hash: `${at}` };
        return { path: `${at}.md`, source: "memory", hash: text, mtimeMs: 1, size: 1, recipe: "r", chunks: [chunk] };
      }),
    );
    let rows = 0;
    let reason: string | undefined;
    let unread: readonly string[] = [];
    const store: NoteIndex = {
      ...fake,
      async searchKeyword(query) {
        const answer = await fake.searchKeyword(query);
        rows += answer.rows.length;
        return answer;
      },
    };
    return {
      rows: () => rows,
      reason: () => reason,
      unread: () => unread,
      async ask(query, change = {}) {
        rows = 0;
        const options = { ...searchOptions(change), onDebug: () => undefined };
        const asked = askedQuery(query, options, now);
        const input = { settings: settingsWith(), backend: "test", query, options, asked, now, store };
        const { results, report } = await searchFiltered({ ...input, scope: () => undefined, vectors: undefined });
        ({ reason } = report);
        unread = report.filters?.unread ?? [];
        return results;
      },
    };
  }

  test.each(tables.pasted as [string, string[], string[], string[]][])(
    "%s finds only text that it does not exclude, or that contains it literally",
    async (query, texts, found, unread) => {
      const index = await indexOf(texts);
      const paths = (await index.ask(query)).map(({ path }) => path);
      expect([paths.toSorted(), index.unread()]).toEqual([found, unread]);
    },
  );

  test("a phrase is looked for by the word of it that stands in the fewest chunks, however common the others are", async () => {
    const crowd = Array.from({ length: 3000 }, (_, at) => `the house of the house number ${at}`);
    const { ask, rows } = await indexOf([...crowd, "a zebra house stands there"]);
    const found = await ask('"zebra house"');
    expect(found.map(({ path }) => path)).toEqual(["3000.md"]);
    expect(rows()).toBeLessThan(10);
    expect((await ask('"house of the zebra"')).length).toBe(0);
  });

  test("what a filter leaves out is counted, however many notes of short lines it is", async () => {
    const { ask, reason } = await indexOf(
      Array.from({ length: 300 }, (_, at) => `${"river bridge\n".repeat(200)}${at}`),
    );
    expect(await ask("tag:none since:2026")).toEqual([]);
    expect(await ask('"river bridge" tag:none')).toEqual([]);
    expect(reason()).toBe("no note fits all filters; without tag:none 200 results or more");
    expect(await ask("-river path:*.md")).toEqual([]);
    expect(reason()).toContain("without -river 300 results");
  });

  test("what fits is asked for until there is enough, and no further", async () => {
    const crowd = Array.from({ length: 3000 }, (_, at) => `otter otter otter ${at % 2 === 0 ? "holt" : "river"} ${at}`);
    const { ask, rows } = await indexOf(crowd);
    const found = await ask("otter -holt", { maxResults: 5 });
    expect(found.length).toBe(5);
    for (const { snippet } of found) expect(snippet).toContain("river");
    // 100 are compared with the question as it is written; 100 are wanted, and of 400 there are as many that fit.
    expect(rows()).toBeLessThanOrEqual(100 + 100 + 400);
  });
});
