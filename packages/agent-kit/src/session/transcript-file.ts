import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { noFollow, syncFolder } from "@memslot/core/files";
import { readLines } from "@memslot/indexing/host";
import type { ConversationMessage, UserMessage } from "../conversation-messages.ts";
import { closing } from "../edit/safe-writes.ts";
import { orUnavailable } from "../state-locks.ts";
import { readEntry, type TranscriptEntry } from "./transcript-entry.ts";

export const maxLineBytes: number = 16 * 1024 * 1024;

const olderIdsKept = 1_000;

/** The messages since the last compaction. Reading and writing both go through `take`, and so give the same state. */
export class TranscriptState {
  summary: string | undefined;
  messages: ConversationMessage[] = [];
  unanswered: UserMessage | undefined;
  compactionCount = 0;
  compactedBytes = 0;
  bytes = 0;
  brokenLines = 0;
  lastId: string | undefined;
  lastAt: string | undefined;
  begun = false;
  spoken = false;
  #byId = new Map<string, ConversationMessage>();
  readonly #olderIds = new Set<string>();

  /** The message with an id; "before" for one before the last compaction, of which only the id is known. */
  find(id: string): ConversationMessage | "before" | undefined {
    return this.#byId.get(id) ?? (this.#olderIds.has(id) ? "before" : undefined);
  }

  /** Takes the next line, `bytes` long with its line end. A message whose id is known counts once. */
  take(entry: TranscriptEntry, bytes: number): void {
    this.bytes += bytes;
    if (entry.kind === "blank") return;
    if (entry.kind === "broken") {
      this.brokenLines++;
      return;
    }
    this.begun = true;
    if (entry.kind === "message") this.#said(entry.message);
    else if (entry.kind === "session") this.lastAt ??= entry.at;
    else if (entry.kind === "compaction") {
      this.#compacted(entry.firstKeptId);
      this.summary = entry.summary;
      this.lastId = entry.id ?? this.lastId;
      this.lastAt = entry.at ?? this.lastAt;
    }
  }

  #said(message: ConversationMessage): void {
    if (this.find(message.id) !== undefined) return;
    this.messages.push(message);
    this.#byId.set(message.id, message);
    this.lastId = message.id;
    this.lastAt = message.at;
    this.spoken = true;
    if (message.role === "user") this.unanswered = message;
    // A round of tools is not an answer yet.
    else if (message.role === "assistant" && message.toolCalls === undefined && message.text.trim() !== "")
      this.unanswered = undefined;
  }

  #compacted(firstKeptId: string | undefined): void {
    const first = this.messages.findIndex(({ id }) => id === firstKeptId);
    const kept = first < 0 ? [] : this.messages.slice(first);
    for (const { id } of first < 0 ? this.messages : this.messages.slice(0, first)) {
      this.#olderIds.delete(id);
      this.#olderIds.add(id);
    }
    for (const oldest of this.#olderIds) if (this.#olderIds.size > olderIdsKept) this.#olderIds.delete(oldest);
    this.messages = kept;
    this.#byId = new Map(kept.map((message) => [message.id, message]));
    this.compactionCount++;
    this.compactedBytes = this.bytes;
  }
}

export class TranscriptFile {
  state: TranscriptState = new TranscriptState();
  readonly #file: string;
  readonly #handle: FileHandle;
  #isUnsure = false;

  constructor(file: string, handle: FileHandle) {
    this.#file = file;
    this.#handle = handle;
  }

  /** Reads the file. A last line without a line end gets one, and counts if it is complete. */
  async read(): Promise<void> {
    const state = new TranscriptState();
    const { size } = await this.#handle.stat();
    let lineNumber = 0;
    for await (const lines of readLines(this.#handle, 0, size, undefined, maxLineBytes))
      for (const { start, end, bytes, ended } of lines) {
        lineNumber++;
        state.take(readEntry(bytes, lineNumber), end - start);
        if (ended) continue;
        await this.#writeWhole(Buffer.from("\n"));
        state.take({ kind: "blank" }, 1);
      }
    this.state = state;
  }

  async settle(): Promise<void> {
    if (!this.#isUnsure) return;
    await using(this.#file, async () => {
      await this.read();
      await this.#handle.datasync();
    });
    this.#isUnsure = false;
  }

  /** Writes whole lines, each with its line end, in one write. They are on disk when this resolves. */
  async write(lines: readonly string[]): Promise<void> {
    this.#isUnsure = true;
    await using(this.#file, async () => {
      await this.#writeWhole(Buffer.from(lines.join("")));
      if ((await this.#handle.stat()).nlink === 0) throw new Error("it was deleted while the session was open");
    });
    this.#isUnsure = false;
    for (const line of lines) this.state.take(readEntry(Buffer.from(line.slice(0, -1)), 0), Buffer.byteLength(line));
  }

  /** A full disk takes a part of the bytes and reports no error. */
  async #writeWhole(bytes: Buffer): Promise<void> {
    const { bytesWritten } = await this.#handle.write(bytes);
    if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be written`);
    await this.#handle.datasync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

export async function openTranscript(file: string): Promise<TranscriptFile> {
  return await using(file, async () => {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollow;
    const handle = await open(file, flags, 0o600);
    try {
      if (!(await handle.stat()).isFile()) throw new Error("it is not a regular file");
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
    return `the transcript ${file} cannot be used: ${why}; check the disk and the rights of the folder, then try again`;
  });
}

export async function readFileSafely<T>(
  file: string,
  run: (handle: FileHandle, stats: Stats) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await closing(await open(file, constants.O_RDONLY | noFollow), async (handle) => {
      const stats = await handle.stat();
      return stats.isFile() ? await run(handle, stats) : undefined;
    });
  } catch {
    return undefined;
  }
}

export async function readBeginning(
  file: string,
): Promise<(Extract<TranscriptEntry, { kind: "session" }> & { changedMs: number }) | undefined> {
  return await readFileSafely(file, async (handle, { mtimeMs }) => {
    const head = Buffer.alloc(64 * 1024);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    const end = head.subarray(0, bytesRead).indexOf(10);
    const entry = end < 0 ? undefined : readEntry(head.subarray(0, end), 1);
    return entry?.kind === "session" ? { ...entry, changedMs: mtimeMs } : undefined;
  });
}
