import type { FileHandle } from "node:fs/promises";
import { readEntry, type TranscriptEntry } from "./transcript-entry.ts";
import { emptyTranscript, type GrowingTranscript } from "./transcript-state.ts";

/** A longer line is passed over when reading, and refused when writing. */
export const maxLineBytes: number = 16 * 1024 * 1024;

const blockBytes = 256 * 1024;
const lineEnd = 10;

/**
 * Reads a transcript from its beginning, line by line. Holds a block and a line of it, and what `TranscriptState` holds.
 * `ended` is false where the last line has no line end; it counts if it is whole.
 */
export async function readTranscript(handle: FileHandle): Promise<{ state: GrowingTranscript; ended: boolean }> {
  const state = emptyTranscript();
  const block = Buffer.allocUnsafe(blockBytes);
  let carried: Buffer[] = [];
  let length = 0;
  let lineNumber = 0;

  const take = (last: Buffer, endBytes: number): void => {
    lineNumber++;
    length += last.length;
    const entry: TranscriptEntry =
      length > maxLineBytes ? { kind: "broken" } : readEntry(Buffer.concat([...carried, last]), lineNumber);
    state.take(entry, length + endBytes);
    carried = [];
    length = 0;
  };

  for (;;) {
    const { bytesRead } = await handle.read(block, 0, block.length, position());
    if (bytesRead === 0) break;
    const read = block.subarray(0, bytesRead);
    let at = 0;
    for (let end = read.indexOf(lineEnd); end >= 0; end = read.indexOf(lineEnd, at)) {
      take(read.subarray(at, end), 1);
      at = end + 1;
    }
    length += bytesRead - at;
    if (length > maxLineBytes) carried = [];
    else if (at < bytesRead) carried.push(Buffer.from(read.subarray(at)));
  }
  const ended = length === 0;
  if (!ended) take(Buffer.alloc(0), 0);
  return { state, ended };

  function position(): number {
    return state.bytes + length;
  }
}

/** The first line of a transcript, if it is short; undefined where it cannot be read. */
export async function readFirstEntry(handle: FileHandle): Promise<TranscriptEntry | undefined> {
  const head = Buffer.alloc(64 * 1024);
  const { bytesRead } = await handle.read(head, 0, head.length, 0);
  const end = head.subarray(0, bytesRead).indexOf(lineEnd);
  return end < 0 ? undefined : readEntry(head.subarray(0, end), 1);
}
