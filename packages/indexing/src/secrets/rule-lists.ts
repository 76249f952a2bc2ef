import bip39 from "./bip39.json" with { type: "json" };
import { createHash } from "node:crypto";
import { lineSigns } from "./line-signs.ts";
import { isExample } from "./looks.ts";
import type { Cut, Page } from "./page.ts";

/** An entry of a `.netrc` has so many lines at most. */
const netrcLines = 6;
const machine = /^[\s>|*"'`-]{0,12}(?:machine\s{1,8}\S{1,200}|default)(?=\s{0,8}$|\s{1,8}(?:login|password|account)\s)/;
const netrcLine = /^[\s>|]{0,12}(?:(?:login|password|account|macdef)\s{1,8}\S{1,300}\s{0,8}){1,3}$/;
const login = /(?:^|[\s"'`>|])login\s{1,8}\S/;
const netrcPassword = /((?:^|[\s"'`>|])(?:password|account)\s{1,8})([!-~]{4,300})/g;

/** A manifest ends where a document or a block of code does. */
const manifestEnd = /^\s{0,12}(?:-{3}|\.{3}|`{3,}|~{3,})\w{0,20}\s{0,9}$/;
const kindSecret = /^[\s>|{,-]{0,40}["']?kind["']?\s{0,4}:\s{0,4}["']?Secret["']?\s{0,4},?\s{0,9}$/;
const manifestData = /^([\s>|]{0,60})["']?(?:data|stringData)["']?\s{0,4}:\s{0,4}\{?\s{0,9}$/;
const manifestFlow = /^[\s>|]{0,60}["']?(?:data|stringData)["']?\s{0,4}:\s{0,4}\{.{1,4000}\}/;
const manifestValue = /((?:^|[\s{,])["']?[\w./-]{1,200}["']?\s{0,4}:\s{1,4}["']?)([^\s"'{},|>&*#[][^\s"'{},]{0,8000})/g;
const manifestLine = /^([\s>|]{0,60})[^\s]/;

/** How a list of codes for the case of need is headed. */
const codesHeading =
  /\b(?:recovery|backup|scratch|rescue|emergency|one[- ]time|2fa|mfa|wiederherstellungs|notfall)[ -]?codes?\b/i;
const codeLine = /^[\s>|*+`\d.):-]{0,16}?(?:[A-Za-z0-9]{3,12}(?:[ -][A-Za-z0-9]{3,12}){0,5}[\s`|,;]{0,6}){1,10}$/;
const code = /(?=[A-Za-z-]{0,30}\d)[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,12}){0,7}/g;
const fewestCodes = 3;

const seedWords = new Set(bip39.split(" "));
const seedIndex = new Map(bip39.split(" ").map((word, index) => [word, index]));
const seedCounts = new Set([12, 15, 18, 21, 24]);
const fewestWords = 12;
/** What a list of such words is named by, in the lines above it. */
const seedName =
  /\b(?:seed|mnemonic|bip-?39|metamask|ledger|trezor|phantom|electrum|wallets?|bitcoin|ethereum|solana|crypto|coldcard|keystone|exodus|monero)\b|\b(?:recovery|backup|secret)[ _-]{0,2}(?:phrase|words?|seed)|助记词|種子|シード/i;
const namedAbove = 6;
const betweenWords = /^[\s>|*+_`"'\d.,;:)(#[\]{}/\\-]*$/;
/** What a line must look like to hold nothing but words that can be of a phrase. */
const seedLine = /^[\s>|*+_`"'\d.,;:)(#[\]{}/\\-]*(?:[A-Za-z]{3,8}(?:[\s>|*+_`"'\d.,;:)(#[\]{}/\\-]+|$))+$/;
const fence = /^\s{0,12}(?:`{3,}|~{3,})/;

/** Cuts secrets that take several lines and have neither a shape nor a name on their own line. */
export function cutLists(page: Page, signs: readonly number[]): void {
  const { lines } = page;
  let manifestDone = 0;
  for (const [index, line] of lines.entries()) {
    if (line.length < 4) continue;
    if (machine.test(line)) cutNetrc(page, index);
    if (index >= manifestDone && kindSecret.test(line)) manifestDone = cutManifest(page, index, manifestDone);
    if (((signs[index] ?? 0) & lineSigns.codes) !== 0 && codesHeading.test(line)) cutCodes(page, index);
  }
  cutSeeds(page, signs);
}

function cutNetrc(page: Page, index: number): void {
  const below = page.lines.slice(index + 1, index + netrcLines);
  const end = below.findIndex((line) => !netrcLine.test(line));
  const own = [page.lines[index] ?? "", ...(end < 0 ? below : below.slice(0, end))];
  if (!own.some((line) => login.test(line))) return;
  for (const [at, line] of own.entries()) page.cut(index + at, given(line, netrcPassword, "password"));
}

function given(line: string, pattern: RegExp, name: string): Cut[] {
  return Array.from(line.matchAll(pattern)).flatMap(({ 1: before = "", 2: secret = "", index }) => {
    const start = index + before.length;
    if (secret.startsWith("[redacted") || /^[$%<{(]/.test(secret) || isExample(secret)) return [];
    return [{ start, end: start + secret.length, name }];
  });
}

/** Where a Kubernetes `Secret` ends. Its kind may stand before its data or behind. */
function cutManifest(page: Page, kind: number, after: number): number {
  const { lines } = page;
  let first = kind;
  while (first > after && !manifestEnd.test(lines[first - 1] ?? "")) first--;
  let end = kind + 1;
  while (end < lines.length && !manifestEnd.test(lines[end] ?? "")) end++;
  let indent: number | undefined;
  for (let index = first; index < end; index++) {
    const line = lines[index] ?? "";
    const [, lead] = manifestLine.exec(line) ?? [];
    if (lead === undefined) continue;
    if (manifestFlow.test(line))
      page.cut(
        index,
        given(
          line.replace(/^[^{]*/, (head) => " ".repeat(head.length)),
          manifestValue,
          "Kubernetes secret",
        ),
      );
    else if (indent === undefined || lead.length <= indent) indent = manifestData.exec(line)?.[1]?.length;
    else if (!page.cut(index, given(line, manifestValue, "Kubernetes secret")) && !/:\s*[|>][+-]?\s*$/.test(line))
      page.cut(index, textOf(line, "Kubernetes secret"));
  }
  return end;
}

/** All that a line of a longer text says. */
function textOf(line: string, name: string): Cut[] {
  const [, lead = ""] = /^([\s>|]*)\S/.exec(line) ?? [];
  const text = line.slice(lead.length).trimEnd();
  return text.length < 4 || text.includes("[redacted") || text.startsWith("#")
    ? []
    : [{ start: lead.length, end: lead.length + text.length, name }];
}

/** Codes in the lines below a heading, up to the first that holds something else. */
function cutCodes(page: Page, heading: number): void {
  const found = new Map<number, Cut[]>();
  for (let index = heading + 1; index < page.lines.length && index <= heading + 30; index++) {
    const line = page.lines[index] ?? "";
    if (line.trim() === "" || fence.test(line) || /^[\s|:-]*$/.test(line)) continue;
    if (!codeLine.test(line)) break;
    const lead = /^[\s>|*+]*(?:\d{1,2}[.):]\s+)?/.exec(line)?.[0].length ?? 0;
    const codes = Array.from(line.slice(lead).matchAll(code), ({ 0: all, index: at }) => ({
      start: lead + at,
      end: lead + at + all.length,
      name: "recovery code",
    }));
    if (codes.length === 0) break;
    found.set(index, codes);
  }
  const count = [...found.values()].flat().length;
  if (count >= fewestCodes) for (const [index, cuts] of found) page.cut(index, cuts);
}

interface SeedRun {
  words: string[];
  spots: { line: number; start: number; end: number }[];
  isNamed: boolean;
  isOneLine: boolean;
}

/**
 * Words that a wallet is restored with, wherever they stand: in one line, numbered, one in a line, in a table. Without
 * a name above them they have to be as many as such phrases have, and their checksum has to be right where they could be
 * an ordinary list.
 */
function cutSeeds(page: Page, signs: readonly number[]): void {
  const { lines } = page;
  let run: SeedRun | undefined;
  const end = (): void => {
    if (run !== undefined && isSeed(run)) {
      const byLine = new Map<number, Cut>();
      for (const { line, start, end: to } of run.spots)
        byLine.set(line, { start: byLine.get(line)?.start ?? start, end: to });
      let name: string | undefined = "recovery phrase";
      for (const [line, cut] of byLine) {
        page.cut(line, [{ ...cut, name }], true);
        name = undefined;
      }
    }
    run = undefined;
  };
  const isNamed = (index: number): boolean =>
    lines.slice(Math.max(0, index - namedAbove), index + 1).some((line) => seedName.test(line));
  for (const [index, line] of lines.entries()) {
    if (line === "" || line.trim() === "") continue;
    const whole = seedLine.test(line) ? wholeRun(line) : [];
    const isCandidate = whole.length > 0;
    if (!isCandidate) end();
    if (!isCandidate && ((signs[index] ?? 0) & lineSigns.words) === 0) continue;
    const spots = isCandidate ? whole : innerRun(line);
    if (spots.length === 0) continue;
    run ??= { words: [], spots: [], isNamed: isNamed(index), isOneLine: true };
    const between = line.slice(spots[0]?.start, spots.at(-1)?.end);
    run.isOneLine &&= run.words.length === 0 && !/[\d,|;]/.test(between);
    for (const { word, ...spot } of spots) {
      run.words.push(word);
      run.spots.push({ line: index, ...spot });
    }
    if (!isCandidate) end();
  }
  end();
}

function isSeed({ words, isNamed, isOneLine }: SeedRun): boolean {
  if (words.length < fewestWords) return false;
  return isNamed || isOneLine || (seedCounts.has(words.length) && isChecked(words));
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

interface Spot {
  word: string;
  start: number;
  end: number;
}

/** The words of a line; none where one of them is not of the list. */
function wholeRun(line: string): Spot[] {
  const spots = wordsOf(line);
  return spots.every(({ word }) => seedWords.has(word)) ? spots : [];
}

/** The longest row of words of the list in a line that holds something else too; none where it is too short. */
function innerRun(line: string): Spot[] {
  let longest: Spot[] = [];
  let spots: Spot[] = [];
  for (const spot of wordsOf(line)) {
    const isJoined = spots.length > 0 && betweenWords.test(line.slice(spots.at(-1)?.end, spot.start));
    if (!isJoined || !seedWords.has(spot.word)) spots = [];
    if (seedWords.has(spot.word)) spots.push(spot);
    if (spots.length > longest.length) longest = spots;
  }
  return longest.length < fewestWords ? [] : longest;
}

function wordsOf(line: string): Spot[] {
  return Array.from(line.matchAll(/\p{L}+/gu), ({ 0: all, index }) => ({
    word: all.toLowerCase(),
    start: index,
    end: index + all.length,
  }));
}
