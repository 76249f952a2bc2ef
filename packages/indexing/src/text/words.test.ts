import { describe, expect, test } from "vitest";
import { queryTerms, scanTerms, type TermKind } from "./words.ts";
import { expectSoundCharacters, expectSoundTerms } from "./test/any-text.ts";
import tables from "./test/words.json" with { type: "json" };
import { randomFrom, randomText } from "@memslot/test-tools/random";
import { addToHash, WordCache } from "./word-cache.ts";

interface Found {
  term: string;
  text: string;
  kind: TermKind;
}

function scan(text: string): Found[] {
  const found: Found[] = [];
  scanTerms(text, (term, start, end, kind) => found.push({ term, text: text.slice(start, end), kind }));
  return found;
}

function terms(text: string): string[] {
  return scan(text).map(({ term }) => term);
}

function asked(query: string): string[] {
  return queryTerms(query).map(({ term }) => term);
}

/** Whether a chunk with this text would be found by each term of the query. */
function finds(query: string, text: string): boolean {
  const indexed = new Set(terms(text));
  return queryTerms(query).every(({ term, prefix }) =>
    prefix ? [...indexed].some((known) => known.startsWith(term)) : indexed.has(term),
  );
}

test.each(tables.found as [string, string, boolean][])("%j is found in %j: %s", (query, text, expected) => {
  expect(queryTerms(query).length).toBeGreaterThan(0);
  expect(finds(query, text)).toBe(expected);
});

test.each(tables.terms as [string, string[]][])("the terms of %j are %j", (text, expected) => {
  expect(terms(text)).toEqual(expected);
});

test.each(tables.asked as [string, string[]][])("the query %j asks for %j", (query, expected) => {
  expect(asked(query)).toEqual(expected);
});

test.each(tables.identifiers as [string, string[]][])("%s stands whole and in its parts", (text, expected) => {
  expect(terms(text).toSorted()).toEqual(expected.toSorted());
});

test.each(tables.same as [string, string][])("%s has the same terms as %s", (text, other) => {
  expect(terms(text)).toEqual(terms(other));
});

test.each(tables.composed)("%s has the same terms composed and decomposed", (text) => {
  expect(terms(text.normalize("NFD"))).toEqual(terms(text.normalize("NFC")));
});

test.each(["c++", "C#", "f#", "g++"])("%s keeps the punctuation that makes its name", (name) => {
  expect(terms(`we use ${name}, mostly`)).toContain(name.toLowerCase());
  expect(queryTerms(name)).toContainEqual(expect.objectContaining({ term: name.toLowerCase(), identifier: true }));
});

test.each(["iPhone", "YouTube", "FaceTime", "JavaScript", "WhatsApp"])("%s is found in small letters, too", (name) => {
  expect(terms(`she uses ${name.toLowerCase()} a lot`)).toContain(queryTerms(name).at(-1)?.term);
});

test("identifiers are marked as meant as written, and a single character as the beginning of a word", () => {
  const marked = queryTerms("QX-7919 server memorySearch 42").filter((entry) => entry.identifier);
  expect(marked.map(({ term }) => term)).toEqual(["7919", "qx-7919", "42"]);
  const single = { term: "中", prefix: true, kind: "single", identifier: false, written: "中" };
  expect(queryTerms("中")).toEqual([single]);
});

test("a run of more than 100 characters has no term for the whole, and half a character is no word", () => {
  expect(scan(`example.org/${"part/".repeat(30)}end`).filter(({ kind }) => kind === "whole")).toEqual([]);
  for (const text of ["\ud800", "\udc00\ud800"]) expect(terms(text)).toEqual([]);
});

test("a query has at most 64 terms, the first ones", () => {
  const query = Array.from({ length: 500 }, (_, index) => `word${index}`).join(" ");
  expect(asked(query)).toEqual(Array.from({ length: 64 }, (_, index) => `word${index}`));
  expect(asked(`长长文${"短句".repeat(4000)}`).length).toBeLessThanOrEqual(64);
});

describe("offsets", () => {
  test("each term stands for the text it was made of", () => {
    const found = scan("Wir trafen Müller (QX-7919) in 東京タワー, fooBar_baz, 𠮷野家 und it’s C++!");
    const textOf = (term: string): string | undefined => found.find((entry) => entry.term === term)?.text;
    for (const [term = "", text] of tables.textsOfTerms) expect(textOf(term), term).toBe(text);
  });

  test("a term whose characters were joined stands for its whole run", () => {
    expect(scan("あ ｶﾞｿﾘﾝ!").find(({ term }) => term === "ガソ")?.text).toBe("ｶﾞｿﾘﾝ");
  });

  test("a very long word is cut, and no character in it", () => {
    const found = scan(`${"x".repeat(63)}${"𐐀".repeat(40)}`);
    expect(found).toHaveLength(1);
    expect(found[0]?.term.isWellFormed()).toBe(true);
    expect(found[0]?.text).toHaveLength(143);
  });
});

describe("any text", () => {
  test("each single character of Unicode up to Kana, and every 17th behind, gives terms without white space; composed and decomposed texts give the same", () => {
    expectSoundCharacters({ every: 17, texts: 500 });
  });

  test("1,000 random strings: terms are sound, and a text's own words find it", () => {
    expectSoundTerms({ seed: 20_260_305, texts: 1000 });
  });
});

describe("words that were met before", () => {
  function hashOf(word: string): number {
    let hash = 0;
    for (let index = 0; index < word.length; index++) hash = addToHash(hash, word.charCodeAt(index));
    return hash;
  }

  function termsOf(text: string): string[] {
    const terms: string[] = [];
    scanTerms(text, (term, start, end, kind) => terms.push(`${term} ${start} ${end} ${kind}`));
    return terms;
  }

  /** Two words with the same hash, which anybody can write. */
  const twins = ["a\u045f", "b\u0440"];

  test("words with the same hash are told apart, in the cache and in a text", () => {
    expect(hashOf(twins[0] ?? "")).toBe(hashOf(twins[1] ?? ""));
    const cache = new WordCache();
    const all = Array.from({ length: 2 ** 5 }, (_, bits) =>
      Array.from({ length: 5 }, (__, at) => twins[(bits >> at) & 1]).join(""),
    );
    expect(new Set(all.map(hashOf)).size).toBe(1);
    for (const word of all) cache.set(word, hashOf(word), `value of ${word}`);
    const found = all.map((word) => cache.get(`x ${word} y`, 2, 2 + word.length, hashOf(word)));
    // No more than eight of them have a place; none has the value of another.
    expect(found.filter((value) => value !== undefined)).toHaveLength(8);
    for (const [index, value] of found.entries()) if (value !== undefined) expect(value).toBe(`value of ${all[index]}`);
    for (const word of [...all, ...all]) expect(termsOf(word)).toEqual([`${word} 0 ${word.length} word`]);
  });

  test("more words than are kept push others out and change none", () => {
    const cache = new WordCache();
    for (let index = 0; index < 120_000; index++) cache.set(`w${index}`, hashOf(`w${index}`), String(index));
    let kept = 0;
    const wrong: string[] = [];
    for (let index = 0; index < 120_000; index++) {
      const value = cache.get(`w${index}`, 0, `w${index}`.length, hashOf(`w${index}`));
      if (value === undefined) continue;
      kept++;
      if (value !== String(index)) wrong.push(`w${index}: ${value}`);
    }
    expect(wrong).toEqual([]);
    expect(kept).toBeGreaterThan(10_000);
    expect(kept).toBeLessThanOrEqual(50_000);
  });

  test("a word that was met before has the same terms at the same places, alone and joined: 200 texts, twice", () => {
    const random = randomFrom(15);
    const texts = [
      "IT is it. It, IT’S and it's",
      "WHO IS IT THAT WE ASKED",
      "c c++ c# f# go+ C++ x+y",
      "running Running RUNNING run-ning run_ning runNing",
      "soft\u00adhyphen softhyphen Häuser Ha\u0308user",
      `${"long".repeat(20)} ${"long".repeat(15)} ${"long".repeat(16)}`,
      ...Array.from({ length: 200 }, () => randomText(random, 60)),
    ];
    const cold = texts.map(termsOf);
    expect(texts.filter((text, index) => termsOf(text).join("\n") !== cold[index]?.join("\n"))).toEqual([]);
    // In other surroundings, too: what stands before and behind is no part of a word.
    for (const [index, text] of texts.slice(0, 6).entries())
      expect(termsOf(` ${text}`)).toEqual(cold[index]?.map((term) => moved(term)));
  });

  function moved(term: string): string {
    return term.replace(
      / (\d+) (\d+) (\w+)$/u,
      (_, start, end, kind) => ` ${Number(start) + 1} ${Number(end) + 1} ${kind}`,
    );
  }
});
