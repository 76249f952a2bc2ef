import { expect } from "vitest";
import { parse } from "yaml";
import { type Random, randomFrom, randomSentence, randomText } from "@memslot/test-tools/random";
import { collectChecks } from "../../../test/support/collect-checks.ts";
import { chunkMarkdown } from "../chunk-markdown.ts";
import { decodeLines } from "../file-text.ts";
import { readNoteHead } from "../note-head.ts";
import { splitLongLine } from "../split-long-line.ts";
import { estimateTokens } from "../token-weight.ts";
import { indexTerms, queryTerms, scanTerms } from "../words.ts";

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
    const options = random.pick([
      { tokens: 400, overlap: 80 },
      { tokens: 60, overlap: 20 },
      { tokens: 200, overlap: 0 },
    ]);
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
    const [tokens, overlap] = random.pick([
      [40, 0],
      [40, 10],
      [100, 99],
    ] as const);
    let reached = 0;
    let from = 0;
    for (const piece of splitLongLine(text, tokens, overlap)) {
      check(estimateTokens(piece) <= tokens, `round ${round}: is too large`);
      const at = text.indexOf(piece, from);
      check(at >= 0, `round ${round}: is no part`);
      check(text.slice(reached, at).trim() === "", `round ${round}: lost text`);
      from = at + 1;
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
