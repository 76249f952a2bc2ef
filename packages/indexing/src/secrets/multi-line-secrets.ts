import { createHash } from "node:crypto";
import bip39 from "./bip39.json" with { type: "json" };
import { lineSigns } from "./line-prefilter.ts";
import { patternsOf } from "./word-checks.ts";
import { type Cut, type Page, spansOf } from "./redacted-lines.ts";
import { findBehind } from "./secret-shapes.ts";

const is = patternsOf("blocks");

interface TextPosition {
  line: number;
  column: number;
}

/** Cuts PEM, OpenSSH and PGP private keys. Text before and after a key stays. */
export function cutPrivateKeys(page: Page): void {
  if (!page.lines.some((line) => is.anyKey.test(line))) return;
  const cuts = new Map<number, Cut[]>();
  for (const { from, to } of privateKeys(page.lines))
    for (let line = from.line; line <= to.line; line++) {
      const start = line === from.line ? from.column : 0;
      const end = line === to.line ? to.column : (page.lines[line]?.length ?? 0);
      const name = line === from.line ? "private key" : undefined;
      cuts.set(line, [...(cuts.get(line) ?? []), { start, end, name }]);
    }
  for (const [line, found] of cuts) page.cut(line, found, true);
}

function* privateKeys(lines: readonly string[]): Generator<Record<"from" | "to", TextPosition>> {
  let from: TextPosition | undefined;
  let seen: TextPosition | undefined;
  let last = -1;
  for (const [line, text] of lines.entries()) {
    if (!from && !is.anyKey.test(text)) continue;
    let column = 0;
    for (const match of text.matchAll(is.markers)) {
      const [all, side, keyItself] = match;
      if (keyItself !== undefined) {
        if (from) continue;
        from = { line, column: match.index };
        column = keyItself.startsWith("P") ? match.index + all.length : match.index;
        continue;
      }
      if (from && holdsKey(text.slice(column, match.index))) seen = { line, column: match.index };
      if (!from && side === "END" && match.index === text.search(/[^\s>|*"']/)) {
        from = bodyAbove(lines, line, last);
        seen = from;
      }
      column = match.index + all.length;
      if (from && seen) {
        yield { from, to: side === "END" ? { line, column } : seen };
        last = line;
      }
      from = match[1] === "BEGIN" ? { line, column: match.index } : undefined;
      seen = undefined;
    }
    if (!from) continue;
    const rest = text.slice(column);
    // Without the characters that quote a line.
    const words = rest.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word));
    const isLast = seen?.line === line - 1 && words.length === 1 && is.lastPiece.test(words[0] ?? "");
    if (holdsKey(rest) || isLast) seen = { line, column: text.length };
    else if (words.length > 1 && !is.header.test(rest)) {
      // Something else begins before an end was found.
      if (seen) yield { from, to: seen };
      from = undefined;
      seen = undefined;
    }
  }
  if (from && seen) yield { from, to: seen };
}

function bodyAbove(lines: readonly string[], end: number, after: number): TextPosition | undefined {
  let first = end;
  while (first - 1 > after && is.bodyLine.test(lines[first - 1] ?? "")) first--;
  if (!lines.slice(first, end).some(holdsKey)) return undefined;
  return { line: first, column: (lines[first] ?? "").search(/[A-Za-z0-9+/]/) };
}

/** A marker that is only mentioned, or that stands before dots, is not followed by such a run. */
function holdsKey(text: string): boolean {
  const runs = text.match(/[A-Za-z0-9+/=]{32,}/g) ?? [];
  return runs.some((run) => /\d/.test(run) && (/[A-Z]/.test(run) || /^[0-9a-f]{32}$/.test(run)));
}

const netrcLines = 6;

const fewestCodes = 3;

const seedIndex = new Map(bip39.split(" ").map((word, index) => [word, index]));
const seedCounts = new Set([12, 15, 18, 21, 24]);
const fewestWords = 12;
const namedAbove = 6;

export function cutLists(page: Page, signs: readonly number[]): void {
  const { lines } = page;
  let manifestDone = 0;
  for (const [index, line] of lines.entries()) {
    if (line.length < 4) continue;
    if (is.machine.test(line)) cutNetrc(page, index);
    if (index >= manifestDone && is.kindSecret.test(line)) manifestDone = cutManifest(page, index, manifestDone);
    if (((signs[index] ?? 0) & lineSigns.codes) !== 0 && is.codesHeading.test(line)) cutCodes(page, index);
  }
  cutSeeds(page);
}

function cutNetrc(page: Page, index: number): void {
  const below = page.lines.slice(index + 1, index + netrcLines);
  const end = below.findIndex((line) => !is.netrcLine.test(line));
  const own = [page.lines[index] ?? "", ...(end < 0 ? below : below.slice(0, end))];
  if (!own.some((line) => is.login.test(line))) return;
  for (const [at, line] of own.entries()) page.cut(index + at, findBehind(line, is.netrcPassword, "password"));
}

/** Position where a Kubernetes `Secret` ends; its kind may follow its data. */
function cutManifest(page: Page, kind: number, after: number): number {
  const { lines } = page;
  let first = kind;
  while (first > after && !is.manifestEnd.test(lines[first - 1] ?? "")) first--;
  let end = kind + 1;
  while (end < lines.length && !is.manifestEnd.test(lines[end] ?? "")) end++;
  let indent: number | undefined;
  const cutValues = (index: number, line: string): boolean =>
    page.cut(index, findBehind(line, is.manifestValue, "Kubernetes secret"));
  for (let index = first; index < end; index++) {
    const line = lines[index] ?? "";
    const [, lead] = is.manifestLine.exec(line) ?? [];
    if (lead === undefined) continue;
    if (is.manifestFlow.test(line))
      cutValues(
        index,
        line.replace(/^[^{]*/, (head) => " ".repeat(head.length)),
      );
    else if (indent === undefined || lead.length <= indent) indent = is.manifestData.exec(line)?.[1]?.length;
    else if (!cutValues(index, line) && !/:\s*[|>][+-]?\s*$/.test(line)) page.cut(index, textOf(line));
  }
  return end;
}

/** All that a line of a longer text says. */
function textOf(line: string): Cut[] {
  const start = line.search(/[^\s>|]/);
  const end = line.trimEnd().length;
  if (end - start < 4 || line.includes("[redacted") || line.startsWith("#", start)) return [];
  return [{ start, end, name: "Kubernetes secret" }];
}

/** Codes in the lines below a heading, up to the first that holds something else. */
function cutCodes(page: Page, heading: number): void {
  const found: [line: number, codes: Cut[]][] = [];
  for (let index = heading + 1; index < page.lines.length && index <= heading + 30; index++) {
    const line = page.lines[index] ?? "";
    if (is.besideCodes.test(line)) continue;
    const lead = is.beforeCodes.exec(line)?.[0].length ?? 0;
    const codes = is.codeLine.test(line) ? spansOf(line.slice(lead), is.code, "recovery code") : [];
    if (codes.length === 0) break;
    found.push([index, codes.map(({ start, end, name }) => ({ start: lead + start, end: lead + end, name }))]);
  }
  if (found.flatMap(([, codes]) => codes).length >= fewestCodes)
    for (const [index, codes] of found) page.cut(index, codes);
}

interface Word extends Cut {
  word: string;
  line: number;
}

/** Cuts wallet recovery phrases by length and checksum, or below a heading. */
function cutSeeds(page: Page): void {
  let run: Word[] = [];
  const end = (): void => {
    let name: string | undefined = isSeed(run, page.lines) ? "recovery phrase" : undefined;
    if (name !== undefined)
      for (const [line, words] of Map.groupBy(run, (word) => word.line)) {
        page.cut(line, [{ start: words[0]?.start ?? 0, end: words.at(-1)?.end ?? 0, name }], true);
        name = undefined;
      }
    run = [];
  };
  for (const [index, line] of page.lines.entries()) {
    if (line.trim() === "") continue;
    const whole = is.seedLine.test(line) ? wordsOf(line, index) : [];
    if (whole.length > 0 && whole.every(({ word }) => seedIndex.has(word))) {
      run.push(...whole);
      continue;
    }
    end();
    if (!is.innerWords.test(line)) continue;
    run = innerRun(line, index);
    end();
  }
  end();
}

function isSeed(run: readonly Word[], lines: readonly string[]): boolean {
  const words = run.map(({ word }) => word);
  const [first] = run;
  if (!first || words.length < fewestWords || new Set(words).size < 0.75 * words.length) return false;
  const above = lines.slice(Math.max(0, first.line - namedAbove), first.line + 1);
  if (above.some((line) => is.seedName.test(line))) return true;
  const last = run.at(-1);
  const isOneLine =
    last?.line === first.line && !/[\d,|;]/.test((lines[first.line] ?? "").slice(first.start, last.end));
  return (isOneLine && words.length < 2.5 * fewestWords) || (seedCounts.has(words.length) && isChecked(words));
}

/** The last bits of a phrase are the first of the hash of the others. */
function isChecked(words: readonly string[]): boolean {
  const bits = words.map((word) => (seedIndex.get(word) ?? 0).toString(2).padStart(11, "0")).join("");
  const own = Math.floor(bits.length / 33);
  const entropy = bits.slice(0, bits.length - own).match(/.{8}/g) ?? [];
  const [first = 0] = createHash("sha256")
    .update(Uint8Array.from(entropy, (byte) => Number.parseInt(byte, 2)))
    .digest();
  return first.toString(2).padStart(8, "0").startsWith(bits.slice(-own));
}

function innerRun(line: string, index: number): Word[] {
  let longest: Word[] = [];
  let run: Word[] = [];
  for (const word of wordsOf(line, index)) {
    const isJoined = run.length > 0 && is.betweenWords.test(line.slice(run.at(-1)?.end, word.start));
    if (!isJoined || !seedIndex.has(word.word)) run = [];
    if (seedIndex.has(word.word)) run.push(word);
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

function wordsOf(text: string, line: number): Word[] {
  return spansOf(text, /\p{L}+/gu).map((span) => ({
    ...span,
    word: text.slice(span.start, span.end).toLowerCase(),
    line,
  }));
}
