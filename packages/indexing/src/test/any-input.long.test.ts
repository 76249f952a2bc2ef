import { test } from "vitest";
import { expectSoundPassages } from "../search/test/ranked.ts";
import { expectAnyQueryIsAnswered } from "../search/test/search-lab.ts";
import { expectLinearTime, expectSoundRedaction } from "../secrets/test/redaction-checks.ts";
import { expectSameChunksInPieces } from "../sources/test/transcripts.ts";
import {
  expectDaysReadBack,
  expectSoundCharacters,
  expectSoundChunks,
  expectSoundPieces,
  expectSoundTerms,
} from "../text/test/any-text.ts";

/** The checks of random inputs that quick tests make with few of them, with many. */
test.each([
  ["6,000 texts are redacted once and keep their lines", () => expectSoundRedaction({ seed: 5, texts: 6000 })],
  ["texts of 200,000 characters are redacted in linear time", () => expectLinearTime(200_000)],
  ["2,000 texts of Markdown are cut into sound chunks", () => expectSoundChunks({ seed: 43, texts: 2000 })],
  ["3,000 long lines are cut into sound pieces", () => expectSoundPieces({ seed: 6, lines: 3000 })],
  ["10,000 texts have sound terms", () => expectSoundTerms({ seed: 20_260_305, texts: 10_000 })],
  ["every character of Unicode has sound terms", () => expectSoundCharacters({ every: 1, texts: 10_000 })],
  ["500 days read back from every way to write them", () => expectDaysReadBack({ seed: 12, days: 500 })],
  ["5,000 queries are answered", () => expectAnyQueryIsAnswered({ seed: 78, queries: 5000 })],
  ["the answers of 1,000 queries are sound passages", () => expectSoundPassages({ seed: 8, queries: 1000 })],
  ["100 transcripts give the same chunks in pieces", () => expectSameChunksInPieces({ seed: 100, transcripts: 100 })],
])("%s", { timeout: 600_000 }, async (_, expectHolds) => {
  await expectHolds();
});
