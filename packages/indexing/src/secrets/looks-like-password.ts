import { isPlaceholder } from "./looks-random.ts";

const shortest = 6;
const longest = 100;

/** A digit anywhere, or a sign between letters: a word that is only letters cannot be told from prose. */
const marked = /[A-Za-z].*\d|\d.*[A-Za-z]|[A-Za-z\d][!#$%&*@^?~+=].*[A-Za-z\d]|^\d{6,}$/;
/** Sizes, ordinals, dates, times, versions, tickets. */
const measured =
  /^\d+(?:st|nd|rd|th|x|[-–]?(?:char|digit|letter|day|week|month|year|min|hour|stell|t[äa]g|zeichen|bit|byte|[kmg]b)\w*)$|^\d{4}-\d\d(?:-\d\d)?(?:T|$)|^\d{1,2}:\d\d|^v?\d+(?:\.\d+)+|^[A-Z]{2,10}-\d+$|^Q[1-4]\b/i;
/** What is said of passwords: how they are kept, and where. */
const technical =
  /^(?:base|sha|md|utf|aes|rsa|argon|pbkdf|bcrypt|scrypt|oauth|ipv|ed|x\.?|iso|rfc|http|tls|wpa|rot|latin)-?\/?\d|^(?:1|i)password|^[23]fa\b|^(?:keepass|lastpass|bitwarden)/i;
/** Paths, calls, identifiers, settings, mail addresses, links, what is redacted already. */
const written =
  /^[$%<{([/\\]|^~\/|^\.{1,2}\/|^[@:]\w+$|^[a-z]:\\|^[\w.]+[[(]|^[a-z_]\w*(?:\.[a-z_]\w*)+$|^[a-z][a-z_-]*=|:\/\/|^[\w.+-]+@[\w-]+\.[\w.-]+$|\[redacted/i;
const named = /^[a-z][A-Za-z_]*(?:password|passwd|passwort|secret|token|key)\d*$/i;
/** What tutorials have in the place of a password. */
const shown =
  /^(?:pass(?:word|wort|wd)?|pwd|secret|test|admin|user|root|demo|foo|bar|(?:my|your|the)[-_]?\w*(?:pass(?:word)?|secret|token|key))[-_]?\d{0,4}!?$/i;

/** Whether a word that stands where a password is named could be one, though it is short and may have been thought out. */
export function looksLikePassword(word: string): boolean {
  if (word.length < shortest || word.length > longest || !marked.test(word)) return false;
  if (measured.test(word) || technical.test(word) || written.test(word) || named.test(word)) return false;
  return !isExample(word);
}

/** Whether a word is what is written where a secret will be. */
export function isExample(word: string): boolean {
  return shown.test(word) || isPlaceholder(word);
}
