const marker = "PRIVATE KEY";
const markers = /-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
/** What a marker that is only mentioned, or that stands before dots, is not followed by. */
const keyText = /[A-Za-z0-9+/=]{32}/;
const quoting = /^[\s>|*+"'`]+/;
const header = /^[A-Za-z][A-Za-z-]{1,30}: /;
const lastLine = /^[A-Za-z0-9+/=]{2,}\W{0,4}$/;
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
    const isMarked = text.includes(marker);
    if (!from && !isMarked) continue;
    let column = 0;
    for (const match of isMarked ? text.matchAll(markers) : []) {
      if (from && keyText.test(text.slice(column, match.index))) seen = { line, column: match.index };
      column = match.index + match[0].length;
      const ends = match[1] === "END";
      if (from && seen) yield { from, to: ends ? { line, column } : seen };
      from = ends ? undefined : { line, column: match.index };
      seen = undefined;
    }
    if (!from) continue;
    const rest = text.slice(column).replace(quoting, "").trimEnd();
    if (keyText.test(rest) || (seen?.line === line - 1 && lastLine.test(rest))) seen = { line, column: text.length };
    else if (/\s/.test(rest) && !header.test(rest)) {
      // Something else begins before an end was found.
      if (seen) yield { from, to: seen };
      from = undefined;
      seen = undefined;
    }
  }
  if (from && seen) yield { from, to: seen };
}
