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
  const key = keyAt(start.text, 0);
  startsByKey.set(key, [...(startsByKey.get(key) ?? []), start]);
}

function startsOf({ name, starts, rest }: SecretShape): Start[] {
  return starts.split(" ").map((text) => ({ name, text, rest: new RegExp(rest, "y") }));
}

/** The first two characters as a number. Those outside ASCII may share it with others: it says where to look closer. */
function keyAt(text: string, index: number): number {
  return text.charCodeAt(index) * 128 + text.charCodeAt(index + 1);
}

/** Takes out of a line what is known to be a secret by how it looks. */
export function redactShapes(line: string): string {
  let kept = "";
  let done = 0;
  let index = 0;
  while (index + 1 < line.length) {
    const starts = isInsideWord(line, index) ? undefined : startsByKey.get(keyAt(line, index));
    const found = starts && shapeAt(starts, line, index);
    if (!found) {
      index++;
      continue;
    }
    if (found.name !== undefined && !isPlaceholder(line.slice(index, found.end))) {
      kept += `${line.slice(done, index)}[redacted: ${found.name}]`;
      done = found.end;
    }
    index = found.end;
  }
  kept += line.slice(done);
  for (const { name, holds, pattern } of looseShapes)
    if (kept.includes(holds))
      kept = kept.replace(pattern, (match) => (isPlaceholder(match) ? match : `[redacted: ${name}]`));
  return kept;
}

/** Behind a letter or digit, unless that is the end of a line as JSON has it (`\n`) or a sign as addresses do (`%3D`). */
function isInsideWord(line: string, index: number): boolean {
  const before = line.charCodeAt(index - 1);
  const isLetter = (before | 0x20) >= 0x61 && (before | 0x20) <= 0x7a;
  if (!isLetter && !(before >= 0x30 && before <= 0x39)) return false;
  return line.charCodeAt(index - 2) !== 0x5c && line.charCodeAt(index - 3) !== 0x25;
}

function shapeAt(starts: readonly Start[], line: string, index: number): { name?: string; end: number } | undefined {
  for (const { name, text, rest } of starts) {
    if (!line.startsWith(text, index)) continue;
    rest.lastIndex = index + text.length;
    if (rest.test(line)) return { ...(name === undefined ? {} : { name }), end: rest.lastIndex };
  }
  return undefined;
}
