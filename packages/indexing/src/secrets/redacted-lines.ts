import table from "./entities.json" with { type: "json" };
import { patternsOf } from "./word-checks.ts";

const sliceCharacters = 64_000;

export type Slices<Result> = Generator<void, Result, void>;

export function countSlices(): (line: string) => boolean {
  let characters = 0;
  return (line) => {
    characters += line.length + 1;
    if (characters < sliceCharacters) return false;
    characters = 0;
    return true;
  };
}

export interface Cut {
  start: number;
  end: number;
  name?: string | undefined;
}

export interface FoundSecret {
  line: number;
  kind: string;
  /** Whether its own shape gives it away, rather than a name or a place. */
  isCertain: boolean;
}

/** The lines that rules match. Cuts in a folded line are made in the original as well. */
export class Page {
  readonly lines: string[];
  readonly found: FoundSecret[] = [];
  readonly #folded = new Map<number, Stretch[]>();

  constructor(lines: readonly string[], isFolded = false) {
    this.lines = [...lines];
    if (!isFolded) return;
    for (const [index, line] of lines.entries()) {
      const folded = foldLine(line);
      if (folded === undefined) continue;
      this.#folded.set(index, folded);
      this.lines[index] = seenIn(folded);
    }
  }

  get foldedLines(): number {
    return this.#folded.size;
  }

  isFolded(index: number): boolean {
    return this.#folded.has(index);
  }

  /** Makes cuts in a line, in ascending order and without overlap. Reports whether there were any. */
  cut(index: number, cuts: readonly Cut[], isCertain = false): boolean {
    if (cuts.length === 0) return false;
    for (const { name } of cuts) if (name !== undefined) this.found.push({ line: index + 1, kind: name, isCertain });
    const parts = cuts.map(({ start, end, name }) => {
      const mark = name === undefined ? "" : `[redacted: ${name}]`;
      return { start, end, seen: mark, written: mark };
    });
    const line = this.lines[index] ?? "";
    const folded = this.#folded.get(index);
    const replaced = replaceParts(folded ?? [{ seen: line, written: line }], parts);
    if (folded) this.#folded.set(index, replaced);
    this.lines[index] = seenIn(replaced);
    return true;
  }

  restored(): string[] {
    return this.lines.map((line, index) => {
      const folded = this.#folded.get(index);
      return folded === undefined ? line : folded.map(({ written }) => written).join("");
    });
  }
}

const is = patternsOf("fold");

interface Stretch {
  readonly seen: string;
  readonly written: string;
  /** Whether a part of it cannot be replaced alone. */
  readonly isWhole?: boolean;
}

/** What takes the place of a part of the text that is seen. Without `written` the line keeps what it has there. */
interface Part {
  start: number;
  end: number;
  seen: string;
  written?: string;
}

const entities: Readonly<Record<string, string>> = table;
/** An ampersand or a percent sign may be encoded itself. */
const deepest = 3;

/** A line as a reader sees it; undefined if it reads as it is written. */
function foldLine(line: string): Stretch[] | undefined {
  if (!/[\\&%=<*`\u0080-\uffff]/.test(line) || !is.worth.test(line)) return undefined;
  let folded: Stretch[] = [{ seen: line, written: line }];
  for (let round = 0; round < deepest; round++) {
    const parts = Array.from(seenIn(folded).matchAll(is.disguise)).flatMap((match): Part[] => {
      const seen = plainOf(match);
      return seen === undefined ? [] : [{ start: match.index, end: match.index + match[0].length, seen }];
    });
    if (parts.length === 0) break;
    folded = replaceParts(folded, parts);
  }
  return seenIn(folded) === line ? undefined : folded;
}

function seenIn(line: readonly Stretch[]): string {
  return line.map(({ seen }) => seen).join("");
}

/** Replaces visible parts, in ascending order without overlap; invisible text around them stays. */
function replaceParts(line: readonly Stretch[], parts: readonly Part[]): Stretch[] {
  const result: Stretch[] = [];
  let at = 0;
  let next = 0;
  let isInside = false;
  for (const stretch of splitAtParts(line, parts)) {
    for (; at >= (parts[next]?.end ?? Infinity); next++) isInside = false;
    const part = parts[next];
    const end = at + stretch.seen.length;
    if (part === undefined || at >= part.end || end <= part.start) result.push(stretch);
    else {
      const before = isInside ? result.pop()?.written : undefined;
      result.push({ seen: part.seen, written: part.written ?? (before ?? "") + stretch.written, isWhole: true });
      isInside = true;
    }
    at = end;
  }
  return result;
}

function* splitAtParts(line: readonly Stretch[], parts: readonly Part[]): Generator<Stretch> {
  const borders = parts.flatMap(({ start, end }) => [start, end]);
  let at = 0;
  let next = 0;
  for (const stretch of line) {
    const end = at + stretch.seen.length;
    let done = at;
    for (; (borders[next] ?? end) < end; next++) {
      const border = borders[next] ?? end;
      if (stretch.isWhole === true || border <= done) continue;
      const piece = stretch.seen.slice(done - at, border - at);
      yield { seen: piece, written: piece };
      done = border;
    }
    const rest = stretch.seen.slice(done - at);
    yield done === at ? stretch : { seen: rest, written: rest };
    at = end;
  }
}

/** What a disguised character is; empty for one that is not seen, undefined for one that is none. */
function plainOf(match: RegExpExecArray): string | undefined {
  const [all, unicode, byte, escaped, decimal, hexadecimal, entity, percent, quoted] = match;
  if (escaped !== undefined) return escaped;
  if (entity !== undefined) return entities[entity];
  const hex = unicode ?? byte ?? hexadecimal ?? percent ?? quoted;
  if (hex !== undefined || decimal !== undefined) {
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    if (code === 0xad || (code >= 0x200b && code <= 0x200d) || code === 0x2060 || code === 0xfeff) return "";
    if (code === 0xa0) return " ";
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : undefined;
  }
  if (/^[\u2010-\u2015\u2212]/.test(all)) return "-";
  const plain = all.normalize("NFKC");
  if (plain !== all && /^[\x21-\x7e]+$/.test(plain)) return plain;
  return /^[<*`]|^\p{Default_Ignorable_Code_Point}/u.test(all) ? "" : undefined;
}

export function spansOf(line: string, pattern: RegExp, name?: string): Cut[] {
  return Array.from(line.matchAll(pattern), ({ 0: all, index }) => ({ start: index, end: index + all.length, name }));
}
