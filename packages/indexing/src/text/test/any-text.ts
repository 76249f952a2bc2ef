import { expect } from "vitest";
import { parse } from "yaml";
import { type Random, randomFrom, randomSentence, randomText } from "@memslot/test-tools/random";
import { collectChecks } from "../../../test/support/collect-checks.ts";
import { chunkMarkdown } from "../chunk-markdown.ts";
import { decodeLines } from "../file-text.ts";
import { readNoteHead } from "../note-head.ts";
import { estimateTokens, splitLongLine } from "../split-by-tokens.ts";
import { queryTerms } from "../query-terms.ts";
import { indexTerms, scanTerms } from "../index-terms.ts";
import { isoDate } from "../times/calendar.ts";
import { readTimes } from "../times/read-times.ts";
import { timeOfPath } from "../times/note-days.ts";
import data from "./any-text.json" with { type: "json" };

const kinds: ((random: Random) => string)[] = [
  (random) => randomSentence(random, 40),
  (random) => randomSentence(random, 40),
  () => "",
  (random) => `${"#".repeat(1 + random.below(7))} ${randomSentence(random, 6)}`,
  (random) => `- ${randomSentence(random, 12)}`,
  (random) => random.pick(["```", "```ts", "~~~", "````", "---", "===", "| a | b |", "***", "  ", "...", "> quote"]),
  (random) =>
    randomText(random, 60)
      .toWellFormed()
      .replaceAll(/[\0\n\r]/g, " "),
  (random) => "数据库索引重建。".repeat(random.below(150)),
  (random) => "𠮷👍".repeat(random.below(400)),
  (random) => randomSentence(random, 900),
];

/** Chunks are the lines that they name, cover every line with a word, and respect the limit. */
export function expectSoundChunks({ seed, texts }: { seed: number; texts: number }): void {
  const random = randomFrom(seed);
  const { wrong, check } = collectChecks();
  for (let round = 0; round < texts; round++) {
    const lines = Array.from({ length: random.below(60) }, () => random.pick(kinds)(random));
    if (random.chance(0.3)) lines.unshift("---", "date: 2026-03-05", random.pick(["---", "...", "no end"]));
    const lineEnd = random.pick(["\n", "\r\n"]);
    const bytes = Buffer.from(`${random.pick(["", "\ufeff"])}${lines.join(lineEnd)}${random.pick(["", lineEnd])}`);
    const read = decodeLines(bytes);
    const head = readNoteHead(read, parse);
    const options = random.pick(data.chunking);
    const covered = new Set<number>();
    let previous = 0;
    for (const chunk of chunkMarkdown(read, options, { head })) {
      const own = read.slice(chunk.startLine - 1, chunk.endLine);
      const [first = ""] = own;
      const where = `round ${round}, line ${chunk.startLine}`;
      const piece = own.length === 1 && first.includes(chunk.text) && estimateTokens(first) > options.tokens - 1;
      check(own.join("\n") === chunk.text || piece, `${where}: is not what stands there`);
      check(chunk.text.isWellFormed(), `${where}: is cut inside a character`);
      check(estimateTokens(chunk.text) <= options.tokens, `${where}: is too large`);
      check(chunk.startLine >= previous, `${where}: comes late`);
      previous = chunk.startLine;
      for (let number = chunk.startLine; number <= chunk.endLine; number++) covered.add(number);
    }
    const isText = read.slice(head.lines).some((text) => text.trim() !== "");
    for (const [index, text] of read.entries()) {
      if (index < head.lines && !head.saysMore && isText) continue;
      check(covered.has(index + 1) || !/[\p{L}\p{N}]/u.test(text), `round ${round}, line ${index + 1}: is lost`);
    }
  }
  expect(wrong).toEqual([]);
}

/** Pieces of a long line are within the limit, parts of the line, in order, and lose nothing. */
export function expectSoundPieces({ seed, lines }: { seed: number; lines: number }): void {
  const random = randomFrom(seed);
  const { wrong, check } = collectChecks();
  for (let round = 0; round < lines; round++) {
    const text = (random.chance(0.5) ? randomSentence(random, 300) : randomText(random, 600)).toWellFormed();
    const [tokens, overlap] = random.pick(data.sizes as [number, number][]);
    let reached = 0;
    for (const piece of splitLongLine(text, tokens, overlap)) {
      check(estimateTokens(piece) <= tokens, `round ${round}: is too large`);
      // The same words may are in the line several times: a piece begins where the one before ended, or before that.
      const next = text.length - text.slice(reached).trimStart().length;
      const at = overlap === 0 ? text.indexOf(piece, reached) : text.lastIndexOf(piece, next);
      check(at >= 0 && at <= next, `round ${round}: lost text`);
      check(piece.isWellFormed(), `round ${round}: is cut inside a character`);
      reached = Math.max(reached, at + piece.length);
    }
    check(text.slice(reached).trim() === "", `round ${round}: lost text`);
  }
  expect(wrong).toEqual([]);
}

/** Terms are sound, and a text's own words find it. */
export function expectSoundTerms({ seed, texts }: { seed: number; texts: number }): void {
  const random = randomFrom(seed);
  const { wrong, check } = collectChecks();
  for (let round = 0; round < texts; round++) {
    const text = randomText(random, 24);
    const shown = JSON.stringify(text);
    const indexed = new Set<string>();
    const places: [number, number][] = [];
    scanTerms(text, (term, start, end) => {
      check(term !== "" && !/\s/.test(term), `${shown} gives the term ${JSON.stringify(term)}`);
      check(start >= 0 && end > start && end <= text.length, `${shown}: ${start} to ${end}`);
      indexed.add(term);
      places.push([start, end]);
    });
    check(indexTerms(text).split(" ").filter(Boolean).length === places.length, `${shown}: joined otherwise`);
    for (const query of [text, ...places.map(([start, end]) => text.slice(start, end))]) {
      const found = queryTerms(query);
      check(found.length <= 64, `${shown}: too many terms`);
      for (const { term, prefix } of found) {
        const known = indexed.has(term) || (prefix && [...indexed].some((other) => other.startsWith(term)));
        check(known, `${shown}: ${JSON.stringify(query)} asks for ${term}`);
      }
    }
  }
  expect(wrong).toEqual([]);
}

/** Terms have no white space, and are the same for composed and decomposed characters. */
export function expectSoundCharacters({ every, texts }: { every: number; texts: number }): void {
  const { wrong, check } = collectChecks();
  for (let code = 0; code <= 0x10_ffff; code += code < 0x3000 ? 1 : every)
    scanTerms(String.fromCodePoint(code), (term) =>
      check(term !== "" && !/\s/.test(term) && term.isWellFormed(), code.toString(16)),
    );
  const random = randomFrom(7);
  const terms = (text: string): string[] => {
    const found: string[] = [];
    scanTerms(text, (term) => found.push(term));
    return found;
  };
  for (let round = 0; round < texts; round++) {
    // Marks that follow no letter of their script change places when they are put in order.
    const text = randomText(random, 12).replaceAll(/[^\p{L}\p{N}\p{P}\s]/gu, "");
    check(terms(text.normalize("NFD")).join("\n") === terms(text.normalize("NFC")).join("\n"), JSON.stringify(text));
  }
  expect(wrong).toEqual([]);
}

const languages = ["en-US", "en-GB", "de-DE", "fr-FR", "es-ES", "pt-PT", "it-IT", "nl-NL", "ru-RU", "zh-CN"];
const readAt = new Date(2031, 5, 15);

/** A day as people of a language write it, by the tables of the runtime and not by ours. */
function written(day: Date, language: string, month: "long" | "numeric"): string {
  return new Intl.DateTimeFormat(language, { day: "numeric", month, year: "numeric", timeZone: "UTC" }).format(day);
}

function readBack(text: string): string {
  return readTimes(text, { now: readAt })
    .periods.map(({ from, to, unit }) => `${unit} ${isoDate(from)} ${to - from}`)
    .join(" & ");
}

/** Days of 1970 to 2030 read back from figures, from each language, from a question and from the name of a file. */
export function expectDaysReadBack({ seed, days }: { seed: number; days: number }): void {
  const random = randomFrom(seed);
  for (let round = 0; round < days; round++) {
    const day = new Date(Date.UTC(1970, 0, 1 + random.below(22_000)));
    const iso = day.toISOString().slice(0, 10);
    const [year = "", month = "", date = ""] = iso.split("-");
    const chinese = `${year}年${Number(month)}月${Number(date)}日`;
    const [english, german] = [written(day, "en-GB", "long"), written(day, "de-DE", "long")];
    const texts = [
      ...["-", "/", ".", "_", ""].map((between) => [year, month, date].join(between)),
      ...[".", "/"].map((between) => [date, month, year].join(between)),
      `${Number(date)}.${Number(month)}.${year}`,
      chinese,
      ...languages.map((language) => written(day, language, "long")),
      ...languages.filter((language) => language !== "en-US").map((language) => written(day, language, "numeric")),
      `what did Anna say on ${english} about the heating?`,
      `was war am ${german} mit der Heizung`,
      `我们在${written(day, "zh-CN", "long")}决定了什么`,
    ];
    for (const text of texts) expect(`${text}: ${readBack(text)}`).toBe(`${text}: day ${iso} 0`);
    const number = day.getTime() / 86_400_000;
    for (const name of [
      `${iso}.md`,
      `memory/${iso}-trip.md`,
      `journals/${year}_${month}_${date}.md`,
      `${year}/${month}/${date}.md`,
      `diary/${year}${month}${date}.md`,
      `日记/${chinese}.md`,
      `${written(day, "en-US", "long").replace(/(\d+),/, "$1th,")}.md`,
    ])
      expect([name, timeOfPath(name)]).toEqual([name, { from: number, to: number, unit: "day" }]);
  }
}
