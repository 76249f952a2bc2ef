import { lazily } from "@memslot/core";
import zh from "../languages/zh.json" with { type: "json" };
import { languages } from "../languages/files.ts";
import { type CountedUnit, countedUnits, type Doubt, type Language } from "./language.ts";
import tables from "./patterns.json" with { type: "json" };
import { filled, indexOf, namedPattern, oneOf, patternsOf } from "./patterns.ts";

/** What stands around a time: `since`, `joins`, `serving`. */
type Around = keyof typeof tables.around;

/** The words of a language for times. Its patterns are made when they are first needed: most queries name no time. */
export class Grammar {
  readonly name: string;
  /** Undefined for Chinese, whose times are read by rules of its own. */
  readonly dates: Language | undefined;
  /** The patterns of phrases, and the names of their readers. */
  readonly phrases: () => ReturnType<typeof patternsOf>;
  readonly #around: Readonly<Partial<Record<Around, string>>>;
  readonly #made = new Map<Around, RegExp>();

  constructor(name: string, around: Readonly<Partial<Record<Around, string>>>, dates?: Language) {
    const year = String.raw`(?<y>(?:1[5-9]|20)?\d0)`;
    this.name = name;
    this.dates = dates && { ...dates, decade: dates.decade.replaceAll("DECADE", year) };
    this.phrases = lazily(() => patternsOf("phrases", "g", this.#words()));
    this.#around = around;
  }

  /** Matches nothing where the language has no such words. */
  pattern(kind: Around): RegExp {
    const made = this.#made.get(kind) ?? namedPattern(filled(this.#around[kind] ?? "(?!)", this.#words()));
    this.#made.set(kind, made);
    return made;
  }

  /** Which of the ordinals a word is, 1 for the first; 0 for the last. */
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

/** The grammars of all languages, for what is found in figures. */
export const grammars: readonly Grammar[] = [...dated, new Grammar("chinese", zh.chineseDates.around)];

/** The names of each month in all of these languages, January first. */
export const monthWords: readonly string[] = Array.from({ length: 12 }, (_, index) =>
  oneOf(...dated.map(({ dates }) => dates?.months[index] ?? "")),
);

/** Whether a folded text may name a time at all. What it costs is all that most searches pay. */
export function mayNameTime(text: string): boolean {
  return /[\d〇\u4e00-\u9fff]/.test(text) || dated.some((grammar) => grammar.pattern("hint").test(text));
}

/** The grammars of those languages of which a text holds a word for a time. */
export function grammarsFor(text: string): Grammar[] {
  return dated.filter((grammar) => grammar.pattern("hint").test(text));
}

/** What words of a language that look like a time may be instead. */
export function doubtsOf(language: string): readonly Doubt[] {
  return dated.find(({ name }) => name === language)?.dates?.doubts ?? [];
}
