import { InvalidArgumentError } from "commander";

/** A parser for commander: a whole number from `lowest` to `highest`. */
export function wholeNumber(lowest: number, highest: number): (text: string) => number {
  return (text) => {
    const value = /^[+]?\d+$/u.test(text.trim()) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= lowest && value <= highest) return value;
    const range = highest === Number.MAX_SAFE_INTEGER ? `of ${lowest} or more` : `from ${lowest} to ${highest}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

export function fraction(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}

export function collect(text: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
