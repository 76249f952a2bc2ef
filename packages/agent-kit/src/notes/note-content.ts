import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { decodeText } from "@memslot/indexing/host";

/** A note as a person edits it. */
export interface NoteContent {
  /** All of it, with LF line ends and without a byte order mark. Secrets in it stand as they are. */
  text: string;
  /** Of its bytes, hexadecimal: names this very state of the file. */
  sha256: string;
  bytes: number;
  /** When it was saved last (ISO 8601). */
  modified: string;
  /** Why it cannot be replaced, in a sentence without its full stop. Absent where it can. */
  fixed?: string | undefined;
}

const mark = "\uFEFF";

/** What the bytes of a note say. */
export function contentOf(bytes: Uint8Array, modified: Date): NoteContent {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const fixed = whyFixed(bytes);
  const text = decodeText(bytes).replaceAll("\r\n", "\n");
  return { text, sha256, bytes: bytes.length, modified: modified.toISOString(), ...(fixed !== undefined && { fixed }) };
}

/** Why a text that a person has seen cannot take the place of these bytes without changing more than was typed. */
function whyFixed(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return "it is not UTF-8: save it as UTF-8 with another editor";
  if (bytes.includes(0)) return "it holds NUL bytes, which no editor shows: save it as UTF-8 with another editor";
  const hasReturns = /\r(?!\n)/u.test(Buffer.from(bytes).toString());
  return hasReturns ? "it has line ends of old Macs (CR alone), which no page can keep" : undefined;
}

/**
 * The bytes of a text that takes the place of others: with their byte order mark, and with the line ends that the lines
 * before and behind the change have. New lines have those that most of the others have.
 */
export function bytesLike(before: Uint8Array, text: string): Uint8Array {
  const old = new TextDecoder("utf-8", { ignoreBOM: true }).decode(before);
  const hasMark = old.startsWith(mark);
  const was = linesOf(hasMark ? old.slice(mark.length) : old);
  const now = text.replaceAll("\r\n", "\n").split("\n");
  const rest = now.pop() ?? "";
  const same = (a: number, b: number): boolean => was[a]?.text === now[b];
  const most = Math.min(was.length, now.length);
  let head = 0;
  while (head < most && same(head, head)) head++;
  let tail = 0;
  while (tail < most - head && same(was.length - 1 - tail, now.length - 1 - tail)) tail++;
  const returns = was.filter(({ end }) => end === "\r\n").length;
  const usual = returns * 2 > was.length ? "\r\n" : "\n";
  const ended = now.map((line, index) => {
    const known = index < head ? index : index >= now.length - tail ? was.length - now.length + index : undefined;
    return line + ((known === undefined ? undefined : was[known]?.end) ?? usual);
  });
  return Buffer.from((hasMark ? mark : "") + ended.join("") + rest);
}

/** Lines that have an end. */
function linesOf(text: string): { text: string; end: "\n" | "\r\n" }[] {
  const pieces = text.split("\n").slice(0, -1);
  return pieces.map((piece) =>
    piece.endsWith("\r") ? { text: piece.slice(0, -1), end: "\r\n" } : { text: piece, end: "\n" },
  );
}
