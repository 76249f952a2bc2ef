import { invalid } from "../state-locks.ts";
import { curatedBudget } from "./append-note.ts";
import { noteProblem } from "./validate-note.ts";
import type { LineChange } from "./change-log.ts";

export function onlyPlace(text: string, old: string, relPath: string): number {
  const at = text.indexOf(old);
  if (at < 0)
    throw invalid(
      `old is not in ${relPath}: give the text exactly as the file has it, without the frame, with its spaces`,
    );
  if (text.indexOf(old, at + 1) >= 0)
    throw invalid(`old is in ${relPath} more than once: give more of the lines around it`);
  return at;
}

interface SplicedText {
  text: string;
  linesBefore: string;
  linesAfter: string;
}

export function splice(text: string, at: number, length: number, by: string): SplicedText {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const lineEnd = text.indexOf("\n", at + length);
  const end = lineEnd < 0 ? text.length : lineEnd;
  const [lead, rest] = [text.slice(start, at), text.slice(at + length, end)];
  return {
    text: text.slice(0, at) + by + text.slice(at + length),
    linesBefore: text.slice(start, end),
    linesAfter: lead + by + rest,
  };
}

/** Throws `INVALID_ARGUMENT` for lines that cannot be appended. Whole lines: harmless parts can form a hostile text. */
export function checkLines({ text, linesBefore, linesAfter }: SplicedText, relPath: string): void {
  const problem = linesAfter.trim() === "" ? undefined : noteProblem({ text: linesAfter });
  if (problem !== undefined) throw invalid(`the lines as they would be: ${problem.error}`);
  if (countOf(linesAfter, heading) > countOf(linesBefore, heading))
    throw invalid("new would begin a heading: write it as a line without #");
  if (countOf(linesAfter, fence) !== countOf(linesBefore, fence))
    throw invalid("new would begin or end a code block of the file: leave the number of its fences as it is");
  const grows = linesAfter.length > linesBefore.length;
  if (/^memory\.md$/iu.test(relPath) && grows && text.length > curatedBudget)
    throw invalid(
      `${relPath} would have ${text.length} characters, more than the ${curatedBudget} that a session starts with: shorten it`,
    );
}

const heading = /^ {0,3}#{1,6}(?=[ \t]|$)/u;
const fence = /^ {0,3}(?:`{3}|~{3})/u;

function countOf(text: string, pattern: RegExp): number {
  return text.split("\n").filter((line) => pattern.test(line)).length;
}

const item =
  /^(?<mark>[ \t]*(?:[-*+]|\d{1,9}[.)]) (?:\[.\] )?)?(?<stamp>(?:\d{2}:\d{2}|\d{4,6}-\d{2}-\d{2}) )?(?<said>.*)$/u;

/** The new text above the lines it supersedes, struck and linked by `[[#^id]]`. Throws if they cannot be struck. */
export function superseding(old: string, text: string, { id, day }: { id: string; day: string }): string {
  const refused = (why: string) =>
    invalid(`a line of old ${why}, and cannot be superseded: edit it without supersedes`);
  const lines = old.split("\n");
  for (const line of lines) {
    if (line.includes("~~")) throw refused("has struck text already");
    if (/^ {0,3}(?:#{1,6}(?=[ \t]|$)|`{3}|~{3})|^\s*\||^(?:---|\+\+\+)\s*$/u.test(line))
      throw refused("is a heading, a table, front matter or the edge of a code block");
  }
  const { mark = "" } = item.exec(lines[0] ?? "")?.groups ?? {};
  const [first = "", ...rest] = text.split("\n");
  const said = item.exec(first.trim())?.groups?.["said"] ?? first;
  const indent = " ".repeat(mark.length);
  const present = [`${mark}${mark === "" ? "" : `${day} `}${said}`, ...rest.map((line) => indent + line.trimStart())];
  const struck = lines.map((line, index) => {
    const { mark: own = "", stamp = "", said: words = "" } = item.exec(line)?.groups ?? {};
    const lead = own || (/^\s*/u.exec(words)?.[0] ?? "");
    const what = words.trim();
    const link = index === lines.length - 1 ? ` (superseded ${day}: [[#^${id}]])` : "";
    return what === "" ? line : `${lead}${stamp}~~${what}~~${link}`;
  });
  return [...present.slice(0, -1), `${present.at(-1) ?? ""} ^${id}`, ...struck].join("\n");
}

export function lineChange(before: Buffer, after: Buffer): LineChange {
  const [was, now] = [linesOf(before.toString("utf8")), linesOf(after.toString("utf8"))];
  const { head, tail } = commonEnds(was, now);
  return {
    startLine: head + 1,
    offset: Buffer.byteLength(was.slice(0, head).join("")),
    before: was.slice(head, was.length - tail).join(""),
    after: now.slice(head, now.length - tail).join(""),
    above: was[head - 1] ?? "",
    below: was[was.length - tail] ?? "",
  };
}

export function reversed(change: LineChange): LineChange {
  return { ...change, before: change.after, after: change.before };
}

/** The bytes with a change applied between the same neighbours, else at the only match. Undefined if there is none. */
export function applied(bytes: Buffer, change: LineChange): Buffer | undefined {
  const offset = placeOf(bytes, change);
  if (offset === undefined) return undefined;
  const [head, rest] = [bytes.subarray(0, offset), bytes.subarray(offset + Buffer.byteLength(change.before))];
  const isLast = rest.length === 0 || change.after === "" || change.after.endsWith("\n");
  return Buffer.concat([head, Buffer.from(isLast ? change.after : `${change.after}\n`), rest]);
}

export function putBack(bytes: Buffer, { startLine, after }: LineChange): Buffer {
  const lines = linesOf(bytes.toString("utf8"));
  const head = lines.slice(0, startLine - 1).join("");
  const rest = lines.slice(startLine - 1).join("");
  const begin = head === "" || head.endsWith("\n") ? "" : "\n";
  const end = rest === "" || after.endsWith("\n") ? "" : "\n";
  return Buffer.from(head + begin + after + end + rest);
}

export function holdsOnce(bytes: Buffer, lines: string): boolean {
  return lines.trim() !== "" && wholeLines(bytes, lines).length === 1;
}

function placeOf(bytes: Buffer, { before, above, below, offset }: LineChange): number | undefined {
  const lead = Buffer.byteLength(above);
  const between = wholeLines(bytes, above + before + below).filter(
    (at) => (above !== "" || at === 0) && (below !== "" || at + Buffer.byteLength(above + before) === bytes.length),
  );
  if (between.includes(offset - lead)) return offset;
  if (between.length > 0) return between.length === 1 ? (between[0] ?? 0) + lead : undefined;
  if (before !== "") return holdsOnce(bytes, before) ? wholeLines(bytes, before)[0] : undefined;
  if (above.endsWith("\n") && holdsOnce(bytes, above)) return (wholeLines(bytes, above)[0] ?? 0) + lead;
  return holdsOnce(bytes, below) ? wholeLines(bytes, below)[0] : undefined;
}

/** Byte offsets of these lines. Lines without a line end match at the end of the file only. */
function wholeLines(bytes: Buffer, lines: string): number[] {
  const wanted = Buffer.from(lines);
  if (wanted.length === 0) return bytes.length === 0 ? [0] : [];
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    const isWhole = (at === 0 || bytes[at - 1] === 10) && (wanted.at(-1) === 10 || end === bytes.length);
    if (isWhole) places.push(at);
  }
  return places;
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/u).filter((line) => line !== "");
}

function commonEnds<T>(was: readonly T[], now: readonly T[]): { head: number; tail: number } {
  const most = Math.min(was.length, now.length);
  let head = 0;
  while (head < most && was[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && was[was.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  return { head, tail };
}

const mark = "\uFEFF";

/** The bytes of a new text, with the byte order mark and line ends of the replaced ones. */
export function bytesLike(before: Uint8Array, text: string): Buffer {
  const old = new TextDecoder("utf-8", { ignoreBOM: true }).decode(before);
  const hasMark = old.startsWith(mark);
  const was = (hasMark ? old.slice(mark.length) : old).split("\n").slice(0, -1);
  const now = text.replaceAll("\r\n", "\n").split("\n");
  const rest = now.pop() ?? "";
  const plain = was.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const endOf = (index: number): string => (was[index]?.endsWith("\r") === true ? "\r\n" : "\n");
  const { head, tail } = commonEnds(plain, now);
  const usual = was.filter((_, index) => endOf(index) === "\r\n").length * 2 > was.length ? "\r\n" : "\n";
  const ended = now.map((line, index) => {
    const isTail = index >= now.length - tail;
    const end = index < head ? endOf(index) : isTail ? endOf(was.length - now.length + index) : usual;
    return line + end;
  });
  return Buffer.from((hasMark ? mark : "") + ended.join("") + rest);
}
