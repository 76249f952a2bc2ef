import type { ScannedFile } from "../../files/scan.ts";
import { type LineChoice, recordsOfLines } from "../lines.ts";
import type { NumberedRecords, RecordReader } from "../record.ts";

/** Of a conversation in a database, before it is read: then it is the bytes of what was said. */
export const unknownSize = -1;

/** What a program remembers, as one of its files or as a conversation in its database. */
export interface ClientFile extends ScannedFile {
  /** `lines`: a transcript to which lines are added. `whole`: a conversation that is read from its beginning each time. */
  kind: "note" | "lines" | "whole";
  /** Bytes of the file; `unknownSize` for a part of a database. */
  size: number;
  /** Where the program was at work, as far as that is known before it is read, see `createProjectMatch`. */
  folder?: string | undefined;
  /** Of `whole`: what is in it, each with its number, in order. */
  records?: ((signal: AbortSignal) => NumberedRecords) | undefined;
}

/** What is in a conversation. Of a transcript only what is asked for. */
export function recordsOf(
  file: Pick<ClientFile, "absolutePath" | "records">,
  recordOf: RecordReader,
  choice: LineChoice,
): NumberedRecords {
  return file.records?.(choice.signal) ?? recordsOfLines(file.absolutePath, recordOf, choice);
}
