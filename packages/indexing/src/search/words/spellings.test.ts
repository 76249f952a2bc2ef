import { describe, expect, test } from "vitest";
import { loadCharacterVariants, otherCharacters } from "./chinese-characters.ts";
import { joinedWords, splitWord } from "./compounds.ts";
import { oneErrorAway, otherSpellings } from "./spellings.ts";

/** Optimal string alignment, letter by letter: slow and plain. */
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
  test.each([
    ["postgress", "postgres"],
    ["recieve", "receive"],
    ["calender", "calendar"],
    ["ferrry", "ferry"],
    ["ernst", "ernest"],
    ["xpostgres", "postgres"],
    ["пивт", undefined],
    ["превет", "привет"],
  ])("%s has %s among the words that are one error away", (typed, meant) => {
    const others = oneErrorAway(typed);
    if (meant === undefined) expect(others).toEqual([]);
    else expect(others).toContain(meant);
  });

  test("every word that is given is one error away, and each is given once", () => {
    for (const word of ["postgress", "ferry", "привет", "abcde"]) {
      const others = oneErrorAway(word);
      expect(new Set(others).size).toBe(others.length);
      expect(others.filter((other) => distance(word, other) !== 1)).toEqual([]);
    }
  });

  test("all words at one error of a word of seven letters are given", () => {
    const letters = "abcdefghijklmnopqrstuvwxyz";
    // By formula: 7 left out, 26 x 8 put in (7 of them twice), 25 x 7 others, 6 swapped.
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
  test.each([
    ["Mueller", "mueller", "muller"],
    ["Müller", "muller", "mueller"],
    ["Aarhus", "aarhus", "arhus"],
    ["Århus", "arhus", "aarhus"],
    ["Lodz", "lodz", "łodz"],
    ["Tromso", "tromso", "tromsø"],
    ["Tromsø", "tromsø", "tromsoe"],
  ])("%s may be written %s or %s", (written, folded, other) => {
    expect(otherSpellings(written, folded)).toContain(other);
    expect(otherSpellings(written, folded)).not.toContain(folded);
  });

  test("two words may be one, and in languages that join them with letters between and in either order", () => {
    expect(joinedWords("ice", "cream", false)).toEqual(["icecream"]);
    expect(joinedWords("frist", "steuer", true)).toContain("steuerfrist");
    expect(joinedWords("arbeit", "zeit", true)).toContain("arbeitszeit");
    expect(joinedWords("at", "home", true)).toEqual([]);
  });

  test("a word may be two, each of three letters or more", () => {
    expect(splitWord("icecream", false)).toContainEqual(["ice", "cream"]);
    expect(splitWord("arbeitszeit", true)).toContainEqual(["arbeit", "zeit"]);
    expect(splitWord("arbeitszeit", false)).not.toContainEqual(["arbeit", "zeit"]);
    for (const [head, tail] of splitWord("donaudampfschiff", true))
      expect(Math.min(head.length, tail.length)).toBeGreaterThan(2);
    expect(splitWord("house", true)).toEqual([]);
  });

  test.each([
    ["数据", "數據"],
    ["數據", "数据"],
    ["头发", "頭髮"],
    ["发展", "發展"],
    ["里面", "裡面"],
    ["后天", "後天"],
  ])("%s may be written %s", async (run, other) => {
    expect(otherCharacters(run, await loadCharacterVariants())).toContain(other);
  });
});
