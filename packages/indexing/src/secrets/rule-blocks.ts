import type { Cut, Page } from "./page.ts";
import { patternsOf } from "./patterns.ts";

const is = patternsOf("blocks");

interface TextPosition {
  /** Counted from 0, as the column is. */
  line: number;
  column: number;
}

interface Span {
  from: TextPosition;
  to: TextPosition;
}

/**
 * Cuts PEM, OpenSSH and PGP private keys out of a page. The line where a key began names it, and the lines that the key
 * went on for become empty: their number stays. What stands before and behind a key stays too.
 */
export function cutPrivateKeys(page: Page): void {
  if (!page.lines.some((line) => is.anyKey.test(line))) return;
  const cuts = new Map<number, Cut[]>();
  for (const { from, to } of privateKeys(page.lines))
    for (let line = from.line; line <= to.line; line++) {
      const start = line === from.line ? from.column : 0;
      const end = line === to.line ? to.column : (page.lines[line]?.length ?? 0);
      const name = line === from.line ? "private key" : undefined;
      cuts.set(line, [...(cuts.get(line) ?? []), { start, end, name }]);
    }
  for (const [line, found] of cuts) page.cut(line, found, true);
}

/** Each key from its first marker to its last; one whose end is missing goes as far as its text does. */
function* privateKeys(lines: readonly string[]): Generator<Span> {
  let from: TextPosition | undefined;
  /** How far text of a key was seen since `from`. */
  let seen: TextPosition | undefined;
  /** The line where the last key ended. */
  let last = -1;
  for (const [line, text] of lines.entries()) {
    if (!from && !is.anyKey.test(text)) continue;
    let column = 0;
    for (const match of text.matchAll(is.markers)) {
      const [all, side, keyItself] = match;
      if (keyItself !== undefined) {
        if (from) continue;
        from = { line, column: match.index };
        column = keyItself.startsWith("P") ? match.index + all.length : match.index;
        continue;
      }
      if (from && holdsKey(text.slice(column, match.index))) seen = { line, column: match.index };
      if (!from && side === "END" && match.index === text.search(/[^\s>|*"']/)) {
        from = bodyAbove(lines, line, last);
        seen = from;
      }
      column = match.index + all.length;
      if (from && seen) {
        yield { from, to: side === "END" ? { line, column } : seen };
        last = line;
      }
      from = match[1] === "BEGIN" ? { line, column: match.index } : undefined;
      seen = undefined;
    }
    if (!from) continue;
    const rest = text.slice(column);
    const words = wordsOf(rest);
    const isLast = seen?.line === line - 1 && words.length === 1 && is.lastPiece.test(words[0] ?? "");
    if (holdsKey(rest) || isLast) seen = { line, column: text.length };
    else if (words.length > 1 && !is.header.test(rest)) {
      // Something else begins before an end was found.
      if (seen) yield { from, to: seen };
      from = undefined;
      seen = undefined;
    }
  }
  if (from && seen) yield { from, to: seen };
}

/** Where a key begins whose first lines are missing, by the line of its end. */
function bodyAbove(lines: readonly string[], end: number, after: number): TextPosition | undefined {
  let first = end;
  while (first - 1 > after && is.bodyLine.test(lines[first - 1] ?? "")) first--;
  if (!lines.slice(first, end).some(holdsKey)) return undefined;
  return { line: first, column: (lines[first] ?? "").search(/[A-Za-z0-9+/]/) };
}

/** A marker that is only mentioned, or that stands before dots, is not followed by such a run. */
function holdsKey(text: string): boolean {
  const runs = text.match(/[A-Za-z0-9+/=]{32,}/g) ?? [];
  return runs.some((run) => /\d/.test(run) && (/[A-Z]/.test(run) || /^[0-9a-f]{32}$/.test(run)));
}

/** Without the signs that quote a line. */
function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word));
}
