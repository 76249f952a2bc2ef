import { type ManagerReadParams, MemoryError, type MemoryReadResult, messageOf } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import { withFile } from "../scan/open-file.ts";
import { fitWindow, notReadable } from "../scan/read-memory-file.ts";
import type { FoundLines } from "../scan/verify-lines.ts";
import { redactLines } from "../secrets/redact-secrets.ts";
import { decodeLines } from "../text/file-text.ts";
import { createTimeSlices } from "../time-slices.ts";
import { renderSaid, renderWhole } from "./message-chunks.ts";
import { type ConversationFile, recordsOf } from "./read-conversation.ts";

/** A redacted window of a conversation or note, line by line. `check` throws for a forbidden file. */
export async function readWindow(
  file: ConversationFile,
  { from, lines, signal }: Pick<ManagerReadParams, "from" | "lines" | "signal">,
  check?: () => Promise<void>,
): Promise<MemoryReadResult> {
  const { path } = file;
  try {
    await check?.();
    const { window, total } = await windowOf(file, from, from + lines - 1, signal);
    if (window.length === 0) return { status: "ok", text: "", path, from, lines: 0 };
    return fitWindow(window, path, from, total);
  } catch (error) {
    if (signal.aborted || MemoryError.is(error)) throw error;
    if (codeOf(error) === "ENOENT") return { status: "not_found", text: "", path };
    throw notReadable(path, `: ${messageOf(error)}`, "UNAVAILABLE", error);
  }
}

async function windowOf(
  file: ConversationFile,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<{ window: string[]; total: number }> {
  if (file.kind === "note") {
    const bytes = await withFile(file.absolutePath, (handle) => handle.readFile({ signal }));
    const all = redactLines(decodeLines(bytes));
    return { window: all.slice(from - 1, to), total: all.length };
  }
  const window: string[] = [];
  let total = 0;
  for await (const [number, record] of recordsOf(file, { signal, isAsked: (line) => line >= from })) {
    total = number;
    if (number > to) break;
    if (number < from) continue;
    while (window.length < number - from) window.push("");
    const shown = record.kind === "message" ? renderWhole(record).line : "";
    // A line may contain several messages.
    const before = window.length > number - from ? window.pop() : undefined;
    window.push([before, shown].filter(Boolean).join(" "));
  }
  return { window, total };
}

/** For each of `found`, whether its lines are still in the conversation. */
export async function verifyLines(
  file: ConversationFile,
  found: readonly FoundLines[],
  tokens: number,
  signal: AbortSignal,
): Promise<boolean[]> {
  const said = new Map<number, string[]>();
  const last = Math.max(...found.map(({ endLine }) => endLine));
  const isWanted = (number: number): boolean =>
    found.some(({ startLine, endLine }) => number >= startLine && number <= endLine);
  const slices = createTimeSlices(signal);
  for await (const [number, record] of recordsOf(file, { signal, isAsked: (line) => line > last || isWanted(line) })) {
    if (slices.isOver()) await slices.pause();
    if (number > last) break;
    if (record.kind === "message" && isWanted(number))
      said.set(number, [...(said.get(number) ?? []), ...renderSaid(record, "plain", tokens).rendered]);
  }
  return found.map(({ startLine, endLine, lines }) => {
    const now = Array.from({ length: endLine - startLine + 1 }, (_, index) => said.get(startLine + index) ?? []);
    return isWithin(lines, now.flat());
  });
}

/** Whether the lines occur in this order, with others in between: heartbeats are not in the index. */
function isWithin(wanted: readonly string[], lines: readonly string[]): boolean {
  let next = 0;
  for (const line of lines) if (next < wanted.length && line.toWellFormed() === wanted[next]?.toWellFormed()) next++;
  return next === wanted.length;
}
