import { type GlobSegment, type SegmentPart, parseGlob } from "./glob-pattern.ts";

/** A pattern of `extraPaths`, ready to be compared with paths. */
interface Glob {
  /** Whether a path with `/` fits. `onStep` is told of every comparison, for whoever counts them. */
  matches(path: string, onStep?: () => void): boolean;
}

/**
 * Makes a matcher whose work grows with the length of the pattern times the length of the path, and not beyond: no
 * regular expression is made of what somebody wrote. Throws an `Error` with the words of `globProblem`.
 *
 * `*` and `?` stand for characters of one name, `**` for any folders, `[a-z]` and `[!a]` for one character, `{a,b}` for
 * alternatives, and `!` before all of it for everything else. A name that begins with a dot has to be written with it.
 */
export function createGlob(pattern: string): Glob {
  const parsed = parseGlob(pattern);
  if ("problem" in parsed) throw new Error(parsed.problem);
  const { isNegated, alternatives } = parsed;
  return {
    matches(path, onStep = nothing) {
      const names = path.split("/").map((name) => [...name]);
      return alternatives.some((segments) => pathFits(segments, names, onStep)) !== isNegated;
    },
  };
}

/** What is wrong with a pattern, in words that follow it; undefined where nothing is. */
export function globProblem(pattern: string): string | undefined {
  const parsed = parseGlob(pattern);
  return "problem" in parsed ? parsed.problem : undefined;
}

function nothing(): void {
  // Nobody counts.
}

/** Goes through the names once, and keeps which beginnings of the pattern fit what has been seen of them. */
function pathFits(
  segments: readonly GlobSegment[],
  names: readonly (readonly string[])[],
  onStep: () => void,
): boolean {
  // `**` may stand for no folder at all, but for the last one: what is below a folder is not the folder.
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

/**
 * Compares one name. Where it does not fit, only the last `*` takes one character more: what those before it took can
 * stay, as the last one can make up for all of it.
 */
function nameFits(parts: readonly SegmentPart[], name: readonly string[], onStep: () => void): boolean {
  const [first] = parts;
  if (name[0] === "." && first?.kind !== "character") return false;
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
    } else if (wanted !== undefined && characterFits(wanted, name[at] ?? "")) {
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

function characterFits(part: SegmentPart, character: string): boolean {
  if (part.kind === "character") return part.character === character;
  if (part.kind !== "class") return part.kind === "any";
  return part.ranges.some(([from, to]) => from <= character && character <= to) !== part.isNegated;
}
