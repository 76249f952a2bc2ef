import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { partnerPairs } from "./partner-pairs.ts";
import { scanTerms } from "../text/words.ts";
import { randomFrom, randomSentence } from "@memslot/test-tools/random";

function chunkOf(text: string): { hash: string; text: string } {
  return { hash: createHash("sha256").update(text).digest("hex"), text };
}

function termsOf(text: string): Set<string> {
  const terms = new Set<string>();
  scanTerms(text, (term) => void terms.add(term));
  return terms;
}

test("no word stands on both sides, in any of 300 pairs", () => {
  const random = randomFrom(2);
  const chunks = Array.from({ length: 300 }, () =>
    chunkOf(Array.from({ length: 6 }, () => `- ${randomSentence(random, 14)}.`).join("\n")),
  );
  const pairs = partnerPairs(chunks, 1000);
  expect(pairs.length).toBeGreaterThan(100);
  for (const { sentence, rest } of pairs)
    expect([...termsOf(sentence).intersection(termsOf(rest))], `${sentence} | ${rest}`).toEqual([]);
});

test("a sentence is taken out of Chinese as well, and pairs are no longer than they may be", () => {
  const text =
    "昨天在书店买了新的电脑和一本书。电视机坏了，图书馆的老师打来电话。书包里有一台旧电脑。店里的脑力游戏很新。";
  const [pair] = partnerPairs([chunkOf(text)], 1);
  expect(text).toContain(pair?.sentence);
  expect([...termsOf(pair?.sentence ?? "").intersection(termsOf(pair?.rest ?? ""))]).toEqual([]);
  // A character is a word to some.
  expect([...(pair?.rest ?? "")].filter((sign) => /\p{L}/u.test(sign) && pair?.sentence.includes(sign))).toEqual([]);
  const long = Array.from({ length: 8 }, (_, line) =>
    Array.from({ length: 200 }, (_, word) => `word${line}x${word}`).join(" "),
  ).join("\n");
  for (const { sentence, rest } of partnerPairs([chunkOf(long)], 1))
    expect([sentence.length, rest.length]).toEqual([400, 400]);
});

test("the same chunks give the same pairs, so many as are wanted and one of each chunk", () => {
  const random = randomFrom(4);
  const chunks = Array.from({ length: 50 }, () =>
    chunkOf(Array.from({ length: 5 }, () => randomSentence(random, 12)).join("\n")),
  );
  expect(partnerPairs(chunks, 7)).toHaveLength(7);
  expect(partnerPairs(chunks, 7)).toEqual(partnerPairs(chunks, 7));
});

test("what is one sentence, or says the same twice, or nothing, gives none", () => {
  const texts = [
    "",
    "# Title",
    "Only one sentence with several words stands here.",
    "The boiler was serviced by Brandt in March.\nThe boiler was serviced by Brandt in March.",
    "---\n\n---\n\n- a\n- b\n- c",
  ];
  expect(partnerPairs(texts.map(chunkOf), 10)).toEqual([]);
});
