import type { Season } from "../calendar.ts";
import type { Feast } from "../feasts.ts";
import type { CountedUnit } from "../grammar/language.ts";

/** How many years from this one. */
export const years: Readonly<Record<string, number>> = { 大前年: -3, 前年: -2, 去年: -1, 今年: 0, 明年: 1, 后年: 2 };
/** How many days from today. */
export const days: Readonly<Record<string, number>> = {
  大前天: -3,
  前天: -2,
  前日: -2,
  昨天: -1,
  昨日: -1,
  昨晚: -1,
  昨夜: -1,
  今天: 0,
  今日: 0,
  今早: 0,
  今晨: 0,
  今晚: 0,
  明天: 1,
  明日: 1,
  后天: 2,
};
export const seasons: Readonly<Record<string, Season>> = { 春: "spring", 夏: "summer", 秋: "autumn", 冬: "winter" };
export const feasts: Readonly<Record<string, Feast>> = {
  圣诞: "christmas",
  圣诞节: "christmas",
  平安夜: "christmasEve",
  元旦: "newYear",
  跨年夜: "newYearsEve",
  复活节: "easter",
  万圣节: "halloween",
  情人节: "valentine",
  感恩节: "thanksgiving",
  劳动节: "labourDay",
  国庆: "chineseNationalDay",
  国庆节: "chineseNationalDay",
};
export const units: Readonly<Record<string, CountedUnit>> = {
  天: "day",
  日: "day",
  周: "week",
  星期: "week",
  礼拜: "week",
  周末: "weekend",
  月: "month",
  季度: "quarter",
  年: "year",
};
