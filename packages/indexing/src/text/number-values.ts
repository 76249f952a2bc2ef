import { asciiDigits } from "./word-forms.ts";
import data from "./values.json" with { type: "json" };

/** The ways to write a value without what separates its groups, and the range of the text that it stands for. */
export interface Value {
  terms: readonly string[];
  /** In a query only its first term counts: decimals belong to the amount. */
  isExact?: boolean;
  start: number;
  end: number;
}

const space = String.raw`[ \u00a0\u2009\u202f]`;
const gap = String.raw`(?:[).]?${space}\(?|${space}/${space}|[-–./()])`;
/** Dates are read elsewhere. */
const date = String.raw`\d{4}(?<ymd>[-./])\d\d?\k<ymd>\d\d?(?:T[\d:]+)?|\d\d?(?<dmy>[-./])\d\d?\k<dmy>(?:\d{4}|\d\d)`;
const whole = String.raw`(?![\p{L}\p{N}])`;
const measures = `${data.measures}|${data.spelled}`.replaceAll(/[a-z]/gu, (one) => `[${one}${one.toUpperCase()}]`);
const thousands = String.raw`(?!0|\d\.\d{3}(?:${space}|-)(?:${measures})${whole})\d{1,3}(?:(?<mark>[.,'’_])\d{3}(?:\k<mark>\d{3}){0,9}(?!\k<mark>\d)|(?<blank>${space})\d{3}(?:\k<blank>\d{3}){0,9}(?![- /]\d)|(?:,\d\d){1,4},\d{3})`;
const quantity = String.raw`\d{1,9}(?:\.\d{1,3})?(?:${space}|-)(?<unit>[A-Za-zµ]{1,4})`;
/** Telephone numbers, and groups of digits and capitals such as those of an IBAN. */
const groups = String.raw`[A-Z]{0,8}\d[A-Z\d]{0,19}\)?(?:${gap}(?:[A-Z]{4} )?[A-Z]{0,3}\d[A-Z\d]{0,11}){0,11}(?![.,'’:]\d)`;
const valueAt = new RegExp(
  String.raw`^(?<open>[+(]?)(?:(?<date>${date})|(?<number>${thousands})(?:[.,](?<decimals>\d{1,3})(?![.,]\d))?|(?<amount>${quantity})|(?<grouped>${groups}))${whole}`,
  "u",
);
const isDate = new RegExp(String.raw`^(?:${date})(?![-.]?\d)`, "u");
const isYears = /^(?:19|20)\d\d\D(?:(?:19|20)\d\d|\d\d)$/u;
/** Groups of capitals beside digits, with one separator: `RFC 7231`, `M-AB 1234 E`, `AB12 CDE`. */
const codeBefore = /(?<![\p{L}\p{N}])(?:([A-Z]{1,3})[- \u00a0])?([A-Z]{1,8})[ \u00a0]$/u;
const codeBehind = /^[- \u00a0][A-Z]{1,3}(?![\p{L}\p{N}-])/u;

const units: ReadonlySet<string> = new Set(`${data.measures}|${data.counted}`.split("|"));
const longestCode = 12;
/** No value is longer, with what is between its groups. */
const longestValue = 160;
const fewestDigits = 6;

/** Values at an index, each as one term: numbers, telephone numbers, IBANs, units, capitals. */
export function valuesAt(text: string, index: number, wordEnd: number): Value[] {
  const isOpened = index > 0 && "+(".includes(text.charAt(index - 1));
  if (!isOpened && !mayBeValue(text, index, wordEnd)) return [];
  const start = isOpened ? index - 1 : index;
  const rest = text.slice(start, start + longestValue);
  const found = valueAt.exec(text.charCodeAt(index) < 0x80 ? rest : asciiDigits(rest));
  const { open = "", number, decimals, amount, grouped, unit = "" } = found?.groups ?? {};
  const core = number ?? amount ?? grouped;
  if (found === null || core === undefined) return [];
  const end = start + found[0].length;
  if (amount !== undefined && (units.has(unit.toLowerCase()) || /^[A-Z]{2,3}$/u.test(unit)))
    return [{ terms: [plainOf(amount, /[^\p{L}\p{N}.]/gu)], start: index, end }];
  const written = amount === undefined ? open + core : core.slice(0, -unit.length - 1);
  const plain = plainOf(written);
  const isOne = /^\d*$/u.test(core);
  const isCode = grouped !== undefined && !isOne && !isGrouped(written);
  if (isCode && !/^[A-Z\d]+$/u.test(written)) return [];
  const terms = isCode ? [] : [...(isOne || amount !== undefined ? [] : [plain]), ...otherNumbers(written, plain)];
  if (decimals !== undefined)
    return [{ terms: [`${plain}.${decimals}`, ...terms], isExact: Number(decimals) > 0, start: index, end }];
  const values: Value[] = terms.length === 0 ? [] : [{ terms, start: number === undefined ? start : index, end }];
  if (plain.length > longestCode) return values;
  const [all = "", far, near = ""] = codeBefore.exec(text.slice(Math.max(0, start - 14), start)) ?? [];
  const stop = start + written.length;
  const [behind = ""] = codeBehind.exec(text.slice(stop, stop + 5)) ?? [];
  const isNear = near.length > 1 || (isCode && near !== "");
  for (const head of [...(isCode ? [""] : []), ...(isNear ? [`${near} `] : []), ...(far === undefined ? [] : [all])])
    for (const tail of new Set(["", behind])) {
      const term = plainOf(head + plain + tail);
      if (term !== plain) values.push({ terms: [term], start: start - head.length, end: stop + tail.length });
    }
  return values.toSorted((one, other) => other.end - one.end);
}

const continuing =
  /^(?:[ \u00a0\u2009\u202f]\/? ?(?:[\d(\u0660-\u0fff]|[A-Z](?![a-z]))|[,)–_/]\d|\) \d|[ \u00a0\u2009\u202f-]([a-zµ]{1,4})(?![a-z\d]))/;

function mayBeValue(text: string, start: number, end: number): boolean {
  const next = continuing.exec(text.slice(end, end + 6));
  if (next !== null && (next[1] === undefined || units.has(next[1]))) return true;
  if (text[start - 1] === " " && /[A-Z]/.test(text.charAt(start - 2))) return true;
  if (end - start < 5 || text[start + 4] === "-") return false;
  return end - start > fewestDigits || /[-.'’/]/.test(text.slice(start, end));
}

/** `Wi-Fi`, `PROJ-1187`, a UUID, an ISBN: the terms of a run without what joins it. */
export function joinedValues(run: string): string[] {
  const written = asciiDigits(run);
  const isWord = /^[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+){1,2}$|^\p{L}+\.js$/u.test(written);
  const isCode = /^(?=.*\p{L})[\p{L}\d]+(?:-[\p{L}\d]+){1,6}$|^\w\w(?::\w\w){5}$|^\w{4}(?:\.\w{4}){2}$/u.test(written);
  const isNumber = /^\d+(?:[-./]\d+)+$/u.test(written);
  if (isDate.test(written) || !(isWord || isCode || isNumber)) return [];
  const plain = plainOf(written);
  if (/\p{L}/u.test(plain)) return [plain];
  const isOther = isYears.test(written) || /^(?:\d+\.\d+|\d{1,3}(?:\.\d{1,3}){3})$/u.test(written);
  if (plain.length < fewestDigits || isOther) return [];
  return isCode ? [plain] : [plain, ...otherNumbers(written, plain)];
}

function plainOf(written: string, between = /[^\p{L}\p{N}\p{M}]/gu): string {
  return written.replace("(0)", "").replaceAll(between, "").toLowerCase();
}

function isGrouped(groups: string): boolean {
  if (groups.replaceAll(/\D/gu, "").length < fewestDigits) return false;
  if (/[+(]/u.test(groups)) return true;
  const parts = groups.split(/[^A-Z\d]+/u);
  return /\s/u.test(groups) && (parts.length > 2 || (parts.every(({ length }) => length > 2) && !isYears.test(groups)));
}

const abroad = new RegExp(String.raw`^(?:00)?(?:${data.countryCode})0?(?=\d{6})`, "u");

/** A telephone number without the code of its country, or without the zero before it. */
function otherNumbers(written: string, plain: string): string[] {
  if (plain.length < 7 || /\D/u.test(plain)) return [];
  if (written.startsWith("+")) return [plain.replace(abroad, "")];
  if (plain.startsWith("00")) return [plain.slice(2), plain.replace(abroad, "")];
  return /^(?:0|1(?=\d{10}$))/u.test(plain) ? [plain.slice(1)] : [];
}
