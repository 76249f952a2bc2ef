import table from "./patterns.json" with { type: "json" };

/** The patterns of a group by name; `‹name›` inserts another one. */
export function patternsOf<Group extends keyof typeof table>(
  group: Group,
  others: Readonly<Record<string, string>> = {},
): Readonly<Record<keyof (typeof table)[Group], RegExp>> {
  const rows: Record<string, { is: string; flags?: string }> = table[group];
  const whole = (text: string): string =>
    text.replaceAll(/‹(\w+)›/g, (_, name: string) => whole(others[name] ?? rows[name]?.is ?? ""));
  const patterns = Object.entries(rows).map(([name, { is, flags }]) => [name, new RegExp(whole(is), flags)]);
  return Object.fromEntries(patterns) as Record<keyof (typeof table)[Group], RegExp>;
}

const is = patternsOf("looks");
const shortest = 16;
const looked = 80;
const fewestDistinct = 8;

const [separator, small, capital, digit, sign] = [0, 1, 2, 3, 4];
const separatorCodes = new Set(Array.from("-_./:+=~@,;", (character) => character.charCodeAt(0)));

/** Minimum share of character class changes of random text: it has 0.4 to 0.6, names have 0.3. */
const leastChange = { oneCase: 0.18, mixed: 0.27 };

/** Whether a word is an identifier of 36 characters, which may be one of a record or a key. */
export function isUuid(word: string): boolean {
  return is.uuid.test(word);
}

/** Whether a text only shows where a secret would stand: `sk-xxxxxxxxxxxxxxxxxxxx`, `xoxb-your-token-here`. */
export function isPlaceholder(text: string): boolean {
  return is.standIn.test(text) || is.words.test(text);
}

/**
 * Whether a word may be a generated secret: long, with frequent changes of character class; no UUID, address, path,
 * code or placeholder.
 */
export function looksRandom(text: string): boolean {
  const word = text.slice(0, looked);
  if (word.length < shortest || !(changesOften(word) || is.hexKey.test(word)) || new Set(word).size < fewestDistinct)
    return false;
  return !is.uuid.test(word) && !is.written.test(word) && !isPlaceholder(word) && !is.rows.test(word);
}

/** Between separators, so that capitals and numbers in a row of words count little. */
function changesOften(word: string): boolean {
  const counts = [0, 0, 0, 0, 0];
  let changes = 0;
  let before = separator;
  for (let index = 0; index < word.length; index++) {
    const kind = kindOf(word.charCodeAt(index));
    if (kind !== before && kind !== separator && before !== separator) changes++;
    counts[kind] = (counts[kind] ?? 0) + 1;
    before = kind;
  }
  const [separators = 0, smalls = 0, capitals = 0, digits = 0, signs = 0] = counts;
  if (smalls + capitals === 0 || digits + signs === 0) return false;
  const isMixed = (smalls > 0 && capitals > 0) || signs > 0;
  return changes >= (isMixed ? leastChange.mixed : leastChange.oneCase) * (word.length - separators);
}

function kindOf(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return small;
  if (code >= 0x41 && code <= 0x5a) return capital;
  if (code >= 0x30 && code <= 0x39) return digit;
  return separatorCodes.has(code) ? separator : sign;
}

const shortestPassword = 6;
const longestPassword = 100;

/** Whether a word beside a password name could be a chosen password. */
export function looksLikePassword(word: string): boolean {
  if (word.length < shortestPassword || word.length > longestPassword || !is.marked.test(word)) return false;
  if (is.measured.test(word) || is.technical.test(word) || is.writtenOut.test(word) || is.named.test(word))
    return false;
  return !isExample(word);
}

export function isExample(word: string): boolean {
  return is.shown.test(word) || isPlaceholder(word) || is.rows.test(word);
}
