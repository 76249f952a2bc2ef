import path from "node:path";
import { saidRecord, timeOf, type TranscriptRecord } from "../sessions/transcript-record.ts";
import type { LineReader } from "./lines/said-line.ts";

/** A line of a program's transcript as a record, with where the program says it was at work. */
export function clientRecord(
  line: Record<string, unknown>,
  read: LineReader,
  folderIn: (line: Record<string, unknown>) => unknown = () => undefined,
): TranscriptRecord {
  const found = folderIn(line);
  const folder = absoluteFolder(found);
  const said = read(line);
  if (said === undefined) return { kind: "other", timeMs: timeOf(line["timestamp"]), folder };
  return saidRecord({ role: said.role, text: said.text, timeMs: timeOf(said.at), folder });
}

/** A folder as a program writes it down, of whatever system. All else might be taken for what stands for no single folder. */
export function absoluteFolder(value: unknown): string | undefined {
  const isFolder = typeof value === "string" && (path.posix.isAbsolute(value) || path.win32.isAbsolute(value));
  return isFolder ? value : undefined;
}
