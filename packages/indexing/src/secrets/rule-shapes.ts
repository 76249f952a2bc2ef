import { isPlaceholder } from "./looks.ts";
import type { Cut } from "./page.ts";
import table from "./shapes.json" with { type: "json" };

const notInside = String.raw`(?<![A-Za-z0-9](?<!\\[nrt]|%[0-9A-F]{2}))`;

interface Start {
  /** None for what is no secret and is passed over as a whole. */
  name: string | undefined;
  text: string;
  rest: RegExp;
}

/**
 * Kinds of secrets that can be told by how they begin: the name, the beginnings (each of two characters or more, with
 * spaces between), and what follows one of them. Of two that fit at one place the first counts. Lengths are a little
 * below what is issued today. A class without an upper bound may only stand at the end of `rest`, or a long line takes
 * quadratic time.
 */
export const secretShapes: readonly { name: string; starts: string; rest: string }[] = table.shapes.map(
  ([name = "", starts = "", rest = ""]) => ({ name, starts, rest }),
);

/** Kinds whose beginning says nothing: the name, what a line must hold to be searched, and the whole. */
export const looseShapes: readonly { name: string; holds: string; pattern: RegExp }[] = table.loose.map(
  ([name = "", holds = "", pattern = ""]) => ({ name, holds, pattern: new RegExp(notInside + pattern, "g") }),
);

/** An image inside a text: among its many characters at random some could look like the beginning of a key. */
const ofDataUri = String.raw`[\w.+-]+\/[\w.+-]+(?:;[\w-]+=[\w-]+){0,3};base64,[A-Za-z0-9+/=]+`;
const dataUri: Start = { name: undefined, text: "data:", rest: new RegExp(ofDataUri, "y") };
const dataUris = new RegExp(`data:${ofDataUri}`, "g");

/** Beginnings by their first two characters. Some characters outside ASCII share a place with others. */
const startsAt = Array<Start[] | undefined>(1 << 14);
for (const start of [dataUri, ...secretShapes.flatMap(startsOf)]) (startsAt[placeOf(start.text, 0)] ??= []).push(start);

function startsOf({ name, starts, rest }: (typeof secretShapes)[number]): Start[] {
  const pattern = new RegExp(rest, "y");
  return starts.split(" ").map((text) => ({ name, text, rest: pattern }));
}

function placeOf(text: string, index: number): number {
  return ((text.charCodeAt(index) * 128) & 0x3f80) | (text.charCodeAt(index + 1) & 127);
}

/** A letter or digit before may be a line end as JSON has it (`\\n`), or the end of a sign as addresses do (`%3D`). */
const insideWord = /(?<!\\|%.)[A-Za-z0-9]$/s;

/** Finds what begins as a secret does. */
export function findShapes(line: string): Cut[] {
  const cuts: Cut[] = [];
  let done = 0;
  /** Where what was found last ends, secret or not. */
  let end = 0;
  for (let index = 0; index + 1 < line.length; index++) {
    const starts = index < end ? undefined : startsAt[placeOf(line, index)];
    if (starts === undefined || (index !== done && insideWord.test(line.slice(Math.max(0, index - 3), index))))
      continue;
    const found = starts.find(({ text, rest }) => {
      rest.lastIndex = index + text.length;
      return line.startsWith(text, index) && rest.test(line);
    });
    if (found === undefined) continue;
    end = found.rest.lastIndex;
    if (found.name === undefined || isPlaceholder(line.slice(index, end))) continue;
    cuts.push({ start: index, end, name: found.name });
    done = end;
  }
  return cuts;
}

/** Finds a loose shape. */
export function findLoose({ name, holds, pattern }: (typeof looseShapes)[number], line: string): Cut[] {
  if (!line.includes(holds)) return [];
  const images = line.includes(";base64,") ? spansOf(line, dataUris) : [];
  return spansOf(line, pattern)
    .filter(({ start, end }) => !images.some((image) => image.start < start && image.end >= end))
    .filter(({ start, end }) => !isPlaceholder(line.slice(start, end)))
    .map((span) => ({ ...span, name }));
}

function spansOf(line: string, pattern: RegExp): Cut[] {
  return Array.from(line.matchAll(pattern), ({ 0: all, index }) => ({ start: index, end: index + all.length }));
}
