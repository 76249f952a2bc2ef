import { scanTerms } from "../../text/index-terms.ts";

export interface WrittenFilter {
  name: FilterName;
  value: string;
  isExcluded: boolean;
  text: string;
}

type FilterName = "path" | "tag" | "source" | "after" | "before";

export type QueryPart =
  | { kind: "words"; text: string }
  | { kind: "phrase"; value: string; isExcluded: boolean; text: string }
  | ({ kind: "filter" } & WrittenFilter);

const closing: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["“", "”"],
  ["„", '“”"'],
  ["”", "”"],
  ["«", "»"],
  ["»", "«"],
  ["「", "」"],
  ["『", "』"],
  ["＂", "＂"],
]);
/** These say by themselves where they open; the others may be an inch or an apostrophe inside a word. */
const alwaysOpen: ReadonlySet<string> = new Set("“„«「『");

/** Longer text between two marks is not a phrase. */
const longestPhrase = 500;

const filterStart = /(?<minus>-?)(?<name>path|tag|source|after|before)[:：](?=\S)/iuy;
const filterValue = /\S+/uy;
const excludedWord =
  /-(?<word>(?=\p{N}*\p{L}|\d{4})(?:(?:[\p{L}\p{N}][\p{L}\p{M}\p{N}]+(?:['’.@/_+#-][\p{L}\p{M}\p{N}]+)*|[\p{L}\p{N}](?:['’.@/_+#-][\p{L}\p{M}\p{N}]+)+|\p{Lo})(?:\+\+|#)?|\p{L}(?:\+\+|#)))(?=[.,;!?)。，；！？]*(?:\s|$))/uy;
const letterOrDigit = /[\p{L}\p{N}]/u;
const spacedLetter = /[\p{L}\p{N}_]/u;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Parses quoted phrases, excluded words and filters. Any text is a valid query; the rest is words. */
export function parseQuery(query: string): QueryPart[] {
  const parts: QueryPart[] = [];
  let words = "";
  let at = 0;
  const take = (part: QueryPart, end: number): void => {
    if (words.trim() !== "") parts.push({ kind: "words", text: words.trim() });
    words = "";
    parts.push(part);
    at = end;
  };
  while (at < query.length) {
    const isStart = at === 0 || /[\s(（,，]/u.test(query[at - 1] ?? "");
    const filter = isStart ? filterAt(query, at) : undefined;
    if (filter !== undefined) {
      take({ kind: "filter", ...filter.read }, filter.end);
      continue;
    }
    const isMinus = isStart && query[at] === "-";
    const quoted = quotedAt(query, isMinus ? at + 1 : at);
    if (quoted !== undefined && letterOrDigit.test(quoted.value)) {
      take({ kind: "phrase", value: quoted.value, isExcluded: isMinus, text: query.slice(at, quoted.end) }, quoted.end);
      continue;
    }
    const word = isMinus ? matchAt(excludedWord, query, at) : undefined;
    if (word?.groups?.["word"] !== undefined) {
      take({ kind: "phrase", value: word.groups["word"], isExcluded: true, text: word[0] }, at + word[0].length);
      continue;
    }
    const character = String.fromCodePoint(query.codePointAt(at) ?? 0x20);
    words += character;
    at += character.length;
  }
  if (words.trim() !== "") parts.push({ kind: "words", text: words.trim() });
  return parts;
}

function filterAt(query: string, at: number): { read: WrittenFilter; end: number } | undefined {
  const match = matchAt(filterStart, query, at);
  const { minus, name } = match?.groups ?? {};
  if (match === undefined || name === undefined) return undefined;
  const from = at + match[0].length;
  const quoted = quotedAt(query, from);
  const value = quoted?.value.trim() ?? matchAt(filterValue, query, from)?.[0].replace(/(?<=.)[,;，；]+$/u, "") ?? "";
  const end = quoted?.end ?? from + value.length;
  if (!letterOrDigit.test(value) && !/[*?]/u.test(value)) return undefined;
  const read = { name: name.toLowerCase() as FilterName, value, isExcluded: minus === "-", text: query.slice(at, end) };
  return { read, end };
}

function quotedAt(query: string, at: number): { value: string; end: number } | undefined {
  const open = query[at] ?? "";
  const marks = closing.get(open);
  if (marks === undefined || !(alwaysOpen.has(open) || isAtEdge(query[at - 1]))) return undefined;
  for (let index = at + 1; index < Math.min(query.length, at + longestPhrase); index++) {
    const mark = query[index] ?? "";
    const isClosing = marks.includes(mark) && (alwaysOpen.has(open) || isAtEdge(query[index + 1]));
    if (isClosing) return { value: query.slice(at + 1, index), end: index + 1 };
  }
  return undefined;
}

function isAtEdge(beside: string | undefined): boolean {
  return beside === undefined || !spacedLetter.test(beside) || unspaced.test(beside);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/** Words that stand consecutive. */
export interface Phrase {
  text: string;
  words: readonly PhraseWord[];
}

/** The form that a word is indexed under, and those of words that begin with it and are one (`memorySearch`, `c++`). */
interface PhraseWord {
  term: string;
  wholes: ReadonlyMap<number, string>;
}

/** The words of a text as indexed, one per character in scripts without spaces. */
export function phraseOf(text: string): Phrase {
  const words: { term: string; wholes: Map<number, string>; start: number }[] = [];
  scanTerms(text, (term, start, _end, kind) => {
    if (kind === "stem") return;
    if (kind !== "whole") {
      words.push({ term: kind === "pair" ? firstOf(term) : term, wholes: new Map(), start });
      return;
    }
    const first = words.findLastIndex((word) => word.start === start);
    if (first >= 0) words[first]?.wholes.set(words.length - first, term);
  });
  return { text, words };
}

export function holdsPhrase(text: Phrase, phrase: Phrase): boolean {
  return phrase.words.length > 0 && text.words.some((_, at) => standsAt(text, at, phrase, 0));
}

function standsAt(text: Phrase, at: number, phrase: Phrase, from: number): boolean {
  const wanted = phrase.words[from];
  if (wanted === undefined) return true;
  const word = text.words[at];
  if (word === undefined) return false;
  const name = wanted.wholes.get(1);
  if (name !== undefined && word.wholes.get(1) !== name) return false;
  if (word.term === wanted.term && standsAt(text, at + 1, phrase, from + 1)) return true;
  for (const [length, whole] of word.wholes)
    if (length > 1 && whole === wanted.term && standsAt(text, at + length, phrase, from + 1)) return true;
  for (const [length, whole] of wanted.wholes)
    if (length > 1 && whole === word.term && standsAt(text, at + 1, phrase, from + length)) return true;
  return false;
}

function firstOf(pair: string): string {
  return String.fromCodePoint(pair.codePointAt(0) ?? 0);
}
