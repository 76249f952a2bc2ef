import { askDiaries, namesDay } from "@memslot/bench/diary-retrieval";
import { expect, test } from "vitest";

test("the day that a question names comes first", { timeout: 60_000 }, async () => {
  const asked = (await askDiaries()).filter(namesDay);
  expect(asked.length).toBe(132);
  expect(asked.filter(({ inSix }) => !inSix).map(({ question }) => question.query)).toEqual([]);
  expect(asked.filter(({ first }) => first).length).toBeGreaterThanOrEqual(Math.ceil(0.92 * asked.length));
});
