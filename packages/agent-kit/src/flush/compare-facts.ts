import { lazily } from "@memslot/core/host";
import { scanTerms, stopWords } from "@memslot/indexing/host";

interface Said {
  readonly words: ReadonlySet<string>;
  readonly figures: ReadonlySet<string>;
  readonly numbers: readonly string[];
  readonly names: ReadonlySet<string>;
  readonly order: readonly string[];
  readonly isNegated: boolean;
  readonly denied: ReadonlySet<string>;
}

const light = wordSet(
  "user also does doesn don didn isn wasn name call say said tell told mention remember note know now about just please one some get got that than then there these those way not no never 用 户 的 了 是 在 有 我 你 他 她 它 们 说 叫 名 字 和 也 要 会 就 把 被 为 吗 呢 吧 过 这 那 个 由 与 及 对 以 于 其 从 到",
);
const labels = wordSet("number phone telephone price cost amount total sum fee value decide decision final date");
const calendar = wordSet(
  "january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday",
);
const negatingWords = [
  "not|no|never|without|cannot|nobody|nothing|nor|neither|hardly|barely|rarely|off",
  "stop(?:s|ped)?|quit|refuse[sd]?|refusal|hate[sd]?|dislike[sd]?|avoid(?:s|ed)?|cancel(?:s|led|ed)?|former(?:ly)?",
  "nicht|kein(?:e[mnrs]?)?|nie|niemals|ohne|pas|jamais|sans|non|senza|sin|nunca|não|nem|sem|niet|geen|ikke|inte",
  "не|нет|ни|без|никогда",
].join("|");
const negation = new RegExp(
  String.raw`(?<!\p{L})(?:${negatingWords})(?!\p{L})|n['’]t\b|[不没沒無无未勿莫戒]|ない|ません`,
  "giu",
);
const telling: ReadonlySet<string> = new Set(["his", "her", "hers", "their", "our"]);
const halfOfDay = /\d\s*[ap]\.?m\b/giu;
const signs = /(?<![\p{L}\p{N}.)])(?:[-−](?=\d)|(?:[±<>≤≥]=?)\s?(?=\d))/gu;
const tellingDigits = 4;
const thousands = /(?<=\d)[,.'’](?=\d{3}(?!\d))/g;
const mostly = 0.5;

function wordSet(words: string): () => ReadonlySet<string> {
  return lazily(() => {
    const set = new Set<string>();
    for (const word of words.split(" ")) scanTerms(word, (term) => set.add(term));
    return set;
  });
}

/**
 * Whether a line says all that a text says. Any figure, name, negation or content word it lacks makes another fact: a
 * second copy of a fact is less harm than a lost one.
 */
export function saysAll(line: string, text: string): boolean {
  const [there, given] = [read(line), read(text)];
  if (there.isNegated !== given.isNegated || !isWithin(given.figures, there.figures)) return false;
  if (given.words.size + given.figures.size < 2) return false;
  if (!isWithin(given.denied, there.denied)) return false;
  // "Anna owes Ben" and "from 12 to 14" say something else the other way round.
  const names = new Set([...there.names, ...given.names].filter((word) => !calendar().has(word)));
  const order = given.order.filter((word) => names.has(word));
  if (!isInOrder(order, there.order)) return false;
  const numbersThere = Object.groupBy(there.numbers, formOf);
  for (const [form, numbers = []] of Object.entries(Object.groupBy(given.numbers, formOf)))
    if (!isInOrder(numbers, numbersThere[form] ?? [])) return false;
  const isTelling = [...given.figures].some((figure) => figure.replaceAll(/\D/g, "").length >= tellingDigits);
  return [...given.words].every((word) => there.words.has(word) || (isTelling && labels().has(word)));
}

export function mostlySaid(notes: readonly string[], message: string): boolean {
  if (notes.length === 0) return false;
  const [there, given] = [read(notes.join("\n")), read(message)];
  if (!isWithin(given.figures, there.figures)) return false;
  if (!isWithin(given.names, there.words)) return false;
  const found = [...given.words].filter((word) => there.words.has(word)).length;
  return given.words.size + given.figures.size >= 2 && found >= mostly * given.words.size;
}

function read(given: string): Said {
  const text = given.normalize("NFC").replaceAll(thousands, "");
  const words = new Set<string>();
  const figures = new Set<string>();
  const names = new Set<string>();
  const order: string[] = [];
  const denials = [...text.matchAll(negation)].map((match) => match.index + match[0].length);
  const denied = new Set<string>();
  const signAt = new Map([...text.matchAll(signs)].map((match) => [match.index + match[0].length, match[0].trim()]));
  const take = (word: string, start: number): void => {
    words.add(word);
    order.push(word);
    while (denials[0] !== undefined && denials[0] <= start) {
      denied.add(word);
      denials.shift();
    }
  };
  scanTerms(text, (term, start, end, kind) => {
    if (kind === "whole") return;
    const word = text.slice(start, end);
    if (kind === "pair" || kind === "single") {
      const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
      if (light().has(character)) return;
      take(character, start);
    } else if (/\p{N}/u.test(term)) figures.add((signAt.get(start) ?? "") + term.replace(/^0+(?=\d)/, ""));
    else if (telling.has(word.toLowerCase())) words.add(word.toLowerCase());
    else if (!stopWords.has(term) && !light().has(term)) {
      take(term, start);
      const isInside = /[^.!?:\s*_-]\s*$/u.test(text.slice(Math.max(0, start - 20), start));
      if (isInside && /^\p{Lu}/u.test(word)) names.add(term);
    }
  });
  for (const [half] of text.matchAll(halfOfDay)) words.add(half.replaceAll(/[\s.]/g, "").toLowerCase());
  const numbers = (text.match(/\d+(?:[.:/-]\d+)*/g) ?? []).map((number) => number.replaceAll(/(?<!\d)0+(?=\d)/g, ""));
  return { words, figures, numbers, names, order, isNegated: text.search(negation) >= 0, denied };
}

function formOf(number: string): string {
  return number.replaceAll(/\d+/g, (digits) => (digits.length < 3 ? "few" : `${digits.length}`));
}

function isWithin(part: ReadonlySet<string>, whole: ReadonlySet<string>): boolean {
  return [...part].every((item) => whole.has(item));
}

function isInOrder(words: readonly string[], there: readonly string[]): boolean {
  let next = 0;
  for (const word of there) if (word === words[next]) next++;
  return next === words.length;
}
