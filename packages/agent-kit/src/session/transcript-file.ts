import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { noSurprises, syncFolder } from "@memslot/core/files";
import { readLines } from "@memslot/indexing/host";
import { orUnavailable } from "../failures.ts";
import { readEntry, type TranscriptEntry } from "./transcript-entry.ts";
import { TranscriptState } from "./transcript-state.ts";
import { closing } from "../edit/safe-writes.ts";

/** A longer line is passed over when reading, and refused when writing. */
export const maxLineBytes: number = 16 * 1024 * 1024;

const readAndAppend = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noSurprises;

/** A transcript that is open for appending. One call at a time: the caller sees to it. */
export class TranscriptFile {
  /** What is in the file: another object once a failed write was settled. */
  state: TranscriptState = new TranscriptState();
  readonly #file: string;
  readonly #handle: FileHandle;
  #isUnsure = false;

  constructor(file: string, handle: FileHandle) {
    this.#file = file;
    this.#handle = handle;
  }

  /**
   * Reads the file from its beginning, line by line. A last line without a line end counts if it is whole, and gets its line
   * end: a broken one, whose process ended while it wrote, is passed over from then on.
   */
  async read(): Promise<void> {
    const state = new TranscriptState();
    const { size } = await this.#handle.stat();
    let lineNumber = 0;
    for await (const lines of readLines(this.#handle, 0, size, undefined, maxLineBytes))
      for (const { start, end, bytes, ended } of lines) {
        lineNumber++;
        state.take(bytes === undefined ? { kind: "broken" } : readEntry(bytes, lineNumber), end - start);
        if (ended) continue;
        await this.#writeWhole(Buffer.from("\n"));
        await this.#handle.datasync();
        state.take({ kind: "blank" }, 1);
      }
    this.state = state;
  }

  /** Finds out what is in the file after a write that failed; otherwise nothing. To be called before `write`. */
  async settle(): Promise<void> {
    if (!this.#isUnsure) return;
    await using(this.#file, async () => {
      await this.read();
      await this.#handle.datasync();
    });
    this.#isUnsure = false;
  }

  /** Writes whole lines, each with its line end, in one write. They are on the disk when this resolves. */
  async write(lines: readonly string[]): Promise<void> {
    this.#isUnsure = true;
    await using(this.#file, async () => {
      await this.#writeWhole(Buffer.from(lines.join("")));
      await this.#handle.datasync();
      if ((await this.#handle.stat()).nlink === 0) throw new Error("it was deleted while the session was open");
    });
    this.#isUnsure = false;
    for (const line of lines) this.state.take(readEntry(Buffer.from(line.slice(0, -1)), 0), Buffer.byteLength(line));
  }

  /** A full disk takes a part of it and gives no error: the rest must not be taken for written. */
  async #writeWhole(bytes: Buffer): Promise<void> {
    const { bytesWritten } = await this.#handle.write(bytes);
    if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be written`);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Opens a transcript, or makes it, and reads it. Nothing in it is ever changed. */
export async function openTranscript(file: string): Promise<TranscriptFile> {
  return await using(file, async () => {
    const handle = await open(file, readAndAppend, 0o600);
    try {
      if (!(await handle.stat()).isFile()) throw new Error("it is no regular file");
      const transcript = new TranscriptFile(file, handle);
      await transcript.read();
      if (transcript.state.bytes === 0) await syncFolder(path.dirname(file));
      return transcript;
    } catch (error) {
      await handle.close();
      throw error;
    }
  });
}

function using<T>(file: string, run: () => Promise<T>): Promise<T> {
  return orUnavailable(run, (why) => {
    return `the transcript ${file} cannot be used: ${why}; see to the disk and the rights of the folder, then try again`;
  });
}

/** Runs something on a regular file, to which no link leads; undefined where it is gone or cannot be read. */
export async function lookInto<T>(
  file: string,
  run: (handle: FileHandle, stats: Stats) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await closing(await open(file, constants.O_RDONLY | noSurprises), async (handle) => {
      const stats = await handle.stat();
      return stats.isFile() ? await run(handle, stats) : undefined;
    });
  } catch {
    return undefined;
  }
}

/** The first line of a transcript, if it is short and says whose it is, with the time of the last change. */
export async function readBeginning(
  file: string,
): Promise<(Extract<TranscriptEntry, { kind: "session" }> & { changedMs: number }) | undefined> {
  return await lookInto(file, async (handle, { mtimeMs }) => {
    const head = Buffer.alloc(64 * 1024);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    const end = head.subarray(0, bytesRead).indexOf(10);
    const entry = end < 0 ? undefined : readEntry(head.subarray(0, end), 1);
    return entry?.kind === "session" ? { ...entry, changedMs: mtimeMs } : undefined;
  });
}
