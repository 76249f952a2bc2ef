/** The lines of a file, as editors and `grep -n` count them. */
export function decodeLines(bytes: Uint8Array): string[] {
  return splitLines(decodeText(bytes));
}

/**
 * What a file's bytes say: UTF-8, or UTF-16 where a byte order mark says so. Bytes that are neither become U+FFFD; NUL
 * becomes a space.
 */
export function decodeText(bytes: Uint8Array): string {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  // The decoder takes the byte order mark away.
  const decoder = new TextDecoder(encoding);
  if (encoding !== "utf-8") return withoutConnectBlock(decoder.decode(bytes).replaceAll("\0", " "));
  if (!bytes.includes(0)) return withoutConnectBlock(decoder.decode(bytes));
  // There can be as many as there are bytes.
  const copy = bytes.slice();
  for (let at = 0; at < copy.length; at++) if (copy[at] === 0) copy[at] = 0x20;
  return withoutConnectBlock(decoder.decode(copy));
}

/** The lines around the block that `memslot connect` writes into CLAUDE.md, AGENTS.md and GEMINI.md. */
export const connectMarkers = {
  begin: "<!-- memslot connect: begin -->",
  end: "<!-- memslot connect: end -->",
} as const;
const connectBlock = new RegExp(`^[ \\t]*${connectMarkers.begin}[^]{0,4000}?${connectMarkers.end}`, "gmu");

/** Empties the lines of that block, which is an instruction to a model and no note. */
export function withoutConnectBlock(text: string): string {
  return text.includes(connectMarkers.begin)
    ? text.replaceAll(connectBlock, (block) => block.replaceAll(/[^\r\n]/gu, ""))
    : text;
}

/**
 * Lines end at LF or CRLF. A final line end does not begin another line. `isKept` is given each line with the number of those
 * that were kept before it.
 */
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

/** So many lines are passed at most to come to one that is asked for. */
const linesOfMark = 4096;

/** The lines of a text, of which only those that are asked for are cut. */
export class TextLines {
  readonly #text: string;
  /** Where every 4,096th line begins, as far as the text was read. */
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

  /** How many lines there are. */
  count(): number {
    const mark = this.#markUpTo(Infinity);
    return mark * linesOfMark + linesFrom(this.#text, this.#marks[mark] ?? 0, Infinity).length;
  }

  /** Reads until the mark is known, or to the end, and gives the last mark up to it. Looks at single characters, which is fastest. */
  #markUpTo(mark: number): number {
    const text = this.#text;
    let lines = 0;
    for (let at = this.#marks.at(-1) ?? 0; this.#marks.length <= mark && at < text.length; at++)
      if (text.charCodeAt(at) === 10 && ++lines % linesOfMark === 0) this.#marks.push(at + 1);
    return Math.min(mark, this.#marks.length - 1);
  }
}
