import { type FoldedLine, foldLine } from "./fold.ts";

/** So many characters are read in a few milliseconds. */
const sliceCharacters = 64_000;

/** Work that can be done in slices. */
export type Slices<Result> = Generator<void, Result, void>;

/** Counts what is read. The function that it returns takes each line and reports whether a slice is full. */
export function countSlices(): (line: string) => boolean {
  let characters = 0;
  return (line) => {
    // An empty line is work too.
    characters += line.length + 1;
    if (characters < sliceCharacters) return false;
    characters = 0;
    return true;
  };
}

/** A part of a line to be cut out. Its name takes its place; without one, nothing does. */
export interface Cut {
  start: number;
  end: number;
  name?: string | undefined;
}

/** A secret that was found. */
export interface FoundSecret {
  /** Counted from 1. */
  line: number;
  kind: string;
  /** Whether its own shape gives it away, rather than a name or a place. */
  isCertain: boolean;
}

/** The lines that rules match. Cuts in a folded line are made in the original as well. */
export class Page {
  readonly lines: string[];
  readonly found: FoundSecret[] = [];
  readonly #folded = new Map<number, FoldedLine & { readonly cuts: Cut[] }>();
  readonly #originals: readonly string[];

  constructor(lines: readonly string[], isFolded = false) {
    this.#originals = lines;
    this.lines = [...lines];
    if (!isFolded) return;
    for (const [index, line] of lines.entries()) {
      const folded = foldLine(line);
      if (folded === undefined) continue;
      this.#folded.set(index, { ...folded, cuts: [] });
      this.lines[index] = folded.text;
    }
  }

  /** How many lines look different folded. */
  get foldedLines(): number {
    return this.#folded.size;
  }

  isFolded(index: number): boolean {
    return this.#folded.has(index);
  }

  /** Makes cuts in a line, in ascending order and without overlap. Reports whether there were any. */
  cut(index: number, cuts: readonly Cut[], isCertain = false): boolean {
    if (cuts.length === 0) return false;
    const folded = this.#folded.get(index);
    let line = this.lines[index] ?? "";
    for (const { start, end, name } of cuts.toReversed()) {
      const mark = name === undefined ? "" : `[redacted: ${name}]`;
      if (name !== undefined) this.found.push({ line: index + 1, kind: name, isCertain });
      line = line.slice(0, start) + mark + line.slice(end);
      if (folded === undefined || end === start) continue;
      const [from, to] = [folded.starts[start] ?? 0, folded.ends[end - 1] ?? 0];
      folded.cuts.push({ start: from, end: to, name });
      for (const [list, value] of [[folded.starts, from] as const, [folded.ends, to] as const])
        list.splice(start, end - start, ...Array<number>(mark.length).fill(value));
    }
    this.lines[index] = line;
    return true;
  }

  /** The original lines with all cuts made. */
  restored(): string[] {
    return this.lines.map((line, index) => {
      const folded = this.#folded.get(index);
      if (folded === undefined) return line;
      return cutOut(this.#originals[index] ?? "", folded.cuts);
    });
  }
}

/** A later cut replaces earlier ones that it covers. */
function cutOut(line: string, cuts: readonly Cut[]): string {
  const last = cuts.filter(
    ({ start, end }, index) => !cuts.slice(index + 1).some((later) => later.start <= start && later.end >= end),
  );
  let kept = line;
  for (const { start, end, name } of last.toSorted((a, b) => b.start - a.start))
    kept = kept.slice(0, start) + (name === undefined ? "" : `[redacted: ${name}]`) + kept.slice(end);
  return kept;
}
