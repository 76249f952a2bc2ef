import { describe, expect, test } from "vitest";
import type { LanguageCode } from "../../text/languages/detect-language.ts";
import { LanguageMemory } from "./word-source.ts";
import { loadCharacterVariants, oneErrorAway, otherCharacters, otherSpellings } from "./correct-terms.ts";
import tables from "../test/names.json" with { type: "json" };

describe("one typing error", () => {
  test.each(tables.typos as [string, string?][])(
    "%s has %s among the words that are one error away",
    (typed, meant) => {
      const others = oneErrorAway(typed);
      if (meant === undefined) expect(others).toEqual([]);
      else expect(others).toContain(meant);
    },
  );

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
