import { isUtf8 } from "node:buffer";
import { withoutInjected } from "./strip-injected.ts";

export const textVersion = 3;

const sampleBytes = 64 * 1024;
/** Tolerated foreign bytes in a text file. */
const fewStrangers = 8;
const mostStrangers = 0.2;

const westernSigns = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
/** A character of UTF-8 that is no ASCII, or one byte that is none, in bytes that are written as Latin-1. */
const sequences =
  /([\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]|\xED[\x80-\x9F][\x80-\xBF]|[\xE1-\xEF][\x80-\xBF]{2}|\xF0[\x90-\xBF][\x80-\xBF]{2}|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2})|[\x80-\xFF]/g;
/** Words of another code page read as Windows-1252: western words have no long runs of accents. */
const foreignWords =
  /(?<![\p{L}\p{M}])[\x80-\xFFŒœŠšŽžŸƒ]{2,}(?![\p{L}\p{M}])|(?:([\x80-\x9F\xA1-\xFF€‚-…†-‡ˆ‰Š‹Œ‘-”•–—˜™š›œŽžŸƒ])(?!\1)){4,}/gu;
/** Signs and capitals between two small letters, where another code page has a letter. */
const foreignLetters = /(?<=\p{Ll})[\x81\x8D\x8F\x90\x9D\xA1-\xB3\xB5\xB6\xB8-\xDE×÷‚ƒ„†‡ˆ‰Š‹Œ“”˜›ŽŸ](?=\p{Ll})/gu;

/** No character of a text, private ones and controls included. */
const noText = /[\p{Cn}\p{Co}\p{Cs}\p{Cc}\uFFFD]/u;

/** Decodes a file: UTF-8, UTF-16 or Windows-1252. Valid UTF-8 always stays UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  const utf16 = utf16Of(bytes);
  // The decoder takes the byte order mark away.
  return utf16 === undefined && !isUtf8(bytes) ? mixedText(bytes) : new TextDecoder(utf16 ?? "utf-8").decode(bytes);
}

/** The text of a note: NUL becomes a space, and what `withoutInjected` finds becomes blank lines. */
export function noteText(bytes: Uint8Array): string {
  if (!bytes.includes(0) || !isUtf8(bytes) || utf16Of(bytes) !== undefined)
    return withoutInjected(decodeText(bytes).replaceAll("\0", " "));
  // There can be as many as there are bytes.
  const copy = bytes.slice();
  for (let at = 0; at < copy.length; at++) if (copy[at] === 0) copy[at] = 0x20;
  return withoutInjected(decodeText(copy));
}

export function decodeLines(bytes: Uint8Array): string[] {
  return splitLines(noteText(bytes));
}

/** Code of the sentence why bytes are not text; undefined for text with a few invalid bytes. Ignores trailing NULs. */
export function whyNotText(bytes: Uint8Array): "file.nul" | "file.notText" | undefined {
  const sample = bytes.subarray(0, sampleBytes);
  const utf16 = utf16Of(sample);
  const isWhole = sample.length === bytes.length;
  // A character that the sample cuts in two is none of the strangers.
  const isPlain = utf16 !== undefined || isUtf8(isWhole ? sample : sample.subarray(0, lastStart(sample)));
  const decoded = isPlain ? new TextDecoder(utf16 ?? "utf-8").decode(sample, { stream: !isWhole }) : mixedText(sample);
  const text = decoded.replace(/\0+$/, "");
  if (text === "" && decoded !== "") return "file.nul";
  const unknown = "file.notText";
  if (!isPlain) {
    const foreign = text.match(foreignWords)?.join("").length ?? 0;
    const letters = text.match(/\p{L}/gu)?.length ?? 0;
    const inWords = text.match(foreignLetters)?.length ?? 0;
    if (foreign > letters * (foreign > fewStrangers ? 0.1 : 0.5)) return unknown;
    if (inWords > 2 && inWords * 20 > (text.match(/[\x80-\u{10FFFF}]/gu)?.length ?? 0)) return unknown;
  }
  let strangers = 0;
  for (let index = 0; index < text.length; index++) if (isStrange(text.charCodeAt(index))) strangers++;
  return strangers > fewStrangers && strangers > text.length * mostStrangers ? unknown : undefined;
}

function lastStart(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return (bytes[start] ?? 0) < 0x80 ? bytes.length : start;
}

/** Control characters that no editor writes, and what takes the place of bytes that are no character. */
function isStrange(code: number): boolean {
  // Bell to carriage return are used in text now and then, and escape begins the colours of a terminal.
  const isControl = code < 32 ? (code < 7 || code > 13) && code !== 27 : code >= 0x7f && code < 0xa0 && code !== 0x85;
  return isControl || code === 0xfffd;
}

/** By byte order mark, else by NULs in every other byte. */
function utf16Of(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const sample = bytes.subarray(0, Math.min(bytes.length, sampleBytes) & ~1);
  if (!sample.includes(0)) return undefined;
  const zeros: [even: number, odd: number] = [0, 0];
  const pages: typeof zeros = [0, 0];
  let ascii = 0;
  for (const [index, byte] of sample.entries()) {
    const side = index % 2 === 0 ? 0 : 1;
    if (byte === 0) zeros[side]++;
    if (byte < 0x20) pages[side]++;
    else if (byte < 0x80) ascii++;
  }
  const pairs = sample.length / 2;
  const high = zeros[1] > zeros[0] ? 1 : 0;
  if (zeros[high] === 0 || Math.min(...zeros) > pairs * 0.01 || bytes.length % 2 === 1) return undefined;
  const encoding = high === 1 ? "utf-16le" : "utf-16be";
  if (pages[high] > pairs * 0.9 && zeros[high] > 1) return encoding;
  // Of scripts with many letters only the line ends and spaces have a NUL.
  if (ascii > pairs * 1.5 || isUtf8(bytes)) return undefined;
  return noText.test(new TextDecoder(encoding).decode(sample, { stream: true }).replaceAll(/\s/gu, ""))
    ? undefined
    : encoding;
}

/** UTF-8 with bytes of Windows-1252 in it, or all of it Windows-1252, where few bytes are anything else. */
function mixedText(bytes: Uint8Array): string {
  const written = Buffer.from(bytes)
    .toString("latin1")
    .replace(/^\xEF\xBB\xBF/, "");
  let [valid, single] = [0, 0];
  for (const [, utf8] of written.matchAll(sequences))
    if (utf8 === undefined) single++;
    else valid++;
  const western = (text: string): string =>
    text.replaceAll(/[\x80-\x9F]/g, (sign) => westernSigns.charAt(sign.charCodeAt(0) - 0x80));
  if (valid * 4 < single) return western(written);
  return written.replaceAll(sequences, (piece, utf8?: string) =>
    utf8 === undefined ? western(piece) : Buffer.from(utf8, "latin1").toString(),
  );
}

/** Splits at LF or CRLF. `isKept` gets each line and the number of lines kept before. */
export function splitLines(text: string, isKept?: (line: string, kept: number) => boolean): string[] {
  return linesFrom(text, 0, Infinity, isKept);
}

function linesFrom(text: string, begin: number, count: number, isKept?: Parameters<typeof splitLines>[1]): string[] {
  const lines: string[] = [];
  for (let start = begin; start < text.length && lines.length < count;) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const line = text.slice(start, found > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end);
    if (isKept?.(line, lines.length) !== false) lines.push(line);
    start = end + 1;
  }
  return lines;
}

/** Maximum number of lines read to find one. */
const linesOfMark = 4096;

export class TextLines {
  readonly #text: string;
  readonly #marks = [0];

  constructor(text: string) {
    this.#text = text;
  }

  /** From the first to the last line, 1-based and inclusive; fewer where the text ends before. */
  slice(first: number, last: number): string[] {
    const from = Math.floor((first - 1) / linesOfMark);
    let at = this.#marks[this.#markUpTo(from)] ?? 0;
    if (from >= this.#marks.length) return [];
    for (let line = from * linesOfMark + 1; line < first; line++) {
      const end = this.#text.indexOf("\n", at);
      if (end < 0) return [];
      at = end + 1;
    }
    return linesFrom(this.#text, at, last - first + 1);
  }

  count(): number {
    const mark = this.#markUpTo(Infinity);
    return mark * linesOfMark + linesFrom(this.#text, this.#marks[mark] ?? 0, Infinity).length;
  }

  /** Reads up to a mark, or to the end, and returns the last mark. Single characters are fastest. */
  #markUpTo(mark: number): number {
    const text = this.#text;
    let lines = 0;
    for (let at = this.#marks.at(-1) ?? 0; this.#marks.length <= mark && at < text.length; at++)
      if (text.charCodeAt(at) === 10 && ++lines % linesOfMark === 0) this.#marks.push(at + 1);
    return Math.min(mark, this.#marks.length - 1);
  }
}

/** The lines of a file that was cut into these chunks, which share some. A line that no chunk has is empty. */
export function linesOfChunks(chunks: readonly { startLine: number; text: string }[]): string[] {
  const lines: string[] = [];
  for (const { startLine, text } of chunks)
    for (const [index, line] of text.split("\n").entries()) lines[startLine - 1 + index] ??= line;
  return Array.from(lines, (line) => line ?? "");
}
