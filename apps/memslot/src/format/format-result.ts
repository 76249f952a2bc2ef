import { type MemorySearchResult, visibleText } from "@memslot/core";
import type { Output } from "../terminal/output.ts";
import { type NumberedLine, type Matcher, marked } from "@memslot/indexing";
import { type PlacedResult, pathAndLine } from "./shown-path.ts";
import { describeParts } from "./format-search-explanation.ts";

/** The longest displayed line, in UTF-16 code units: the length of a snippet. */
const maxLineLength = 700;
/** Code units kept before the first match of a truncated line. */
const beforeMatch = 200;

/**
 * One result as text: score, `path:line` and numbered lines; matching ones with `12:`, others with `12-`, as in grep.
 */
export function formatResult(
  { result, lines, path }: PlacedResult,
  matcher: Matcher,
  { style, link }: Pick<Output, "style" | "link">,
  { explain = false }: { explain?: boolean | undefined } = {},
): string {
  const rows = lines.map((line) => (line.kind === "gap" ? undefined : readLine(line, matcher)));
  const known = rows.filter((row) => row?.number !== undefined);
  const most = Math.max(0, ...known.map((row) => row?.matches.words ?? 0));
  const best = known.find((row) => row?.matches.words === most)?.number ?? result.startLine;
  const width = Math.max(0, ...rows.map((row) => String(row?.number ?? "").length));
  const place = style("cyan", pathAndLine(path, best));
  const shown = path.absolutePath === undefined ? place : link(place, { absolutePath: path.absolutePath, line: best });
  const body = rows.map((row) => {
    if (row === undefined) return style("dim", "…");
    const { number, text, matches } = row;
    const sign = matches.words > 0 ? ":" : "-";
    const before = width === 0 ? "" : `${style("dim", `${String(number ?? "").padStart(width)}${sign}`)} `;
    return (before + marked(text, matches, (words) => style("bold", words))).trimEnd();
  });
  const parts = explain ? partsOf(result) : "";
  return [`${style("green", result.score.toFixed(3))} ${shown}${parts}`, ...body].join("\n");
}

function partsOf({ textScore, vectorScore, parts: given }: MemorySearchResult): string {
  const parts = [
    ...(given === undefined ? [] : [describeParts(given)]),
    textScore === undefined ? undefined : `text ${textScore.toFixed(3)}`,
    vectorScore === undefined ? undefined : `vector ${vectorScore.toFixed(3)}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

function readLine(
  { number, text }: NumberedLine,
  matcher: Matcher,
): { number: number | undefined; text: string; matches: ReturnType<Matcher> } {
  const visible = visibleText(text);
  const short = cut(visible, matcher(visible).ranges[0]?.start ?? 0);
  return { number, text: short, matches: matcher(short) };
}

/** A line truncated around its first match. */
function cut(text: string, firstMatch: number): string {
  if (text.length <= maxLineLength) return text;
  const start = wholeAt(text, Math.min(Math.max(0, firstMatch - beforeMatch), text.length - maxLineLength));
  const end = wholeAt(text, start + maxLineLength);
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}

/** An index that does not split a surrogate pair. */
function wholeAt(text: string, index: number): number {
  return /[\uDC00-\uDFFF]/u.test(text.charAt(index)) ? index - 1 : index;
}
