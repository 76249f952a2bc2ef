import type { Season } from "../calendar.ts";
import type { Feast } from "../feasts.ts";
import type { CountedUnit } from "../grammar/language.ts";
import { zh } from "../../languages/files.ts";

const vocabulary = zh.chineseDates;

/** How many years from this one, and how many days from today. */
export const years: Readonly<Record<string, number>> = vocabulary.years;
export const days: Readonly<Record<string, number>> = vocabulary.days;
export const seasons = vocabulary.seasons as Readonly<Record<string, Season>>;
export const feasts = vocabulary.feasts as Readonly<Record<string, Feast>>;
export const units = vocabulary.units as Readonly<Record<string, CountedUnit>>;
