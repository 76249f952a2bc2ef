import { lazily } from "@memslot/core/host";
import zh from "../languages/zh.json" with { type: "json" };
import { languages } from "../languages/all-languages.ts";
import { type CountedUnit, countedUnits, type Doubt, type Language } from "./language.ts";
import tables from "./patterns.json" with { type: "json" };

/** A letter or digit of folded text. A plain range: Unicode classes compile slowly. */
const edge = "[0-9a-z\\xb5-\\u1fff]";

function oneOf(...words: readonly string[]): string {
  return `(?:${words.filter((word) => word !== "").join("|") || "(?!)"})`;
}

export function indexOf(patterns: readonly string[], word: string): number {
  return patterns.findIndex((pattern) => pattern !== "" && namedPattern(`^(?:${pattern})$`).test(word));
}

export type Groups = Readonly<Record<string, string | undefined>>;

/** A pattern with repeated group names, which Node 22 lacks; `groupsOf` restores them. */
export function namedPattern(source: string, flags = ""): RegExp {
  const counts = new Map<string, number>();
  const numbered = source.replaceAll(/\(\?<([a-z]\w*)>/gi, (group: string, name: string) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? group : `(?<${name}$${count}>`;
  });
  return new RegExp(numbered, flags);
}

/** What the groups of a `namedPattern` hold; undefined if there is no match. */
export function groupsOf(match: RegExpExecArray | null): Groups | undefined {
  if (match === null) return undefined;
  const groups: Record<string, string | undefined> = {};
  for (const [name, text] of Object.entries(match.groups ?? {})) {
    const [own = name] = name.split("$");
    groups[own] ??= text;
  }
  return groups;
}

const figure = "(?:(?<!\\d)\\d{1,2}(?!\\d)|[一二三四五六七八九十两]{1,3})";

const parts: Readonly<Record<string, string>> = { ...tables.parts, edge, figure };

/** Fills a form: `${name}` is a part of the table or a field of the language, as one group. */
export function filled(form: string, language: object = {}): string {
  return form.replaceAll(/\$\{([\w.|]+)\}/g, (_, names: string) => {
    const part = parts[names];
    if (part !== undefined) return filled(part, language);
    return oneOf(...names.split("|").flatMap((name) => wordsAt(language, name)));
  });
}

function wordsAt(language: object, name: string): string[] {
  let value: unknown = language;
  for (const key of name.split(".")) value = (value as Readonly<Record<string, unknown>> | undefined)?.[key];
  if (value === true) return ["(?:)"];
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([key, word]) => (typeof word === "string" ? word : key));
}

export function patternsOf(
  table: "figures" | "names" | "phrases" | "chinese" | "beforeYear",
  flags: string,
  language?: object,
): (readonly [pattern: RegExp, kind: string])[] {
  return tables[table].map(([form = "", kind = ""]) => [namedPattern(filled(form, language), flags), kind]);
}

const digits = "零一二三四五六七八九";

export function chineseNumber(word = ""): number | undefined {
  if (/^\d+$/.test(word)) return Number(word);
  const plain = word.replaceAll("〇", "零").replaceAll("两", "二");
  const tens = /^([一二三四五六七八九]?)十([一二三四五六七八九]?)$/.exec(plain);
  if (tens)
    return (
      10 * (tens[1] === "" ? 1 : digits.indexOf(tens[1] ?? "")) + (tens[2] === "" ? 0 : digits.indexOf(tens[2] ?? ""))
    );
  const values = [...plain].map((character) => digits.indexOf(character));
  if (values.length === 0 || values.includes(-1) || (values.length > 1 && values.length < 4)) return undefined;
  return values.reduce((sum, value) => 10 * sum + value, 0);
}

/** Normalised text (lower case, no accents, simplified characters) with source offsets. */
export interface FoldedText {
  text: string;
  /** For each place in `text`, and for its end, the place in the text as it was written. */
  offsets: readonly number[];
}

/** Apostrophes, dashes, and traditional characters of date words. */
const replaced = new Map(Object.entries(tables.folded));

export function foldText(written: string): FoldedText {
  let text = "";
  const offsets: number[] = [];
  let at = 0;
  for (const character of written) {
    const folded = foldCharacter(character);
    text += folded;
    for (let index = 0; index < folded.length; index++) offsets.push(at);
    at += character.length;
  }
  offsets.push(at);
  return { text, offsets };
}

function foldCharacter(character: string): string {
  if (/^[\x20-\x7e]$/.test(character) && character !== "~") return character.toLowerCase();
  return replaced.get(character) ?? character.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
}

/** The date words of a language. Patterns are compiled on first use: most queries have no date. */
export class Grammar {
  readonly name: string;
  /** Undefined for Chinese, whose times are read by rules of its own. */
  readonly dates: Language | undefined;
  readonly phrases: () => ReturnType<typeof patternsOf>;
  readonly #around: Readonly<Record<string, string>>;
  readonly #made = new Map<string, RegExp>();

  constructor(name: string, around: Readonly<Record<string, string>>, dates?: Language) {
    const year = String.raw`(?<y>(?:1[5-9]|20)?\d0)`;
    this.name = name;
    this.dates = dates && { ...dates, decade: dates.decade.replaceAll("DECADE", year) };
    this.phrases = lazily(() => patternsOf("phrases", "g", this.#words()));
    this.#around = around;
  }

  /** A kind of words around a date. A language without such words matches nothing. */
  pattern(kind: string): RegExp {
    const made = this.#made.get(kind) ?? namedPattern(filled(this.#around[kind] ?? "(?!)", this.#words()));
    this.#made.set(kind, made);
    return made;
  }

  ordinalOf(word = ""): number {
    return /^\d/.test(word) ? Number.parseInt(word, 10) : indexOf(this.dates?.ordinals ?? [], word) + 1;
  }

  numberOf(word = ""): number | undefined {
    const number = /^\d/.test(word) ? Number.parseInt(word, 10) : indexOf(this.dates?.numbers ?? [], word) + 1;
    return number > 0 ? number : undefined;
  }

  unitOf(word = ""): CountedUnit | undefined {
    return countedUnits.find((unit) => indexOf([this.dates?.units[unit] ?? ""], word) === 0);
  }

  #words(): object {
    const { relativeDays = {} } = this.dates ?? {};
    const today = Object.keys(relativeDays).filter((words) => relativeDays[words] === 0);
    return { ...this.dates, today };
  }
}

/** Where words mean different times, the first one counts. */
const { en, ...others } = languages;
const dated: readonly Grammar[] = [en, ...Object.values(others)].flatMap(({ name, dates }) =>
  dates === undefined ? [] : new Grammar(name, tables.around, dates),
);

export const grammars: readonly Grammar[] = [...dated, new Grammar("chinese", zh.chineseDates.around)];

/** The names of each month in all of these languages, January first. */
export const monthWords: readonly string[] = Array.from({ length: 12 }, (_, index) =>
  oneOf(...dated.map(({ dates }) => dates?.months[index] ?? "")),
);

/** Fast test whether a folded text may contain a date. */
export function mayNameTime(text: string): boolean {
  return /[\d〇\u4e00-\u9fff]/.test(text) || dated.some((grammar) => grammar.pattern("hint").test(text));
}

export function grammarsFor(text: string): Grammar[] {
  return dated.filter((grammar) => grammar.pattern("hint").test(text));
}

export function doubtsOf(language: string): readonly Doubt[] {
  return dated.find(({ name }) => name === language)?.dates?.doubts ?? [];
}
