import { foldLine, replaceParts, seenIn, type Stretch } from "./fold.ts";

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

  /** The original lines with all cuts made. */
  restored(): string[] {
    return this.lines.map((line, index) => {
      const folded = this.#folded.get(index);
      return folded === undefined ? line : folded.map(({ written }) => written).join("");
    });
  }
}
