import { type Stats, constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError, isAbort, messageOf } from "@memslot/core";
import { codeOf, syncFolder } from "./session/files.ts";

/** A note that is to be appended to. */
export interface NoteTarget {
  workspaceDir: string;
  /** With slashes. */
  relPath: string;
  /** What a new file begins with. */
  heading: string;
  signal?: AbortSignal | undefined;
}

/** A note that is open: what it holds, and the one way to change it. */
interface OpenNote {
  /** With LF line ends, without a byte order mark. */
  readonly text: string;
  /** One write at the end of the file, on disk when it resolves. */
  append(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** More than this is no log that anybody reads. */
const maxBytes = 32_000_000;

/** How long another process may take between making a file and writing to it. */
const creationMs = 2_000;

/**
 * Opens a note for appending and makes it where it is not there. No part of the way is followed where it is a symbolic
 * link, so nothing outside the workspace is ever written. Throws `WORKSPACE`.
 */
export async function openNote(target: NoteTarget): Promise<OpenNote> {
  const file = path.join(target.workspaceDir, ...target.relPath.split("/"));
  let handle: FileHandle | undefined;
  try {
    await prepareWay(target);
    const opened = await openOrMake(file);
    handle = opened.handle;
    await checkOpened(target, file, handle);
    const bytes = opened.isNew ? Buffer.alloc(0) : await readBytes(target, handle);
    return openedNote(target, { file, handle, bytes, isNew: opened.isNew });
  } catch (error) {
    await handle?.close();
    throw failureOf(target, error);
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new DOMException(messageOf(signal.reason), "AbortError");
}

/** Why a note cannot be written, with the file and the next step. */
export function cannotWrite({ relPath, workspaceDir }: NoteTarget, reason: string, cause?: unknown): MemoryError {
  return new MemoryError("WORKSPACE", `cannot write ${relPath} in ${workspaceDir}: ${reason}`, { cause });
}

function openedNote(
  target: NoteTarget,
  { file, handle, bytes, isNew }: { file: string; handle: FileHandle; bytes: Buffer; isNew: boolean },
): OpenNote {
  const given = bytes.toString("utf8");
  const lineEnd = /\r?\n/.exec(given)?.[0] ?? "\n";
  const text = given.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  return {
    text,
    append: async (lines) => {
      const start = text === "" ? target.heading : text.endsWith("\n") ? "" : "\n";
      const entry = Buffer.from(`${start}${lines.join("\n")}\n`.replaceAll("\n", lineEnd));
      try {
        const { bytesWritten } = await handle.write(entry, 0, entry.length, null);
        if (bytesWritten < entry.length)
          throw cannotWrite(
            target,
            `only ${bytesWritten} of ${entry.length} bytes could be written: make room on the disk, then write the note again`,
          );
        await handle.sync();
        if (isNew) await syncFolder(path.dirname(file));
      } catch (error) {
        throw failureOf(target, error);
      }
    },
    close: () => handle.close(),
  };
}

/** Makes the folders under the workspace that are not there. */
async function prepareWay(target: NoteTarget): Promise<void> {
  if (!(await stat(target.workspaceDir)).isDirectory()) throw cannotWrite(target, "the workspace is not a folder");
  let folder = target.workspaceDir;
  for await (const { place, found, isLast } of wayOf(target)) {
    if (found === undefined && !isLast) {
      await unlessCode("EEXIST", mkdir(place));
      await syncFolder(folder);
    }
    folder = place;
  }
}

/** Each part of the way from the workspace to the file, with what stands there. Refuses links and what is in the way. */
async function* wayOf(
  target: NoteTarget,
): AsyncGenerator<{ place: string; found: Stats | undefined; isLast: boolean }> {
  const parts = target.relPath.split("/");
  let place = target.workspaceDir;
  for (const [index, part] of parts.entries()) {
    place = path.join(place, part);
    const name = parts.slice(0, index + 1).join("/");
    const isLast = index === parts.length - 1;
    const wanted = isLast ? "file" : "folder";
    const found = await unlessCode("ENOENT", lstat(place));
    if (found?.isSymbolicLink())
      throw cannotWrite(target, `${name} is a symbolic link, which is not followed: put a ${wanted} in its place`);
    if (found !== undefined && !(isLast ? found.isFile() : found.isDirectory()))
      throw cannotWrite(target, `${name} is not a ${wanted}: move it away`);
    yield { place, found, isLast };
  }
}

/** A folder that became a link while the file was opened would have led out of the workspace. */
async function checkOpened(target: NoteTarget, file: string, handle: FileHandle): Promise<void> {
  for await (const _ of wayOf(target));
  const [opened, named] = await Promise.all([handle.stat({ bigint: true }), lstat(file, { bigint: true })]);
  if (opened.ino !== named.ino || opened.dev !== named.dev)
    throw cannotWrite(target, "another file was put in its place: write the note again");
}

async function openOrMake(file: string): Promise<{ handle: FileHandle; isNew: boolean }> {
  // Windows has no O_NOFOLLOW; the look at the link has to do there.
  const flags = constants.O_RDWR | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);
  const existing = await unlessCode("ENOENT", open(file, flags));
  if (existing !== undefined) return { handle: existing, isNew: false };
  const made = await unlessCode("EEXIST", open(file, flags | constants.O_CREAT | constants.O_EXCL));
  if (made !== undefined) return { handle: made, isNew: true };
  return { handle: await open(file, flags), isNew: false };
}

async function readBytes(target: NoteTarget, handle: FileHandle): Promise<Buffer> {
  const waitUntilMs = performance.now() + creationMs;
  for (;;) {
    const { size, mtimeMs } = await handle.stat();
    if (size > maxBytes)
      throw cannotWrite(target, `it is larger than ${maxBytes / 1_000_000} MB: move it away, and a new one is begun`);
    const room = Buffer.alloc(size);
    let length = 0;
    while (length < size) {
      const { bytesRead } = await handle.read(room, length, size - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    // Another process has just made the file and is about to write the heading, which belongs at the top.
    const justMade = size === 0 && target.heading !== "" && Date.now() - mtimeMs < creationMs;
    if (justMade && performance.now() < waitUntilMs) {
      await sleep(5, undefined, { signal: target.signal });
      continue;
    }
    const bytes = room.subarray(0, length);
    const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    if (utf16 || bytes.includes(0))
      throw cannotWrite(target, "it is not UTF-8 text, and what is appended would be unreadable: save it as UTF-8");
    return bytes;
  }
}

/** Undefined where it failed with that code. */
async function unlessCode<Result>(code: string, run: Promise<Result>): Promise<Result | undefined> {
  try {
    return await run;
  } catch (error) {
    if (codeOf(error) === code) return undefined;
    throw error;
  }
}

function failureOf(target: NoteTarget, error: unknown): unknown {
  if (MemoryError.is(error) || isAbort(error)) return error;
  const step = steps[String(codeOf(error))] ?? "check the folder and its file system";
  return cannotWrite(target, `${messageOf(error)}: ${step}`, error);
}

const steps: Readonly<Record<string, string>> = {
  ENOENT: "check that the workspace folder is there",
  ENOTDIR: "check that the workspace is a folder",
  EACCES: "make the file and its folder writable",
  EPERM: "make the file and its folder writable",
  EROFS: "the file system is read-only; move the workspace to one that can be written",
  ENOSPC: "make room on the disk",
  EDQUOT: "make room in the quota",
  ELOOP: "symbolic links are not followed; put a file in its place",
  EISDIR: "a folder stands in the file's place; move it away",
};
