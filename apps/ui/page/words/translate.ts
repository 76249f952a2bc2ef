import type { Sentence, SentenceCode } from "@memslot/core";
import { facts } from "../state/api-client.ts";
import { type Language, language } from "../state/preferences.ts";
import en from "./en.json" with { type: "json" };
import zh from "./zh.json" with { type: "json" };
import library from "./library-zh.json" with { type: "json" };

/** Every text of the page by name; `{name}` is a placeholder. Both languages have the same names. */
export type WordName = keyof typeof en;
/** One text, or one for each plural category of `count`: `{ "one": …, "other": … }`. */
type Text = string | { one?: string; other: string };

const tables: Record<Language, Record<WordName, Text>> = { en, zh };

/** A text in the current language. Read in a component, it changes with the language. */
export function t(name: WordName, given: Readonly<Record<string, string | number>> = {}): string {
  const text = tables[language.value][name];
  const plural = (): "one" | "other" =>
    formatOf(Intl.PluralRules).select(Number(given["count"])) === "one" ? "one" : "other";
  const form = typeof text === "string" ? text : (text[plural()] ?? text.other);
  return filled(form, (key) => (key in given ? formatted(given[key] ?? "") : `{${key}}`));
}

function filled(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(/\{(\w+)\}/gu, (_, name: string) => valueOf(name));
}

const translations: Record<SentenceCode, string> = library;

/** A sentence of the library in the current language, by its code; without one, its text. */
export function said({ reason = "", code, params = {} }: Said): string {
  if (language.value === "en" || code === undefined || !Object.hasOwn(library, code)) return reason;
  return filled(translations[code], (name) => {
    const value = params[name] ?? "";
    return typeof value === "object" ? said(value) : formatted(value);
  });
}

type Said = { [Key in keyof Sentence]?: Sentence[Key] | undefined };

/** Several sentences as one. */
export function saidTogether(reasons: readonly Said[]): string {
  return reasons.map(said).join(language.value === "en" ? "; " : "；");
}

/** A name of the library in the current language, such as a source; without a text, `otherwise`. */
export function named(group: string, name: string, otherwise: string = name): string {
  const key = `${group}.${name}`;
  return Object.hasOwn(en, key) ? t(key as WordName) : otherwise;
}

/** A number in the format of the language. */
export function formatted(value: string | number): string {
  return typeof value === "number" ? formatOf(Intl.NumberFormat).format(value) : value;
}

/** A time from ISO 8601 in the user's time zone, as the library counts days. */
export function when(
  iso: string,
  style: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "short" },
): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return formatOf(Intl.DateTimeFormat, { timeZone: facts.value?.timeZone, ...style }).format(date);
}

const formats = new Map<string, unknown>();

/** A format of the language, made once: to make one takes longer than all else in a row of a list. */
function formatOf<Options, Format>(Kind: new (locale: string, options?: Options) => Format, options?: Options): Format {
  const key = JSON.stringify([Kind.name, localeName(), options]);
  const format = (formats.get(key) as Format | undefined) ?? new Kind(localeName(), options);
  formats.set(key, format);
  return format;
}

/** US dollars; small amounts with more digits. */
export function money(usd: number): string {
  const style = { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 4 } as const;
  return formatOf(Intl.NumberFormat, style).format(usd);
}

/** Bytes in units: `14.1 MB`. */
export function bytes(count: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  const style = {
    style: "unit",
    unit: units[power],
    unitDisplay: power === 0 ? "long" : "short",
    maximumSignificantDigits: 3,
  } as const;
  return formatOf(Intl.NumberFormat, style).format(count / 1000 ** power);
}

/** The browser's locale of the language, for the formats of its region. */
export function localeName(): string {
  const own = navigator.languages.find((name) => name.split("-")[0] === language.value);
  return own ?? (language.value === "zh" ? "zh-CN" : "en");
}
