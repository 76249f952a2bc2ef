import type { LineChange } from "./change-log.ts";

/** The lines in which two texts (UTF-8) differ. */
export function lineChange(before: Buffer, after: Buffer): LineChange {
  const [was, now] = [linesOf(before.toString("utf8")), linesOf(after.toString("utf8"))];
  const most = Math.min(was.length, now.length);
  let head = 0;
  while (head < most && was[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && was[was.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  return {
    startLine: head + 1,
    offset: Buffer.byteLength(was.slice(0, head).join("")),
    before: was.slice(head, was.length - tail).join(""),
    after: now.slice(head, now.length - tail).join(""),
    above: was[head - 1] ?? "",
    below: was[was.length - tail] ?? "",
  };
}

/** How a change is taken back. */
export function reversed(change: LineChange): LineChange {
  return { ...change, before: change.after, after: change.before };
}

/**
 * The bytes with `before` of a change replaced by `after`: where those lines stand between the same neighbours, else where
 * they stand as the only ones of their kind. Lines that are to come back go beside the neighbour that is left. Undefined
 * where there is no such place, or more than one of which none is where it was.
 */
export function applied(bytes: Buffer, change: LineChange): Buffer | undefined {
  const offset = placeOf(bytes, change);
  if (offset === undefined) return undefined;
  const [head, rest] = [bytes.subarray(0, offset), bytes.subarray(offset + Buffer.byteLength(change.before))];
  const isLast = rest.length === 0 || change.after === "" || change.after.endsWith("\n");
  return Buffer.concat([head, Buffer.from(isLast ? change.after : `${change.after}\n`), rest]);
}

/** The bytes with lines put back that nothing shows the place of any more: at the number that they had, else at the end. */
export function putBack(bytes: Buffer, { startLine, after }: LineChange): Buffer {
  const lines = linesOf(bytes.toString("utf8"));
  const head = lines.slice(0, startLine - 1).join("");
  const rest = lines.slice(startLine - 1).join("");
  const begin = head === "" || head.endsWith("\n") ? "" : "\n";
  const end = rest === "" || after.endsWith("\n") ? "" : "\n";
  return Buffer.from(head + begin + after + end + rest);
}

/** Whether lines of a change stand in a file, and nowhere twice. */
export function holdsOnce(bytes: Buffer, lines: string): boolean {
  return lines.trim() !== "" && wholeLines(bytes, lines).length === 1;
}

/** Where it begins, in bytes. */
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

/** Where these lines begin, in bytes. What has no line end is the end of the file. */
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

/** Lines with their ends. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/u).filter((line) => line !== "");
}
