import type { WordsAround } from "../grammar/words-around.ts";

const never = /(?!)/;

/** What stands around times in Chinese. What is said behind a time, such as 以来, is read with it. */
export const chineseWords: WordsAround = {
  name: "chinese",
  joins: /^的?$/,
  counted: never,
  ordinalOf: () => 0,
  parts: [],
  to: /^\s*(?:到|至|-)\s*$/,
  and: /^[和与跟]$/,
  between: /在$/,
  betweenOrFrom: /[从自在]$/,
  since: never,
  before: never,
  after: never,
  until: never,
  distance: { before: never, after: never },
  numberOf: () => undefined,
  unitOf: () => undefined,
  serving: /[在从于]$/,
  filler: never,
};
