import { expect, test } from "vitest";
import { expectBetter, expectUnchangedByNoise, indexed, notes, wordsOnly } from "../support/hybrid-search-checks.ts";

test.each([
  ["memory-core", 1],
  ["memory-lancedb", 2],
  ["reference", 2],
] as const)("%s: vectors that mean nothing leave the search by words, in 99 of 100 questions", async (slot, every) => {
  const noise = await indexed("noise", notes, slot);
  await expectUnchangedByNoise(noise, await noise.firsts(every, wordsOnly), every);
});

test("good vectors put more right notes first than words, weak ones no fewer", async () => {
  const [words, weak, great] = [
    await indexed("noise"),
    await indexed("hashed words"),
    await indexed("simulated, great"),
  ];
  expectBetter(
    { words: await words.firsts(1, wordsOnly), weak: await weak.firsts(1), great: await great.firsts(1) },
    1,
  );
  expect(words.status.embedding?.meaning?.weight).toBe(0);
});
