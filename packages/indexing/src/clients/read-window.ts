import { open } from "node:fs/promises";
import { type ManagerReadParams, MemoryError, type MemoryReadResult, messageOf } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import { openForReading } from "../files/file-kind.ts";
import { fitWindow } from "../files/read-file.ts";
import { redactLines } from "../secrets/redact-secrets.ts";
import { asOneLine, wholeLineTokens } from "../sessions/render-message.ts";
import { renderSaid } from "../sessions/read-transcript.ts";
import { readLines } from "../sessions/transcript-lines.ts";
import type { RecordReader } from "../sessions/transcript-record.ts";
import { decodeLines } from "../text/file-text.ts";
import type { ClientFile, NumberedRecords } from "./client.ts";

/**
 * A window of what a program keeps: a line for each of its lines, as it is searched, without secrets and empty where nothing
 * was said.
 */
export async function readClientWindow(
  { file, recordOf }: { file: ClientFile; recordOf: RecordReader },
  { from, lines, signal }: Pick<ManagerReadParams, "from" | "lines" | "signal">,
): Promise<MemoryReadResult> {
  const shown = file.path;
  try {
    const { window, total } = await windowOf(file, { from, to: from + lines - 1, recordOf, signal });
    if (window.length === 0) return { status: "ok", text: "", path: shown, from, lines: 0 };
    return fitWindow(window, shown, from, total);
  } catch (error) {
    if (signal.aborted) throw error;
    if (codeOf(error) === "ENOENT") return { status: "not_found", text: "", path: shown };
    throw new MemoryError("UNAVAILABLE", `${shown} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

interface Wanted {
  from: number;
  to: number;
  recordOf: RecordReader;
  signal: AbortSignal;
}

/** `total`: lines up to the first behind the window. */
async function windowOf(file: ClientFile, wanted: Wanted): Promise<{ window: string[]; total: number }> {
  const { from, to, signal } = wanted;
  if (file.kind === "note") {
    const handle = await open(file.absolutePath, openForReading);
    try {
      const all = redactLines(decodeLines(await handle.readFile({ signal })));
      return { window: all.slice(from - 1, to), total: all.length };
    } finally {
      await handle.close();
    }
  }
  const window: string[] = [];
  let total = 0;
  const records = file.kind === "whole" ? file.records?.(signal) : recordsOfLines(file, wanted);
  for await (const [number, record] of records ?? []) {
    total = number;
    if (number > to) break;
    if (number < from) continue;
    while (window.length < number - from) window.push("");
    const shown = record.kind === "message" ? asOneLine(renderSaid(record, "plain", wholeLineTokens).rendered) : "";
    // A line may hold several messages.
    const before = window.length > number - from ? window.pop() : undefined;
    window.push([before, shown].filter(Boolean).join(" "));
  }
  return { window, total };
}

/** What stands before the window is counted and not read. */
async function* recordsOfLines(file: ClientFile, { from, recordOf, signal }: Wanted): NumberedRecords {
  const handle = await open(file.absolutePath, openForReading);
  try {
    let number = 0;
    for await (const lines of readLines(handle, 0, (await handle.stat()).size, signal))
      for (const { bytes } of lines) {
        const isAsked = ++number >= from && bytes !== undefined;
        yield [number, isAsked ? recordOf(bytes) : { kind: "broken" }];
      }
  } finally {
    await handle.close();
  }
}
