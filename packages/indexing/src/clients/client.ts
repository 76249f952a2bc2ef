import type { ClientSource } from "@memslot/core";
import type { ScannedFile } from "../files/scan.ts";
import type { RecordReader, TranscriptRecord } from "../sessions/transcript-record.ts";
import type { ClientFinding } from "./client-finding.ts";

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

export type NumberedRecords = AsyncIterable<readonly [number: number, record: TranscriptRecord]>;

/** A program that keeps its conversations on this machine. */
export interface Client {
  readonly source: ClientSource;
  /** As people call it. */
  readonly name: string;
  /** How its lines are read. */
  readonly recordOf: RecordReader;
  /** Finds what it keeps in its folders. What cannot be looked at is told to `finding`. */
  find(finding: ClientFinding, folders: readonly string[]): Promise<void>;
}
