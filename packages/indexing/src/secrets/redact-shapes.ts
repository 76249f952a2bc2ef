import { isPlaceholder } from "./looks-random.ts";
import { looseShapes, type SecretShape, secretShapes } from "./secret-shapes.ts";

interface Start {
  /** None for what is no secret and is passed over as a whole. */
  name: string | undefined;
  text: string;
  rest: RegExp;
}

/** An image inside a text: among its many characters at random some could look like the beginning of a key. */
const dataUri: Start = {
  name: undefined,
  text: "data:",
  rest: /[\w.+-]+\/[\w.+-]+(?:;[\w-]+=[\w-]+){0,3};base64,[A-Za-z0-9+/=]+/y,
};

const startsByKey = new Map<number, Start[]>();
for (const start of [dataUri, ...secretShapes.flatMap(startsOf)]) {
  const key = keyOf(start.text.charCodeAt(0), start.text.charCodeAt(1));
  startsByKey.set(key, [...(startsByKey.get(key) ?? []), start]);
}

function startsOf({ name, starts, rest }: SecretShape): Start[] {
  return starts.split(" ").map((text) => ({ name, text, rest: new RegExp(rest, "y") }));
}

/** Two characters as a number. Some outside ASCII share one with others: it only says where to look closer. */
function keyOf(first: number, second: number): number {
  return first * 128 + second;
}

const backslash = 0x5c;
const percent = 0x25;

/** Takes out of a line what is known to be a secret by how it looks. */
export function redactShapes(line: string): string {
  let kept = "";
  let done = 0;
  /** Where what was found last ends, taken out or not. */
  let end = 0;
  let third = 0;
  let second = 0;
  let before = 0;
  let unit = line.charCodeAt(0);
  for (let index = 0; index + 1 < line.length; index++) {
    const next = line.charCodeAt(index + 1);
    // A letter or digit before may be a line end as JSON has it (`\n`), or the end of a sign as addresses do (`%3D`).
    const isInside = index !== done && isLetterOrDigit(before) && second !== backslash && third !== percent;
    const starts = isInside || index < end ? undefined : startsByKey.get(keyOf(unit, next));
    const found = starts && shapeAt(starts, line, index);
    if (found) end = found.end;
    if (found?.name !== undefined && !isPlaceholder(line.slice(index, end))) {
      kept += `${line.slice(done, index)}[redacted: ${found.name}]`;
      done = end;
    }
    third = second;
    second = before;
    before = unit;
    unit = next;
  }
  return redactLooseShapes(kept + line.slice(done));
}

function shapeAt(
  starts: readonly Start[],
  line: string,
  index: number,
): { name: string | undefined; end: number } | undefined {
  for (const { name, text, rest } of starts) {
    if (!line.startsWith(text, index)) continue;
    rest.lastIndex = index + text.length;
    if (rest.test(line)) return { name, end: rest.lastIndex };
  }
  return undefined;
}

const notInside = String.raw`(?<![A-Za-z0-9](?<!\\[nrt]|%[0-9A-F]{2}))`;
const loose = looseShapes.map((shape) => ({ ...shape, pattern: new RegExp(notInside + shape.pattern.source, "g") }));

function redactLooseShapes(line: string): string {
  let kept = line;
  for (const { name, holds, pattern } of loose) {
    if (!kept.includes(holds)) continue;
    kept = kept.replace(pattern, (match) => (isPlaceholder(match) ? match : `[redacted: ${name}]`));
  }
  return kept;
}

function isLetterOrDigit(unit: number): boolean {
  const small = unit | 0x20;
  return (small >= 0x61 && small <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}
