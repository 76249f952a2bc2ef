import { describe, expect, test } from "vitest";
import type { LanguageCode } from "../../text/languages/languages.ts";
import { LanguageMemory } from "./word-source.ts";
import {
  joinedWords,
  loadCharacterVariants,
  oneErrorAway,
  otherCharacters,
  otherSpellings,
  splitWord,
} from "./correct-terms.ts";
import tables from "../test/names.json" with { type: "json" };

function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      let best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(i - 2, j - 2) + 1);
      (rows[i] as number[])[j] = best;
    }
  return at(a.length, b.length);
}

describe("one typing error", () => {
  test.each(tables.typos as [string, string?][])(
    "%s has %s among the words that are one error away",
    (typed, meant) => {
      const others = oneErrorAway(typed);
      if (meant === undefined) expect(others).toEqual([]);
      else expect(others).toContain(meant);
    },
  );

  test("every word that is given is one error away, and each is given once", () => {
    for (const word of ["postgress", "ferry", "привет", "abcde"]) {
      const others = oneErrorAway(word);
      expect(new Set(others).size).toBe(others.length);
      expect(others.filter((other) => distance(word, other) !== 1)).toEqual([]);
    }
  });

  test("all words at one error of a word of seven letters are given", () => {
    const letters = "abcdefghijklmnopqrstuvwxyz";
    // By formula: 7 deletions, 26 x 8 put in (7 of them twice), 25 x 7 others, 6 swapped.
    expect(oneErrorAway("plankto")).toHaveLength(7 + letters.length * 8 - 7 + 25 * 7 + 6);
  });

  test("a short word, a number, a very long one and another script have none", () => {
    for (const word of ["heat", "qx7919", "a".repeat(25), "数据库", "ab-cd-ef"]) expect(oneErrorAway(word)).toEqual([]);
  });

  test("of a word of five or six letters the first is taken to be right", () => {
    expect(oneErrorAway("bread")).not.toContain("tread");
    expect(oneErrorAway("bread")).toContain("break");
  });
});

describe("other ways to write a word", () => {
  test.each(tables.spellings)("%s may be written %s or %s", (written, folded, other) => {
    expect(otherSpellings(written, folded)).toContain(other);
    expect(otherSpellings(written, folded)).not.toContain(folded);
  });

  test("two words may be one, and in languages that join them with letters between and in either order", () => {
    expect(joinedWords("ice", "cream", false)).toEqual(["icecream"]);
    for (const [first, second, joined] of tables.joined as [string, string, string][])
      expect(joinedWords(first, second, true)).toContain(joined);
    expect(joinedWords("a", "b", true)).toEqual([]);
  });

  test("a word may be two, each of three letters or more", () => {
    expect(splitWord("icecream", false)).toContainEqual(["ice", "cream"]);
    expect(splitWord("arbeitszeit", true)).toContainEqual(["arbeit", "zeit"]);
    expect(splitWord("arbeitszeit", false)).not.toContainEqual(["arbeit", "zeit"]);
    for (const [head, tail] of splitWord("donaudampfschiff", true))
      expect(Math.min(head.length, tail.length)).toBeGreaterThan(2);
    expect(splitWord("house", true)).toEqual([]);
  });

  test.each(tables.characters)("%s may be written %s", async (run, other) => {
    expect(otherCharacters(run, await loadCharacterVariants())).toContain(other);
  });
});

describe("the languages of the notes", () => {
  /** Counts how often languages were counted. */
  const counting = (): { ask: (...given: Given) => Promise<readonly LanguageCode[]>; count(): number } => {
    const memory = new LanguageMemory();
    let times = 0;
    const count = (held: LanguageCode[]) => async (): Promise<LanguageCode[]> => {
      times++;
      return held;
    };
    return {
      ask: (places, revision, held = ["de"], isWhole = true) => memory.of(places, revision, count(held), () => isWhole),
      count: () => times,
    };
  };
  type Given = [places: unknown, revision: string | undefined, held?: LanguageCode[], isWhole?: boolean];

  test("are counted once for each state of the index and each scope", async () => {
    const { ask, count } = counting();
    for (let round = 0; round < 3; round++) expect(await ask(false, "1")).toEqual(["de"]);
    expect(await ask([{ source: "memory", scope: { within: ["shared/"], without: [] } }], "1", [])).toEqual([]);
    expect([await ask(false, "1"), count()]).toEqual([["de"], 2]);
    expect(await ask(false, "2", ["de", "fr"])).toEqual(["de", "fr"]);
    expect([await ask(false, "2", []), count()]).toEqual([["de", "fr"], 3]);
  });

  test("are counted each time where the index has no revision, and while its words are rebuilt", async () => {
    const { ask, count } = counting();
    for (let round = 0; round < 2; round++) await ask(false, undefined);
    expect(await ask(false, "1", [], false)).toEqual([]);
    expect([await ask(false, "1", ["de"]), count()]).toEqual([["de"], 4]);
  });

  test("are kept for the last twenty scopes, and for none that names thousands of paths", async () => {
    const { ask, count } = counting();
    for (const scope of [
      ...Array(40).keys(),
      ...Array(20)
        .keys()
        .map((at) => at + 20),
      0,
    ])
      await ask(scope, "1");
    expect(count()).toBe(41);
    const long = Array.from({ length: 3000 }, (_, index) => `note-${index}.md`);
    for (let round = 0; round < 2; round++) await ask(long, "1");
    expect(count()).toBe(43);
  });
});
