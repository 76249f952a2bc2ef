import table from "./entities.json" with { type: "json" };
import { patternsOf } from "./patterns.ts";

const is = patternsOf("fold");

/** A stretch of a line: as a reader sees it, and as the line has it. */
export interface Stretch {
  readonly seen: string;
  readonly written: string;
  /** Whether a part of it cannot be replaced alone. */
  readonly isWhole?: boolean;
}

/** What takes the place of a part of the text that is seen. Without `written` the line keeps what it has there. */
interface Part {
  start: number;
  end: number;
  seen: string;
  written?: string;
}

/** Entities that stand for characters of keys, and for what surrounds them. */
const entities: Readonly<Record<string, string>> = table;
/** An ampersand or a percent sign may be encoded itself. */
const deepest = 3;

/** A line as a reader sees it; undefined where it reads as it is written. */
export function foldLine(line: string): Stretch[] | undefined {
  if (!/[\\&%=<*`\u0080-\uffff]/.test(line) || !is.worth.test(line)) return undefined;
  let folded: Stretch[] = [{ seen: line, written: line }];
  for (let round = 0; round < deepest; round++) {
    const parts = Array.from(seenIn(folded).matchAll(is.disguise)).flatMap((match): Part[] => {
      const seen = plainOf(match);
      return seen === undefined ? [] : [{ start: match.index, end: match.index + match[0].length, seen }];
    });
    if (parts.length === 0) break;
    folded = replaceParts(folded, parts);
  }
  return seenIn(folded) === line ? undefined : folded;
}

export function seenIn(line: readonly Stretch[]): string {
  return line.map(({ seen }) => seen).join("");
}

/** Replaces parts of what is seen, which ascend and do not overlap. What is not seen stays where no part surrounds it. */
export function replaceParts(line: readonly Stretch[], parts: readonly Part[]): Stretch[] {
  const result: Stretch[] = [];
  let at = 0;
  let next = 0;
  let isInside = false;
  for (const stretch of splitAtParts(line, parts)) {
    for (; at >= (parts[next]?.end ?? Infinity); next++) isInside = false;
    const part = parts[next];
    const end = at + stretch.seen.length;
    if (part === undefined || at >= part.end || end <= part.start) result.push(stretch);
    else {
      const before = isInside ? result.pop()?.written : undefined;
      result.push({ seen: part.seen, written: part.written ?? (before ?? "") + stretch.written, isWhole: true });
      isInside = true;
    }
    at = end;
  }
  return result;
}

/** Splits stretches where parts begin and end. */
function* splitAtParts(line: readonly Stretch[], parts: readonly Part[]): Generator<Stretch> {
  const borders = parts.flatMap(({ start, end }) => [start, end]);
  let at = 0;
  let next = 0;
  for (const stretch of line) {
    const end = at + stretch.seen.length;
    let done = at;
    for (; (borders[next] ?? end) < end; next++) {
      const border = borders[next] ?? end;
      if (stretch.isWhole === true || border <= done) continue;
      const piece = stretch.seen.slice(done - at, border - at);
      yield { seen: piece, written: piece };
      done = border;
    }
    const rest = stretch.seen.slice(done - at);
    yield done === at ? stretch : { seen: rest, written: rest };
    at = end;
  }
}

/** What a disguised character is; empty for one that is not seen, undefined for one that is none. */
function plainOf(match: RegExpExecArray): string | undefined {
  const [all, unicode, byte, escaped, decimal, hexadecimal, entity, percent, quoted] = match;
  if (escaped !== undefined) return escaped;
  if (entity !== undefined) return entities[entity];
  const hex = unicode ?? byte ?? hexadecimal ?? percent ?? quoted;
  if (hex !== undefined || decimal !== undefined) {
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    if (code === 0xad || (code >= 0x200b && code <= 0x200d) || code === 0x2060 || code === 0xfeff) return "";
    if (code === 0xa0) return " ";
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : undefined;
  }
  if (/^[\u2010-\u2015\u2212]/.test(all)) return "-";
  const plain = all.normalize("NFKC");
  if (plain !== all && /^[\x21-\x7e]+$/.test(plain)) return plain;
  return /^[<*`]|^\p{Default_Ignorable_Code_Point}/u.test(all) ? "" : undefined;
}
