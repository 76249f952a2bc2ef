import { expect, test } from "vitest";
import { partsOf } from "./score-parts.ts";

type Scored = Parameters<typeof partsOf>[0];

const found: Scored = {
  score: 0.8,
  textScore: 0.8,
  vectorScore: undefined,
  keywordWeight: 10,
  nameWeight: 4,
  timeWeight: 1,
  timeMatch: 0,
};
const byWords = { isOnlyTime: false, meaning: undefined };

function sum(parts: ReturnType<typeof partsOf>): number {
  return Object.values(parts).reduce((all, part) => all + part, 0);
}

test("what words have found has the shares of its weights", () => {
  const parts = partsOf(found, byWords);
  expect(parts.names).toBeCloseTo(0.32);
  expect(parts.times).toBeCloseTo(0.08);
  expect(parts.words).toBeCloseTo(0.4);
  expect(parts.meaning).toBe(0);
});

test("meaning has its share of a score of both, and nothing where it is not nearer than usual", () => {
  const meaning = { mean: 0.2, rate: 1 };
  const both = partsOf({ ...found, vectorScore: 0.6 }, { isOnlyTime: false, meaning });
  expect(both.meaning).toBeCloseTo((0.8 * 0.4) / 1.2);
  expect(sum(both)).toBeCloseTo(0.8);
  expect(partsOf({ ...found, vectorScore: 0.1 }, { isOnlyTime: false, meaning }).meaning).toBe(0);
  const alone = { ...found, textScore: undefined, keywordWeight: 0, nameWeight: 0, timeWeight: 0, score: 0.4 };
  expect(partsOf({ ...alone, vectorScore: 0.5 }, { isOnlyTime: false, meaning }).meaning).toBeCloseTo(0.4);
  expect(partsOf({ ...alone, vectorScore: 0.1 }, { isOnlyTime: false, meaning }).meaning).toBeCloseTo(0.4);
  const onlyMeaning = { isOnlyTime: false, meaning: { mean: 0.2, rate: Infinity } };
  expect(partsOf({ ...found, vectorScore: 0.6 }, onlyMeaning).meaning).toBe(0.8);
});

test("a question that is nothing but a time is answered by the time", () => {
  expect(partsOf({ ...found, timeMatch: 1 }, { isOnlyTime: true, meaning: undefined })).toEqual({
    words: 0,
    names: 0,
    times: 0.8,
    meaning: 0,
  });
});
