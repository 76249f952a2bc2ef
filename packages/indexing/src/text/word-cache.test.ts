import { expect, test } from "vitest";
import { randomFrom, randomText } from "@memslot/test-tools/random";
import { addToHash, WordCache } from "./word-cache.ts";
import { scanTerms } from "./words.ts";

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

test("a word that was met before has the same terms at the same places, alone and joined: 1,000 texts, twice", () => {
  const random = randomFrom(15);
  const texts = [
    "IT is it. It, IT’S and it's",
    "WHO IS IT THAT WE ASKED",
    "c c++ c# f# go+ C++ x+y",
    "running Running RUNNING run-ning run_ning runNing",
    "soft\u00adhyphen softhyphen Häuser Ha\u0308user",
    `${"long".repeat(20)} ${"long".repeat(15)} ${"long".repeat(16)}`,
    ...Array.from({ length: 1000 }, () => randomText(random, 60)),
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
