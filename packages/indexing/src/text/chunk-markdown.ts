import { createHash } from "node:crypto";
import { furtherData } from "./encoded-data.ts";
import { embeddedContext, type FileContext, foldedTitle } from "./note-context.ts";
import { headingOf } from "./note-head.ts";
import { estimateTokens, splitLongLine, surrogateSafe } from "./split-by-tokens.ts";

/** Part of every recipe. Increment it when chunks change. */
export const chunkerVersion = 4;

export interface ChunkingOptions {
  tokens: number;
  /** Estimated tokens of the end of one chunk that the next begins with. Less than `tokens`. */
  overlap: number;
}

/** A run of lines, 1-based and inclusive, with the headings above it. */
export interface TextChunk {
  startLine: number;
  endLine: number;
  text: string;
  /** `above` and the headings, joined by ` > `; then `beside` on separate lines. */
  context: string;
  /** SHA-256 of context and text. */
  hash: string;
}

const maxTitleLength = 200;
const maxContextLength = 1000;

interface Line {
  number: number;
  text: string;
  tokens: number;
}

/** Cuts a Markdown file into chunks of whole lines, at headings if possible. A generator, for slices. */
export function* chunkMarkdown(
  lines: readonly string[],
  options: ChunkingOptions,
  file: FileContext = {},
): Generator<TextChunk> {
  const { above = [], beside = "", head = { lines: 0, saysMore: false } } = file;
  const known = new Set(above.map((name) => foldedTitle(name)));
  const headings: string[] = [];
  let pending: Line[] = [];
  let pendingTokens = 0;
  /** Pending lines that are repeated from the previous chunk. */
  let carried = 0;
  let context = contextOf([]);
  let fence: string | undefined;
  const isCut = head.saysMore || !lines.some((line, index) => index >= head.lines && line.trim() !== "");

  function contextOf(titles: readonly string[]): string {
    const names = [...above, ...titles.filter((title) => !known.has(foldedTitle(title)))].filter(Boolean);
    return [names.join(" > "), beside].map(bounded).filter(Boolean).join("\n");
  }

  function* flush(carryOver: boolean): Generator<TextChunk> {
    const isNew = pending.slice(carried).some((line) => line.text.trim() !== "");
    const chunk = isNew ? toChunk(pending, context) : undefined;
    if (chunk) yield chunk;
    pending = chunk && carryOver ? tailWithin(pending, options.overlap) : [];
    carried = pending.length;
    pendingTokens = pending.reduce((sum, line) => sum + line.tokens, 0);
    context = contextOf(headings);
  }

  for (let index = isCut ? 0 : head.lines; index < lines.length; index++) {
    const text = lines[index] ?? "";
    if (text === furtherData) {
      yield* flush(false);
      continue;
    }
    const line: Line = { number: index + 1, text, tokens: estimateTokens(text) + 0.25 };
    const inFrontMatter = index < head.lines;
    if (index === head.lines && index > 0) yield* flush(false);
    const opensFence = !inFrontMatter && fence === undefined ? startsFence(text) : undefined;
    const heading = inFrontMatter || fence !== undefined || opensFence ? undefined : headingAt(lines, index);

    if (heading) {
      if (pendingTokens > options.tokens / 2) yield* flush(false);
      headings.length = heading.level - 1;
      headings[heading.level - 1] = heading.title;
      if (pending.length === 0) context = contextOf(headings.slice(0, -1));
    }
    if (opensFence) fence = opensFence;
    else if (fence !== undefined && isFenceEnd(text, fence)) {
      fence = undefined;
      if (lines[index - 1] === furtherData) continue;
    }

    if (line.tokens > options.tokens) {
      yield* flush(false);
      for (const piece of splitLongLine(text, options.tokens, options.overlap)) {
        const chunk = toChunk([{ ...line, text: piece }], context);
        if (chunk) yield chunk;
      }
      continue;
    }
    const needed = opensFence ? fencedTokens(lines, index, opensFence, options.tokens) : line.tokens;
    if (pending.length > 0 && pendingTokens + needed > options.tokens) {
      yield* flush(true);
      while (pending.length > 0 && pendingTokens + needed > options.tokens) {
        pendingTokens -= pending.shift()?.tokens ?? 0;
        carried--;
      }
    }
    pending.push(line);
    pendingTokens += line.tokens;
  }
  yield* flush(false);
}

function bounded(text: string): string {
  return text.slice(0, surrogateSafe(text, maxContextLength));
}

/** The title of a level-1 heading that was passed, so that front matter and setext headings count too. */
function headingAt(lines: readonly string[], index: number): { level: number; title: string } | undefined {
  const heading = headingOf(lines[index] ?? "");
  if (heading) return { ...heading, title: heading.title.slice(0, surrogateSafe(heading.title, maxTitleLength)) };
  const level = setextLevel(lines[index] ?? "", lines[index + 1] ?? "");
  return level ? { level, title: (lines[index] ?? "").trim() } : undefined;
}

function isFenceEnd(text: string, fence: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith(fence) && trimmed.replaceAll(fence[0] ?? "`", "") === "";
}

/** Tokens of a code block if it fits into a chunk, else of its first line. */
function fencedTokens(lines: readonly string[], start: number, fence: string, limit: number): number {
  let sum = 0;
  for (let index = start; index < lines.length; index++) {
    const text = lines[index] ?? "";
    sum += estimateTokens(text) + 0.25;
    if (sum > limit) return estimateTokens(lines[start] ?? "") + 0.25;
    if (index > start && isFenceEnd(text, fence)) return sum;
  }
  return sum;
}

function tailWithin(lines: readonly Line[], tokens: number): Line[] {
  let sum = 0;
  let start = lines.length;
  while (start > 0 && sum + (lines[start - 1]?.tokens ?? 0) <= tokens) sum += lines[--start]?.tokens ?? 0;
  return lines.slice(start);
}

function toChunk(lines: readonly Line[], context: string): TextChunk | undefined {
  const first = lines.findIndex((line) => line.text.trim() !== "");
  if (first < 0) return undefined;
  const last = lines.findLastIndex((line) => line.text.trim() !== "");
  const kept = lines.slice(first, last + 1);
  const text = kept.map((line) => line.text).join("\n");
  if (!/[\p{L}\p{N}\p{S}]/u.test(text)) return undefined;
  return {
    startLine: kept[0]?.number ?? 1,
    endLine: kept.at(-1)?.number ?? 1,
    text,
    context,
    hash: chunkHash({ context, text }),
  };
}

export function chunkHash({ context, text }: { context: string; text: string }): string {
  return createHash("sha256").update(embeddedContext(context)).update("\0").update(text).digest("hex");
}

// Expressions must be linear: a line can be as long as a file.
const fenceMarks = /^ {0,3}(`{3,}|~{3,})/;

function setextLevel(line: string, next: string): 1 | 2 | undefined {
  if (line.trim() === "" || /^\s*([-*+>|]|\d+[.)])/.test(line) || line.trim().length > 200) return undefined;
  if (/^=+\s*$/.test(next) && next.length > 1) return 1;
  return /^-{3,}\s*$/.test(next) ? 2 : undefined;
}

function startsFence(line: string): string | undefined {
  const match = fenceMarks.exec(line);
  // Back-ticks that come again in the same line are code inside a sentence.
  return match?.[1]?.startsWith("`") && line.includes("`", match[0].length) ? undefined : match?.[1];
}
