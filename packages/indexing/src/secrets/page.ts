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
    for (const { name } of cuts) if (name !== undefined) this.found.push({ line: index + 1, kind: name, isCertain });
    const folded = this.#folded.get(index);
    if (folded) cutFolded(folded, cuts);
    this.lines[index] = withoutCuts(this.lines[index] ?? "", cuts);
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

function markOf({ name }: Cut): string {
  return name === undefined ? "" : `[redacted: ${name}]`;
}

/** One pass for all cuts: a line of 1 MB can have thousands. */
function withoutCuts(line: string, cuts: readonly Cut[]): string {
  const kept = cuts.map((cut, at) => line.slice(cuts[at - 1]?.end ?? 0, cut.start) + markOf(cut));
  return kept.join("") + line.slice(cuts.at(-1)?.end ?? 0);
}

/** Notes the same cuts in the original of a folded line, and where the characters of the line come from after them. */
function cutFolded(folded: FoldedLine & { readonly cuts: Cut[] }, cuts: readonly Cut[]): void {
  const placesNow = (all: readonly number[], marked: (cut: Cut) => number): number[] => {
    const kept = cuts.flatMap((cut, at) => [
      ...all.slice(cuts[at - 1]?.end ?? 0, cut.start),
      ...Array<number>(markOf(cut).length).fill(marked(cut)),
    ]);
    return [...kept, ...all.slice(cuts.at(-1)?.end ?? 0)];
  };
  const { starts, ends } = folded;
  const [from, to] = [({ start }: Cut) => starts[start] ?? 0, ({ end }: Cut) => ends[end - 1] ?? 0];
  for (const cut of cuts) if (cut.end > cut.start) folded.cuts.push({ start: from(cut), end: to(cut), name: cut.name });
  folded.starts = placesNow(starts, from);
  folded.ends = placesNow(ends, to);
}

/** A cut of what was cut before covers all of it, and replaces it. */
function cutOut(line: string, cuts: readonly Cut[]): string {
  let covered = 0;
  const outer = cuts
    .toReversed()
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ start, end }) => start >= covered && (covered = end) >= start);
  return withoutCuts(line, outer);
}
