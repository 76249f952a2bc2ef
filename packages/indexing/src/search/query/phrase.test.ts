import { expect, test } from "vitest";
import { collectChecks } from "../../../test/support/collect-checks.ts";
import { randomFrom, randomSentence } from "@memslot/test-tools/random";
import { holdsPhrase, phraseOf } from "./phrase.ts";

const holds = (text: string, phrase: string): boolean => holdsPhrase(phraseOf(text), phraseOf(phrase));

test.each([
  ["the heat pump runs", "heat pump", true],
  ["the Heat\nPUMPS run", "heat pump", true],
  ["heat. Pump", "heat pump", true],
  ["heat of the pump", "heat pump", false],
  ["pump heat", "heat pump", false],
  ["heat", "heat pump", false],
  ["to be or not to be", "not to be", true],
  ["we be to", "to be", false],
  ["heat heat pump", "heat pump", true],
  ["ticket QX-7919 is open", "QX-7919 is", true],
  ["ticket QX 7919 is open", "QX-7919 is", true],
  ["ticket QX-7918 is open", "QX-7919", false],
  ["the memorySearch key", "memorysearch key", true],
  ["the memorysearch key", "memorySearch key", true],
  ["the memory search key", "memorySearch key", true],
  ["a memorysearching key", "memory search key", false],
  ["written in c++ today", "in c++ today", true],
  ["written in c today", "in c++ today", false],
  ["written in c# today", "c++", false],
  ["written in c++ today", "in c today", true],
  ["热泵系统很安静", "热泵系统", true],
  ["热泵系统很安静", "系统很", true],
  ["热泵系统很安静", "热系统", false],
  ["热，泵", "热泵", true],
  ["我用 SQLite 数据库", "用 SQLite 数据", true],
  ["café crème", "cafe creme", true],
  ["anything", "…!", false],
  ["", "heat", false],
])("%j with the phrase %j: %s", (text, phrase, expected) => {
  expect(holds(text, phrase)).toBe(expected);
});

test("500 random texts hold every run of their own words, and none with a word that they do not have", () => {
  const random = randomFrom(7);
  const { wrong, check } = collectChecks();
  for (let round = 0; round < 500; round++) {
    const text = randomSentence(random, 40);
    const words = text.split(/\s+/u).filter(Boolean);
    const from = random.below(words.length);
    const run = words.slice(from, from + 1 + random.below(5)).join(" ");
    if (phraseOf(run).words.length > 0) check(holds(text, run), `round ${round}: ${run} in ${text}`);
    check(!holds(text, `${run} zyzzyva`), `round ${round}: ${run} zyzzyva in ${text}`);
  }
  expect(wrong).toEqual([]);
});
