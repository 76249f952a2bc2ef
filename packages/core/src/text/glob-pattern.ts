/** One part of a pattern between two `/`: any folders, or what one name has to be. */
export type GlobSegment = "folders" | readonly SegmentPart[];

export type SegmentPart =
  | { readonly kind: "character"; readonly character: string }
  | { readonly kind: "any" }
  | { readonly kind: "star" }
  | {
      readonly kind: "class";
      readonly isNegated: boolean;
      readonly ranges: readonly (readonly [from: string, to: string])[];
    };

interface ParsedGlob {
  readonly isNegated: boolean;
  /** What `{a,b}` stands for, written out. */
  readonly alternatives: readonly (readonly GlobSegment[])[];
}

const maxLength = 1000;
const maxWildcards = 32;
const maxAlternatives = 64;

/** Reads a pattern. A `\` before a sign takes its meaning from it. */
export function parseGlob(pattern: string): ParsedGlob | { readonly problem: string } {
  if (pattern.length > maxLength) return { problem: `is longer than ${maxLength} characters` };
  const [, marks = "", rest = ""] = /^(!*)(?:\.\/)?(.*)$/su.exec(pattern) ?? [];
  const signs = signsOf(rest);
  const problem = problemOf(signs);
  // `!(` is no negation of what follows: it is a sign of its own, which is not known here.
  if (marks !== "" && rest.startsWith("(")) return { problem: unknownSign("!(") };
  if (problem !== undefined) return { problem };
  const alternatives = expand(signs);
  if (alternatives === undefined) return { problem: `stands for more than ${maxAlternatives} alternatives` };
  return { isNegated: marks.length % 2 === 1, alternatives: alternatives.map(segmentsOf) };
}

/** A character of the pattern; one behind a `\` is plain. */
interface Sign {
  readonly character: string;
  readonly isPlain: boolean;
}

function signsOf(pattern: string): Sign[] {
  const signs: Sign[] = [];
  let isPlain = false;
  for (const character of pattern) {
    if (character === "\\" && !isPlain) isPlain = true;
    else {
      signs.push({ character, isPlain });
      isPlain = false;
    }
  }
  // A last one has nothing behind it, so it is itself.
  if (isPlain) signs.push({ character: "\\", isPlain });
  return signs;
}

function is(sign: Sign | undefined, character: string): boolean {
  return sign?.isPlain === false && sign.character === character;
}

function problemOf(signs: readonly Sign[]): string | undefined {
  let wildcards = 0;
  for (const [index, sign] of signs.entries()) {
    const { character, isPlain } = sign;
    if (isPlain) continue;
    if ("*?[".includes(character) && !(character === "*" && is(signs[index - 1], "*"))) wildcards += 1;
    if (character === "|") return unknownSign("|");
    if ("*?+@!".includes(character) && is(signs[index + 1], "(")) return unknownSign(`${character}(`);
    if (character === "." && is(signs[index + 1], ".") && isInBraces(signs, index)) return unknownSign("{a..b}");
  }
  if (wildcards > maxWildcards) return `has ${wildcards} wildcards, and ${maxWildcards} are allowed`;
  return undefined;
}

function unknownSign(sign: string): string {
  return `has ${sign}, which is not known here: write *, ?, **, [a-z], [!a], {a,b} or a ! before all of it, and \\ before a sign that means itself`;
}

function isInBraces(signs: readonly Sign[], index: number): boolean {
  const open = signs.slice(0, index).findLastIndex((sign) => is(sign, "{") || is(sign, "}"));
  const close = signs.slice(index).find((sign) => is(sign, "{") || is(sign, "}"));
  return is(signs[open], "{") && is(close, "}");
}

/** Writes `{a,b}` out, from left to right. Undefined where that becomes too much. */
function expand(signs: readonly Sign[]): (readonly Sign[])[] | undefined {
  const done: (readonly Sign[])[] = [];
  const todo = [signs];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const braces = firstBraces(next);
    if (braces === undefined) done.push(next);
    else {
      const { open, commas, close } = braces;
      const [before, after] = [next.slice(0, open), next.slice(close + 1)];
      for (const [from, to] of pairs([open, ...commas, close]))
        todo.push([...before, ...next.slice(from + 1, to), ...after]);
    }
    if (done.length + todo.length > maxAlternatives) return undefined;
  }
  return done;
}

function pairs(places: readonly number[]): (readonly [from: number, to: number])[] {
  return places.slice(1).map((to, index) => [places[index] ?? 0, to] as const);
}

/** The first braces that hold a comma; others are plain characters. */
function firstBraces(signs: readonly Sign[]): { open: number; commas: number[]; close: number } | undefined {
  const open: { at: number; commas: number[] }[] = [];
  let found: { open: number; commas: number[]; close: number } | undefined;
  for (const [index, sign] of signs.entries()) {
    if (is(sign, "{")) open.push({ at: index, commas: [] });
    else if (is(sign, ",")) open.at(-1)?.commas.push(index);
    else if (is(sign, "}")) {
      const closed = open.pop();
      if (closed === undefined || closed.commas.length === 0) continue;
      if (found === undefined || closed.at < found.open)
        found = { open: closed.at, commas: closed.commas, close: index };
      if (open.length === 0) return found;
    }
  }
  return found;
}

function segmentsOf(signs: readonly Sign[]): GlobSegment[] {
  const segments: GlobSegment[] = [];
  let begin = 0;
  for (let index = 0; index <= signs.length; index++) {
    if (index < signs.length && signs[index]?.character !== "/") continue;
    const own = signs.slice(begin, index);
    segments.push(own.length === 2 && own.every((sign) => is(sign, "*")) ? "folders" : partsOf(own));
    begin = index + 1;
  }
  return segments;
}

function partsOf(signs: readonly Sign[]): SegmentPart[] {
  const parts: SegmentPart[] = [];
  for (let index = 0; index < signs.length; index++) {
    const sign = signs[index];
    const bracket = is(sign, "[") ? classAt(signs, index) : undefined;
    if (bracket !== undefined) {
      parts.push(bracket.part);
      index = bracket.end;
    } else if (is(sign, "?")) parts.push({ kind: "any" });
    else if (!is(sign, "*")) parts.push({ kind: "character", character: sign?.character ?? "" });
    else if (parts.at(-1)?.kind !== "star") parts.push({ kind: "star" });
  }
  return parts;
}

/** `[…]` from its `[` on; undefined where it is not closed, which makes the `[` a plain character. */
function classAt(signs: readonly Sign[], open: number): { part: SegmentPart; end: number } | undefined {
  const isNegated = is(signs[open + 1], "!") || is(signs[open + 1], "^");
  const begin = open + (isNegated ? 2 : 1);
  // The first one may be a `]` itself.
  const end = signs.findIndex((sign, index) => index > begin && is(sign, "]"));
  if (end < 0) return undefined;
  const ranges: (readonly [string, string])[] = [];
  for (let index = begin; index < end; index++) {
    const from = signs[index]?.character ?? "";
    const isRange = is(signs[index + 1], "-") && index + 2 < end;
    ranges.push([from, isRange ? (signs[index + 2]?.character ?? "") : from]);
    if (isRange) index += 2;
  }
  return { part: { kind: "class", isNegated, ranges }, end };
}
