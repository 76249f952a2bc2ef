/** A file that cannot be edited as it is: it is left alone. The message says why, and the line where there is one. */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile";
  /** Counted from 1. */
  readonly line: number | undefined;

  constructor(problem: string, line?: number) {
    super(problem);
    this.line = line;
  }
}

/** The line of a position, counted from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
