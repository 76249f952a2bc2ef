import { stripVTControlCharacters } from "node:util";
import { QmdFailure, type QmdRow } from "../qmd-contract.ts";

export interface ParsedOutput {
  rows: QmdRow[];
  /** What stood around the answer. */
  noise?: string | undefined;
}

interface Found {
  value: unknown[];
  from: number;
  to: number;
}

/**
 * Reads what `query --json` has printed. The whole is the list; or the last list of results in it is, among lines of
 * other libraries; or it only says that there are no results. Anything else throws `invalid_output`, an empty output too.
 */
export function parseOutput(stdout: string): ParsedOutput {
  const text = stripVTControlCharacters(stdout).trim();
  const whole = parsed(text);
  if (isRows(whole)) return { rows: whole.map(rowOf) };
  const found = whole === undefined ? lastList(text) : undefined;
  if (found !== undefined) {
    const noise = `${text.slice(0, found.from)}${text.slice(found.to)}`.trim();
    return { rows: (found.value as RawRow[]).map(rowOf), noise };
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > 0 && lines.every((line) => /^\s*No results found\b/.test(line))) return { rows: [] };
  throw new QmdFailure(
    "invalid_output",
    text === ""
      ? "qmd ended well and said nothing"
      : `qmd printed something that is no list of results: ${text.slice(0, 200)}`,
  );
}

/** The rows of an answer of the MCP server. */
export function parseToolRows(result: unknown): QmdRow[] {
  const content = (result as { structuredContent?: { results?: unknown } } | undefined)?.structuredContent;
  if (isRows(content?.results)) return content.results.map(rowOf);
  throw new QmdFailure("invalid_output", "the MCP server of qmd answered without a list of results");
}

interface RawRow {
  file: string;
  score?: unknown;
  line?: unknown;
}

function isRows(value: unknown): value is RawRow[] {
  return Array.isArray(value) && value.every((row: unknown) => typeof (row as RawRow | null)?.file === "string");
}

function rowOf({ file, score, line }: RawRow): QmdRow {
  const inner = file.replace(/^qmd:\/\//, "").replace(/\?index=[^/?]*$/, "");
  const slash = inner.indexOf("/");
  return {
    // A name without a collection belongs to none.
    collection: slash < 0 ? "" : inner.slice(0, slash),
    path: inner.slice(slash + 1),
    score: typeof score === "number" && Number.isFinite(score) ? score : 0,
    ...(Number.isSafeInteger(line) && (line as number) > 0 ? { line: line as number } : {}),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Places where a list of results may begin that turned out to be none. */
const triesAllowed = 100;

/** The last complete list of results; an empty one counts where it has a line to itself. */
function lastList(text: string): Found | undefined {
  const starts = /\[(?=\s*\{)|(?<=^|\n)[ \t]*\[[ \t]*\](?=[ \t]*(?:\r?\n|$))/g;
  let last: Found | undefined;
  let failures = 0;
  for (let match = starts.exec(text); match !== null && failures < triesAllowed; match = starts.exec(text)) {
    const from = match.index;
    const to = match[0] === "[" ? endOfList(text, from) : from + match[0].length;
    const value = to === undefined ? undefined : parsed(text.slice(from, to));
    if (to !== undefined && isRows(value)) {
      last = { value, from, to };
      starts.lastIndex = to;
    } else failures++;
  }
  return last;
}

/** Behind the bracket that closes the one at `from`; brackets inside strings do not count. */
function endOfList(text: string, from: number): number | undefined {
  const marks = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]]/gs;
  marks.lastIndex = from;
  let depth = 0;
  for (let match = marks.exec(text); match !== null; match = marks.exec(text)) {
    if (match[0] === "[") depth++;
    else if (match[0] === "]" && --depth === 0) return marks.lastIndex;
  }
  return undefined;
}
