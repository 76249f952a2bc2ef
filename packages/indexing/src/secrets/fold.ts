import table from "./entities.json" with { type: "json" };

/** A line as a reader sees it, with where each of its characters begins and ends in the original. */
export interface FoldedLine {
  readonly text: string;
  starts: number[];
  ends: number[];
}

/** Entities that stand for characters of keys, and for what surrounds them. */
const entities: Readonly<Record<string, string>> = table;

/**
 * How a character is written otherwise: escaped in Markdown or a program, as an entity, encoded for addresses or mail,
 * invisible, in another width or style, or with marks of emphasis inside a word.
 */
const disguise =
  /\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([!-/:-@[-`{-~]))|&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z]{2,14}));|%([0-9A-Fa-f]{2})|=(2[BDEF]|3[AD]|5F|7E)|<\/?(?:wbr|b|i|em|strong|span|code|mark)\b[^<>]{0,60}>|(?<=[A-Za-z\d_-])(?:\*{1,3}|`)(?=[A-Za-z\d_-])|\p{Default_Ignorable_Code_Point}|[\u2010-\u2015\u2212]|[\uff01-\uff5e\u{1d400}-\u{1d7ff}\u2460-\u24ff\u{1f130}-\u{1f189}]/gu;
/** Full-width punctuation alone is ordinary in Chinese and Japanese. */
const worth =
  /\\[!-/:-@[-`{-~ux]|&(?:#|[A-Za-z]{2,14};)|%[0-9A-Fa-f]{2}|=(?:2[BDEF]|3[AD]|5F|7E)|<\/?(?:wbr|b|i|em|strong|span|code|mark)\b|[A-Za-z\d_-](?:\*{1,3}|`)[A-Za-z\d_-]|\p{Default_Ignorable_Code_Point}|\w[\u2010-\u2015\u2212](?=\w)|[\uff0d-\uff0f\uff10-\uff19\uff1d\uff21-\uff3a\uff3f\uff41-\uff5a\u{1d400}-\u{1d7ff}\u2460-\u24ff\u{1f130}-\u{1f189}]/u;
/** An ampersand or a percent sign may be encoded itself. */
const deepest = 3;

/** Folds a line; undefined where it reads as it is written. */
export function foldLine(line: string): FoldedLine | undefined {
  if (!/[\\&%=<*`\u0080-\uffff]/.test(line) || !worth.test(line)) return undefined;
  let folded: FoldedLine = {
    text: line,
    starts: Array.from({ length: line.length }, (_, index) => index),
    ends: Array.from({ length: line.length }, (_, index) => index + 1),
  };
  for (let round = 0; round < deepest; round++) {
    const next = foldOnce(folded);
    if (next === undefined) break;
    folded = next;
  }
  return folded.text === line ? undefined : folded;
}

function foldOnce({ text, starts, ends }: FoldedLine): FoldedLine | undefined {
  const next = { parts: [] as string[], starts: [] as number[], ends: [] as number[] };
  let done = 0;
  const copy = (to: number): void => {
    next.parts.push(text.slice(done, to));
    for (let index = done; index < to; index++) {
      next.starts.push(starts[index] ?? 0);
      next.ends.push(ends[index] ?? 0);
    }
  };
  for (const match of text.matchAll(disguise)) {
    const plain = plainOf(match);
    if (plain === undefined) continue;
    copy(match.index);
    done = match.index + match[0].length;
    next.parts.push(plain);
    for (let index = 0; index < plain.length; index++) {
      next.starts.push(starts[match.index] ?? 0);
      next.ends.push(ends[done - 1] ?? 0);
    }
  }
  if (done === 0) return undefined;
  copy(text.length);
  return { text: next.parts.join(""), starts: next.starts, ends: next.ends };
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
  return plain !== all && /^[\x21-\x7e]+$/.test(plain)
    ? plain
    : /^[<*`]|^\p{Default_Ignorable_Code_Point}/u.test(all)
      ? ""
      : undefined;
}
