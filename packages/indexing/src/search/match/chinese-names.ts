import { lazily } from "@memslot/core";
import { zh } from "../../text/languages/files.ts";

/**
 * The commonest family names; those that are as often a word of their own (钱, 马, 方, 高), which are a name only with a title
 * behind them; and those of two characters.
 */
const [familyNames, otherFamilyNames] = [new Set(zh.names.family), new Set(zh.names.otherFamily)];
const doubleNames = new Set(zh.names.double.split(" "));
/** Titles; and what stands behind a name and is no part of one. */
const [titles, noGivenName] = [new RegExp(zh.names.titles, "u"), new RegExp(zh.names.noGivenName, "u")];

const numbered = /[一二两兩三四五六七八九十几幾这這那每多半\d]$/u;

export interface ChineseName {
  name: string;
  /** The characters that tell it from others: what is behind them may belong to the next word. */
  pairs: readonly string[];
}

const segmenter = lazily(() => new Intl.Segmenter("zh", { granularity: "word" }));

/**
 * The names of people in a Chinese question, where nothing sets them apart in writing: a family name with what no word is
 * made of behind it (`王|芳`, `李|小龙`), or with a title (`陈医生`), or with 老, 小 or 阿 before it.
 */
export function chineseNames(query: string): ChineseName[] {
  if (!/\p{Script=Han}/u.test(query)) return [];
  const words = [...segmenter().segment(query)].map(({ segment }) => segment);
  const names: ChineseName[] = [];
  for (let at = 0; at < words.length; at++) {
    const [before, word, next] = [words[at - 1] ?? "", words[at] ?? "", words[at + 1] ?? ""];
    // 两张门票, 第三周: a measure word.
    if (numbered.test(before)) continue;
    const isDouble = doubleNames.has(word);
    const isFamily = familyNames.has(word) || isDouble;
    const given = isFamily ? givenName(next, words[at + 2] ?? "") : "";
    if ((isFamily || otherFamilyNames.has(word)) && titles.test(next)) names.push(nameOf(word + next, isDouble));
    else if (given !== "") names.push(nameOf(word + given, isDouble));
    else if (/^[老小阿]\p{Script=Han}$/u.test(word) && familyNames.has(word.slice(1))) names.push(nameOf(word, false));
    else if (/^[老小阿]$/u.test(word) && familyNames.has(next)) names.push(nameOf(word + next, false));
  }
  return names;
}

function nameOf(name: string, isDouble: boolean): ChineseName {
  const pairs = isDouble ? [name.slice(0, 2), name.slice(1, 3)] : [name.slice(0, 2)];
  return { name, pairs };
}

/** What stands behind a family name and is no word, without what does not belong to it: 芳和 is 芳. */
function givenName(first: string, second: string): string {
  if (!/^\p{Script=Han}{1,2}$/u.test(first) || noGivenName.test(first)) return "";
  if (first.length === 2) return noGivenName.test(first.slice(1)) ? first.slice(0, 1) : first;
  const isLonger = /^\p{Script=Han}$/u.test(second) && !noGivenName.test(second);
  return first + (isLonger ? second : "");
}
