import { SentenceError } from "../contract/errors.ts";
import { type Sentence, sentence } from "../contract/sentences.ts";

interface Glob {
  matches(path: string, onStep?: () => void): boolean;
}

type Segment = "folders" | readonly Part[];

interface Part {
  readonly kind: "character" | "class" | "star";
  fits(character: string): boolean;
}

const maxLength = 1000;
const maxWildcards = 32;
const maxAlternatives = 64;

/** Compiles a glob without regular expressions, in at most pattern times path length. Throws an `Error`. */
export function createGlob(pattern: string): Glob {
  const parsed = parse(pattern);
  if ("problem" in parsed) throw new SentenceError(parsed.problem);
  const { isNegated, alternatives } = parsed;
  return {
    matches(path, onStep = nothing) {
      const names = path.split("/").map((name) => [...name]);
      return alternatives.some((segments) => pathFits(segments, names, onStep)) !== isNegated;
    },
  };
}

export function globProblem(pattern: string): Sentence | undefined {
  const parsed = parse(pattern);
  return "problem" in parsed ? parsed.problem : undefined;
}

function nothing(): void {
  // Nothing is counted.
}

function parse(pattern: string): { problem: Sentence } | { isNegated: boolean; alternatives: Segment[][] } {
  if (pattern.length > maxLength) return { problem: sentence("glob.length", { count: maxLength }) };
  const [, marks = "", rest = ""] = /^(!*)(?:\.\/)?(.*)$/su.exec(pattern) ?? [];
  // `!(` is an extended glob, which is not supported, and not a negation.
  const problem = marks !== "" && rest.startsWith("(") ? sentence("glob.sign", { sign: "!(" }) : problemOf(rest);
  if (problem !== undefined) return { problem };
  const written = expand(rest);
  if (written === undefined) return { problem: sentence("glob.alternatives", { count: maxAlternatives }) };
  const alternatives = written.map((each) =>
    each
      .replaceAll(/\\(.)/gsu, (escaped, character) => (character === "/" ? "/" : escaped))
      .split("/")
      .map((segment) => (segment === "**" ? "folders" : partsOf(segment))),
  );
  return { isNegated: marks.length % 2 === 1, alternatives };
}

function problemOf(pattern: string): Sentence | undefined {
  const meant = pattern.replaceAll(/\\./gsu, "_");
  const sign = /\||[*?+@!]\(|(?<=\{[^{}]*)\.\.(?=[^{}]*\})/u.exec(meant)?.[0];
  if (sign !== undefined) return sentence("glob.sign", { sign: sign === ".." ? "{a..b}" : sign });
  const wildcards = meant.match(/\*+|[?[]/gu)?.length ?? 0;
  return wildcards > maxWildcards ? sentence("glob.wildcards", { count: wildcards, limit: maxWildcards }) : undefined;
}

function expand(pattern: string): string[] | undefined {
  const done: string[] = [];
  const todo = [pattern];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [open, ...ends] = firstBraces(next);
    if (open === undefined) done.push(next);
    const after = next.slice((ends.at(-1) ?? 0) + 1);
    for (const [index, end] of ends.entries())
      todo.push(next.slice(0, open) + next.slice((ends[index - 1] ?? open ?? 0) + 1, end) + after);
    if (done.length + todo.length > maxAlternatives) return undefined;
  }
  return done;
}

/** The places of `{`, `,` and `}` of the first braces that hold a comma; others are plain characters. */
function firstBraces(pattern: string): number[] {
  const open: number[][] = [];
  let found: number[] = [];
  for (const { 0: sign, index } of pattern.matchAll(/\\.|[{},]/gsu)) {
    if (sign === "{") open.push([index]);
    else if (sign === ",") open.at(-1)?.push(index);
    else if (sign === "}") {
      const [at = 0, ...commas] = open.pop() ?? [];
      if (commas.length > 0 && at < (found[0] ?? Infinity)) found = [at, ...commas, index];
      if (commas.length > 0 && open.length === 0) return found;
    }
  }
  return found;
}

function partsOf(segment: string): Part[] {
  // A class that is not closed is no class; its first character may be a `]`.
  const signs = /\*+|\?|\[(?<not>[!^]|(?![!^]))(?<of>(?:\\.|[^\\])(?:\\.|[^\]\\])*)\]|\\.|./gsu;
  return [...segment.matchAll(signs)].map(({ 0: sign, groups }): Part => {
    if (sign.startsWith("*")) return { kind: "star", fits: () => false };
    if (sign === "?") return { kind: "class", fits: () => true };
    if (groups?.["of"] !== undefined) return classOf(groups["of"], groups["not"] !== "");
    const meant = unescaped(sign);
    return { kind: "character", fits: (character) => character === meant };
  });
}

function classOf(inner: string, isNegated: boolean): Part {
  const ranges = [...inner.matchAll(/(\\.|.)(?:-(\\.|.))?/gsu)].map(([, from = "", to = from]) =>
    [from, to].map(unescaped),
  );
  const fits = (character: string): boolean =>
    ranges.some(([from = "", to = ""]) => from <= character && character <= to) !== isNegated;
  return { kind: "class", fits };
}

function unescaped(sign: string): string {
  return sign.replace(/^\\(?=.)/su, "");
}

function pathFits(segments: readonly Segment[], names: readonly (readonly string[])[], onStep: () => void): boolean {
  // `**` matches zero folders, except at the end: the content of a folder is not the folder.
  const mayBeNothing = (index: number): boolean => segments[index] === "folders" && index < segments.length - 1;
  let fitting = [true];
  for (const index of segments.keys()) fitting.push(mayBeNothing(index) && fitting[index] === true);
  for (const name of names) {
    const next = [false];
    for (const [index, segment] of segments.entries()) {
      onStep();
      const [before, already] = [fitting[index] === true, fitting[index + 1] === true];
      if (segment !== "folders") next.push(before && nameFits(segment, name, onStep));
      else next.push((mayBeNothing(index) && next[index] === true) || ((before || already) && name[0] !== "."));
    }
    fitting = next;
  }
  return fitting[segments.length] === true;
}

function nameFits(parts: readonly Part[], name: readonly string[], onStep: () => void): boolean {
  if (name[0] === "." && parts[0]?.kind !== "character") return false;
  let part = 0;
  let at = 0;
  let star = -1;
  let taken = 0;
  while (at < name.length) {
    onStep();
    const wanted = parts[part];
    if (wanted?.kind === "star") {
      star = part;
      taken = at;
      part += 1;
    } else if (wanted?.fits(name[at] ?? "") === true) {
      part += 1;
      at += 1;
    } else if (star >= 0) {
      taken += 1;
      at = taken;
      part = star + 1;
    } else return false;
  }
  return parts.slice(part).every(({ kind }) => kind === "star");
}
