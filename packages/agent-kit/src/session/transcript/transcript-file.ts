import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { noSurprises, syncFolder } from "@memslot/core/files";
import { readTranscript } from "./read-transcript.ts";
import { readEntry } from "./transcript-entry.ts";
import type { GrowingTranscript, TranscriptState } from "./transcript-state.ts";

/** A transcript that is open for appending. One call at a time: the caller sees to it. */
export interface TranscriptFile {
  /** What is in the file. Ask again after each call: it may be another object. */
  readonly state: TranscriptState;
  /** Finds out what is in the file after a write that failed; otherwise nothing. To be called before `write`. */
  settle(): Promise<void>;
  /** Writes whole lines, each with its line end, in one write. They are on the disk when this resolves. */
  write(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const readAndAppend = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noSurprises;

/**
 * Opens a transcript, or makes it, and reads it. Nothing that stands in it is ever changed: a last line that is broken,
 * because a process ended while it wrote, gets its line end and is passed over from then on.
 */
export async function openTranscript(file: string): Promise<TranscriptFile> {
  const handle = await openFile(file);
  let state: GrowingTranscript;
  let unsure = false;
  try {
    state = await readAndEnd(handle);
    if (state.bytes === 0) await syncFolder(path.dirname(file));
  } catch (error) {
    await handle.close();
    throw cannotUse(file, error);
  }

  return {
    get state() {
      return state;
    },
    async settle() {
      if (!unsure) return;
      try {
        state = await readAndEnd(handle);
        await handle.datasync();
        unsure = false;
      } catch (error) {
        throw cannotUse(file, error);
      }
    },
    async write(lines) {
      unsure = true;
      try {
        await writeWhole(handle, Buffer.from(lines.join("")));
        await handle.datasync();
        if ((await handle.stat()).nlink === 0) throw new Error("it was deleted while the session was open");
      } catch (error) {
        throw cannotUse(file, error);
      }
      unsure = false;
      for (const line of lines) state.take(readEntry(Buffer.from(line.slice(0, -1)), 0), Buffer.byteLength(line));
    },
    close: () => handle.close(),
  };
}

async function openFile(file: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, readAndAppend, 0o600);
    if (!(await handle.stat()).isFile()) throw new Error("it is no regular file");
    return handle;
  } catch (error) {
    await handle?.close();
    throw cannotUse(file, error);
  }
}

async function readAndEnd(handle: FileHandle): Promise<GrowingTranscript> {
  const { state, ended } = await readTranscript(handle);
  if (ended) return state;
  await writeWhole(handle, Buffer.from("\n"));
  await handle.datasync();
  state.take({ kind: "blank" }, 1);
  return state;
}

/** A full disk takes a part of it and gives no error: the rest must not be taken for written. */
async function writeWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await handle.write(bytes);
  if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be written`);
}

function cannotUse(file: string, error: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `the transcript ${file} cannot be used: ${messageOf(error)}; see to the disk and the rights of the folder, then try again`,
    { cause: error },
  );
}
