/** So much is read in a few milliseconds. */
const sliceCharacters = 64_000;

/** Work that can be done in slices. */
export type Slices<Result> = Generator<void, Result, void>;

/** Counts what is read. Gives a function to be told of each line, which says when a slice is full. */
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

/** Does all of it at once. */
export function inOneGo<Result>(slices: Slices<Result>): Result {
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}
