import bip39 from "./bip39.json" with { type: "json" };
import { createHash } from "node:crypto";
import { lineSigns } from "./line-signs.ts";
import type { Cut, Page } from "./page.ts";
import { patternsOf } from "./patterns.ts";
import { findBehind } from "./rule-logins.ts";

const is = patternsOf("lists");

/** An entry of a `.netrc` has so many lines at most. */
const netrcLines = 6;

const fewestCodes = 3;

const seedIndex = new Map(bip39.split(" ").map((word, index) => [word, index]));
const seedCounts = new Set([12, 15, 18, 21, 24]);
const fewestWords = 12;
const namedAbove = 6;

/** Cuts secrets that take several lines and have neither a shape nor a name on their own line. */
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

/** Where a Kubernetes `Secret` ends. Its kind may stand before its data or behind. */
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
    const codes = is.codeLine.test(line) ? Array.from(line.slice(lead).matchAll(is.code)) : [];
    if (codes.length === 0) break;
    const cuts = codes.map(({ 0: all, index: at }) => ({ start: lead + at, end: lead + at + all.length }));
    found.push([index, cuts.map((cut) => ({ ...cut, name: "recovery code" }))]);
  }
  if (found.flatMap(([, codes]) => codes).length >= fewestCodes)
    for (const [index, codes] of found) page.cut(index, codes);
}

interface Word {
  word: string;
  line: number;
  start: number;
  end: number;
}

/**
 * Words that a wallet is restored with, wherever they stand: in one line, numbered, one in a line, in a table. Without
 * a name above them they have to be as many as such phrases have, and their checksum has to be right where they could be
 * an ordinary list.
 */
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
  // Hardly a word stands twice in a phrase that was drawn by lot.
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

/** The longest row of words of the list in a line that holds something else too. */
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
  return Array.from(text.matchAll(/\p{L}+/gu), ({ 0: all, index }) => ({
    word: all.toLowerCase(),
    line,
    start: index,
    end: index + all.length,
  }));
}
