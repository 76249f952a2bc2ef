import { lineSigns, signsOf } from "./line-prefilter.ts";
import { countSlices, type FoundSecret, Page, type Slices } from "./redacted-lines.ts";
import { cutLists, cutPrivateKeys } from "./multi-line-secrets.ts";
import { cutLogins, findLoose, findShapes, looseShapes } from "./secret-shapes.ts";
import { cutNextLines, findNamed } from "./named-secrets.ts";

export { redactionVersion } from "./version.ts";

/** As most questions are: without a sign that surrounds a secret, and too short for the words that restore a wallet. */
const fewWords = /^(?:(?:[A-Za-z]+|\d+)[,.?!]?(?: |$)){0,11}$/;

/** Replaces each secret by its name in brackets, such as `[redacted: OpenAI key]`. Line numbers stay; idempotent. */
export function redactSecrets(text: string): string {
  if (fewWords.test(text) && signsOf(text) === 0) return text;
  return redactLines(text.split("\n")).join("\n");
}

export function redactLines(lines: readonly string[]): string[] {
  return inOneGo(redactInSlices(lines));
}

export function* redactInSlices(lines: readonly string[]): Slices<string[]> {
  return (yield* scanTwice(lines)).lines;
}

export function secretsIn(text: string): FoundSecret[] {
  return inOneGo(scanTwice(text.split("\n"))).found.toSorted((a, b) => a.line - b.line);
}

/** First as displayed, so that escaped, encoded and invisible characters hide nothing; then as written. */
function* scanTwice(lines: readonly string[]): Slices<Pick<Page, "lines" | "found">> {
  const folded = new Page(lines, true);
  if (folded.foldedLines > 0) yield* scan(folded, (index) => folded.isFolded(index));
  const page = new Page(folded.foldedLines > 0 ? folded.restored() : lines);
  yield* scan(page, () => true);
  return { lines: page.lines, found: [...folded.found, ...page.found] };
}

function* scan(page: Page, isScanned: (index: number) => boolean): Slices<void> {
  cutPrivateKeys(page);
  const isFull = countSlices();
  const signs: number[] = [];
  for (const line of page.lines) {
    signs.push(signsOf(line));
    if (isFull(line)) yield;
  }
  if (signs.some((sign) => (sign & lineSigns.name) !== 0)) yield* cutNextLines(page, signs);
  cutLists(page, signs);
  for (const [index, line] of page.lines.entries()) {
    if (!isScanned(index)) continue;
    scanLine(page, index, signs[index] ?? 0);
    if (isFull(line)) yield;
  }
}

function scanLine(page: Page, index: number, signsOfLine: number): void {
  let isCut = false;
  const lineNow = (): string => page.lines[index] ?? "";
  if (signsOfLine & lineSigns.longPiece) {
    isCut = page.cut(index, findShapes(lineNow()), true);
    if (signsOfLine & lineSigns.longWord)
      for (const shape of looseShapes) isCut = page.cut(index, findLoose(shape, lineNow()), true) || isCut;
  }
  // What was taken out can be the name of what follows.
  const signs = isCut ? signsOf(lineNow()) : signsOfLine;
  cutLogins(page, index, signs);
  if (signs & lineSigns.name) page.cut(index, findNamed(lineNow()));
}

function inOneGo<Result>(slices: Slices<Result>): Result {
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}
