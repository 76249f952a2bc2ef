import { redactNamedSecrets } from "./redact-named-secrets.ts";
import { redactPrivateKeys } from "./redact-private-keys.ts";
import { redactShapes } from "./redact-shapes.ts";

/** Part of every recipe: raise it when the same text is redacted otherwise, so that indexes are brought up to date. */
export const redactionVersion = 1;

/**
 * What every secret has: a word without spaces, and, if it is known by its shape, a piece of it without the signs that
 * cut addresses and paths. Lines without them are not looked at any further.
 */
const shortestWord = 16;
const shortestPiece = 20;
const inWord = asciiTable(/[!-~]/);
const inPiece = asciiTable(/[\w%+~-]/);

const address = /(:\/\/[^\s:/?#@]{0,100}:)([^\s/<>"'`()[\]{}|\\]{1,200})@/g;
const notAPassword =
  /^(?:[$%*.x]+.*|pass(?:word|wd)?|pwd|pw|secret|change-?me|(?:my|your|the)[-_]?(?:password|secret).*)$/i;
const basic = /(\bbasic\s{1,4})([A-Za-z0-9+/]{16,}={0,2})/gi;

/**
 * The text without what looks like a secret, for copies that leave the user's files: each secret is replaced by its
 * name in brackets, such as `[redacted: OpenAI key]`. Lines keep their numbers; doing it twice changes nothing more.
 */
export function redactSecrets(text: string): string {
  return redactLines(text.split("\n")).join("\n");
}

/** The same for a text that is cut into lines. Gives as many lines as it gets. */
export function redactLines(lines: readonly string[]): string[] {
  return redactPrivateKeys(lines).map((line) => (holdsRun(line, inWord, shortestWord) ? redactLine(line) : line));
}

function redactLine(line: string): string {
  const withoutShapes = holdsRun(line, inPiece, shortestPiece) ? redactShapes(line) : line;
  const withoutPasswords = withoutShapes
    .replace(address, (match, before: string, password: string) =>
      notAPassword.test(password) ? match : `${before}${redacted("password")}@`,
    )
    .replace(basic, (match, before: string, encoded: string) =>
      isCredentials(encoded) ? before + redacted("password") : match,
    );
  return redactNamedSecrets(withoutPasswords);
}

/** Looks at one character and goes back from there, so that most characters of ordinary text are not looked at. */
function holdsRun(line: string, isPart: Uint8Array, length: number): boolean {
  let from = 0;
  let index = length - 1;
  while (index < line.length) {
    if (isPart[line.charCodeAt(index)] !== 1) {
      from = index + 1;
      index += length;
    } else if (index === from) return true;
    else index--;
  }
  return false;
}

/** As long as there are character codes: looking beyond the end of an array is slow. */
function asciiTable(characters: RegExp): Uint8Array {
  const table = new Uint8Array(0x10000);
  for (let code = 0; code < 128; code++) if (characters.test(String.fromCharCode(code))) table[code] = 1;
  return table;
}

function isCredentials(encoded: string): boolean {
  return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(Buffer.from(encoded, "base64").toString("latin1"));
}

function redacted(name: string): string {
  return `[redacted: ${name}]`;
}
