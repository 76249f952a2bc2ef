import { type ManagerReadParams, type MemoryReadResult, messageOf } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import { withFile } from "../files/file-kind.ts";
import { fitWindow, notReadable } from "../files/read-file.ts";
import { redactLines } from "../secrets/redact-secrets.ts";
import { asOneLine, wholeLineTokens } from "./message-text.ts";
import { renderSaid } from "./read-transcript.ts";
import type { RecordReader } from "./record.ts";
import { decodeLines } from "../text/file-text.ts";
import { type ClientFile, recordsOf } from "./agents/agent.ts";

/** A file of which a window is read. */
type ShownFile = Pick<ClientFile, "path" | "absolutePath" | "kind" | "records">;

/**
 * A window of a conversation or a note: a line for each of its lines, as it is searched, without secrets and empty where nothing
 * was said.
 */
export async function readClientWindow(
  { file, recordOf }: { file: ShownFile; recordOf: RecordReader },
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
    throw notReadable(shown, `: ${messageOf(error)}`, "UNAVAILABLE", error);
  }
}

interface Wanted {
  from: number;
  to: number;
  recordOf: RecordReader;
  signal: AbortSignal;
}

/** `total`: lines up to the first behind the window. */
async function windowOf(
  file: ShownFile,
  { from, to, recordOf, signal }: Wanted,
): Promise<{ window: string[]; total: number }> {
  if (file.kind === "note") {
    const bytes = await withFile(file.absolutePath, (handle) => handle.readFile({ signal }));
    const all = redactLines(decodeLines(bytes));
    return { window: all.slice(from - 1, to), total: all.length };
  }
  const window: string[] = [];
  let total = 0;
  for await (const [number, record] of recordsOf(file, recordOf, { signal, isAsked: (line) => line >= from })) {
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
