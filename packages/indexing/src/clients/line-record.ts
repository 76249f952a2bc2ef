import { saidRecord, timeOf, type TranscriptRecord } from "../sessions/transcript-record.ts";
import type { LineReader } from "./lines/said-line.ts";

/** A line of a program's transcript as a record, with where the program says it was at work. */
export function clientRecord(
  line: Record<string, unknown>,
  read: LineReader,
  folderIn: (line: Record<string, unknown>) => unknown = () => undefined,
): TranscriptRecord {
  const found = folderIn(line);
  const folder = typeof found === "string" && found !== "" ? found : undefined;
  const said = read(line);
  if (said === undefined) return { kind: "other", timeMs: timeOf(line["timestamp"]), folder };
  return saidRecord({ role: said.role, text: said.text, timeMs: timeOf(said.at), folder });
}
