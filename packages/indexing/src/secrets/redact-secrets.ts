import { lineSigns, signsOf } from "./line-signs.ts";
import { redactCookies } from "./redact-cookies.ts";
import { redactLogins } from "./redact-logins.ts";
import { redactNamedSecrets } from "./redact-named-secrets.ts";
import { redactNextLines } from "./redact-next-lines.ts";
import { redactPrivateKeys } from "./redact-private-keys.ts";
import { redactShapes } from "./redact-shapes.ts";
import { countSlices, inOneGo, type Slices } from "./slices.ts";

/** Part of every recipe: raise it when the same text is redacted otherwise, so that indexes are brought up to date. */
export const redactionVersion = 3;

/** What a secret has that is known by its shape: so many characters without a space and most signs. */
const shortestPiece = 20;
const inPiece = asciiTable(/[\w%+/~-]/);

/**
 * The text without what looks like a secret, for copies that leave the user's files: each secret is replaced by its
 * name in brackets, such as `[redacted: OpenAI key]`. Lines keep their numbers; doing it twice changes nothing more.
 */
export function redactSecrets(text: string): string {
  return redactLines(text.split("\n")).join("\n");
}

/** The same for a text that is cut into lines. Gives as many lines as it gets. */
export function redactLines(lines: readonly string[]): string[] {
  return inOneGo(redactInSlices(lines));
}

/** The same in slices, so that others can work in between while a large file is read. */
export function* redactInSlices(lines: readonly string[]): Slices<string[]> {
  const withoutKeys = redactPrivateKeys(lines);
  const isFull = countSlices();
  const signs: number[] = [];
  for (const line of withoutKeys) {
    signs.push(signsOf(line));
    if (isFull(line)) yield;
  }
  const kept: string[] = [];
  for (const line of yield* redactNextLines(withoutKeys, signs)) {
    kept.push(redactLine(line, signs[kept.length] ?? 0));
    if (isFull(line)) yield;
  }
  return kept;
}

function redactLine(line: string, signsOfLine: number): string {
  let kept = holdsRun(line, inPiece, shortestPiece) ? redactShapes(line) : line;
  // What was taken out can be the name of what follows.
  const signs = kept === line ? signsOfLine : signsOf(kept);
  kept = redactLogins(kept, signs);
  if (signs & lineSigns.cookie) kept = redactCookies(kept);
  return signs & lineSigns.name ? redactNamedSecrets(kept) : kept;
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
