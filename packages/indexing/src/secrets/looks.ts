const shortest = 16;
/** How much of a long word is looked at. */
const looked = 80;
const fewestDistinct = 8;

/** Kinds of characters. */
const [separator, small, capital, digit, sign] = [0, 1, 2, 3, 4];
const separatorCodes = new Set(Array.from("-_./:+=~@,;", (character) => character.charCodeAt(0)));

/**
 * The share of the places between two characters where the kind of character changes, from which on it seems random.
 * Chance gives about 0.4 for one case with digits and 0.6 for both; names of several capitals (`getToken2`) have 0.3.
 */
const leastChange = { oneCase: 0.18, mixed: 0.27 };

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Variables, templates, links, calls, paths, addresses. */
const written =
  /^(?:[$%<{([]|~\/|\.{1,2}\/|data:)|:\/\/|\$\{|\{\{|^[A-Za-z_.]{4,}[\w.]*[[(]|\($|^[\w.+-]+@[\w-]+\.[\w.-]+$/;
/** Rows of letters and digits stand in examples, but also in keys whose beginning says that they are keys. */
const rows = /1234567890|0123456789|abcdefgh/i;
/** One character seven times (`A` is what zeros are in base64), words that say it. */
const standIn = /([^A])\1{6}|example|placeholder|change-?me|(?:^|[-_.])your/i;
/** No word of a language is longer than its second part allows. */
const words = /^(?:[a-z]{1,16}[-_.]){2,}[a-z]{0,16}$|^(?:[A-Z]{1,16}[-_.]){2,}[A-Z]{0,16}$/;
/** Of hexadecimal digits nearly all may be decimal by chance: what would be a key in binary is one. */
const hexKey = /^(?=.*[a-f])(?=.*\d)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64}|[0-9a-f]{80})$/i;

/** Whether a word is an identifier of 36 characters, which may be one of a record or a key. */
export function isUuid(word: string): boolean {
  return uuid.test(word);
}

/** Whether a text only shows where a secret would stand: `sk-xxxxxxxxxxxxxxxxxxxx`, `xoxb-your-token-here`. */
export function isPlaceholder(text: string): boolean {
  return standIn.test(text) || words.test(text);
}

/**
 * Whether a word could be a generated secret rather than what a person or a program has named: long enough, and letters,
 * digits and signs in frequent change. No UUID, no address, no path, no code, no placeholder.
 */
export function looksRandom(text: string): boolean {
  const word = text.slice(0, looked);
  if (word.length < shortest || !(changesOften(word) || hexKey.test(word)) || new Set(word).size < fewestDistinct)
    return false;
  return !uuid.test(word) && !written.test(word) && !isPlaceholder(word) && !rows.test(word);
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

/** A digit anywhere, or a sign between letters: a word that is only letters cannot be told from prose. */
const marked = /[A-Za-z].*\d|\d.*[A-Za-z]|[A-Za-z\d][!#$%&*@^?~+=].*[A-Za-z\d]|^\d{6,}$/;
/** Sizes, ordinals, dates, times, versions, tickets. */
const measured =
  /^\d+(?:st|nd|rd|th|x|[-–]?(?:char|digit|letter|day|week|month|year|min|hour|stell|t[äa]g|zeichen|bit|byte|[kmg]b)\w*)$|^\d{4}-\d\d(?:-\d\d)?(?:T|$)|^\d{1,2}:\d\d|^v?\d+(?:\.\d+)+|^[A-Z]{2,10}-\d+$|^Q[1-4]\b/i;
/** What is said of passwords: how they are kept, and where. */
const technical =
  /^(?:base|sha|md|utf|aes|rsa|argon|pbkdf|bcrypt|scrypt|oauth|ipv|ed|x\.?|iso|rfc|http|tls|wpa|rot|latin)-?\/?\d|^(?:1|i)password|^[23]fa\b|^(?:keepass|lastpass|bitwarden)/i;
/** Paths, calls, identifiers, settings, mail addresses, links, what is redacted already. */
const writtenOut =
  /^[$%<{([/\\]|^~\/|^\.{1,2}\/|^[@:]\w+$|^[a-z]:\\|^[\w.]+[[(]|^[a-z_]\w*(?:\.[a-z_]\w*)+$|^[a-z][a-z_-]*=|:\/\/|^[\w.+-]+@[\w-]+\.[\w.-]+$|\[redacted/i;
const named = /^[a-z][A-Za-z_]*(?:password|passwd|passwort|secret|token|key)\d*$/i;
/** What tutorials have in the place of a password. */
const shown =
  /^(?:pass(?:word|wort|wd)?|pwd|secret|test|admin|user|root|demo|foo|bar|(?:my|your|the)[-_]?\w*(?:pass(?:word)?|secret|token|key))[-_]?\d{0,4}!?$/i;

/** Whether a word that stands where a password is named could be one, though it is short and may have been thought out. */
export function looksLikePassword(word: string): boolean {
  if (word.length < shortestPassword || word.length > longestPassword || !marked.test(word)) return false;
  if (measured.test(word) || technical.test(word) || writtenOut.test(word) || named.test(word)) return false;
  return !isExample(word);
}

/** Whether a word is what is written where a secret will be. */
export function isExample(word: string): boolean {
  return shown.test(word) || isPlaceholder(word) || rows.test(word);
}
