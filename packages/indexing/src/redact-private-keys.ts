const marker = "PRIVATE KEY";
/** What is redacted already ends what stands open before it, so that a second time finds nothing more. */
const markers = /-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\[redacted: private key\]/g;
const header = /^[\s>|*"']{0,20}[A-Za-z][A-Za-z-]{1,30}: /;
const lastPiece = /^["'`]?[A-Za-z0-9+/=]*[\d+/=][A-Za-z0-9+/=]*["'`,;]{0,3}$/;
const replacement = "[redacted: private key]";

interface Place {
  /** Counted from 0, as the column is. */
  line: number;
  column: number;
}

interface Span {
  from: Place;
  to: Place;
}

/**
 * Takes PEM, OpenSSH and PGP private keys out of a text that is cut into lines. Where a key began it says so, and the
 * lines that the key went on for become empty: their number stays. What stands before and behind a key stays too.
 */
export function redactPrivateKeys(lines: readonly string[]): readonly string[] {
  if (!lines.some((line) => line.includes(marker))) return lines;
  const kept = [""];
  let at: Place = { line: 0, column: 0 };
  const append = (text: string): void => void (kept[kept.length - 1] += text);
  const copyUpTo = (end: Place): void => {
    while (at.line < end.line) {
      append((lines[at.line] ?? "").slice(at.column));
      kept.push("");
      at = { line: at.line + 1, column: 0 };
    }
    append((lines[at.line] ?? "").slice(at.column, end.column));
  };
  for (const { from, to } of privateKeys(lines)) {
    copyUpTo(from);
    append(replacement);
    for (let line = from.line; line < to.line; line++) kept.push("");
    at = to;
  }
  copyUpTo({ line: lines.length - 1, column: lines.at(-1)?.length ?? 0 });
  return kept;
}

/** Each key from its first marker to its last; one whose end is missing goes as far as its text does. */
function* privateKeys(lines: readonly string[]): Generator<Span> {
  let from: Place | undefined;
  /** How far text of a key was seen since `from`. */
  let seen: Place | undefined;
  for (const [line, text] of lines.entries()) {
    if (!from && !text.includes(marker)) continue;
    let column = 0;
    for (const match of text.matchAll(markers)) {
      if (from && holdsKey(text.slice(column, match.index))) seen = { line, column: match.index };
      column = match.index + match[0].length;
      if (from && seen) yield { from, to: match[1] === "END" ? { line, column } : seen };
      from = match[1] === "BEGIN" ? { line, column: match.index } : undefined;
      seen = undefined;
    }
    if (!from) continue;
    const rest = text.slice(column);
    const words = wordsOf(rest);
    const isLast = seen?.line === line - 1 && words.length === 1 && lastPiece.test(words[0] ?? "");
    if (holdsKey(rest) || isLast) seen = { line, column: text.length };
    else if (words.length > 1 && !header.test(rest)) {
      // Something else begins before an end was found.
      if (seen) yield { from, to: seen };
      from = undefined;
      seen = undefined;
    }
  }
  if (from && seen) yield { from, to: seen };
}

/** A marker that is only mentioned, or that stands before dots, is not followed by such a run. */
function holdsKey(text: string): boolean {
  const runs = text.match(/[A-Za-z0-9+/=]{32,}/g) ?? [];
  return runs.some((run) => /\d/.test(run) && /[A-Z]/.test(run));
}

/** Without the signs that quote a line. */
function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word));
}
