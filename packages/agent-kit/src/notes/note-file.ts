import { isUtf8 } from "node:buffer";
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError, isAbort, messageOf } from "@memslot/core";
import {
  codeOf,
  type FolderInPlace,
  MovedError,
  openFolderInPlace,
  syncFolder,
  notesLayout,
  notesMark,
  unlessMissing,
} from "@memslot/core/files";
import { holdsNotes } from "@memslot/indexing/host";
import { waitForExchange } from "./drafts.ts";
import { closing, appendWhole, readWhole, unlessThere } from "./file-bytes.ts";

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
 * link, and what is made is made in the folder that was looked at, so nothing outside the workspace is ever written,
 * also where another program exchanges folders meanwhile. Throws `WORKSPACE`.
 */
export async function openNote(target: NoteTarget): Promise<OpenNote> {
  let folder: FolderInPlace | undefined;
  let handle: FileHandle | undefined;
  try {
    folder = await openWay(target);
    const name = path.posix.basename(target.relPath);
    const opened = await openOrMake(folder, name);
    handle = opened.handle;
    if (!folder.holds(handle, name)) throw new MovedError(target.relPath);
    const bytes = opened.isNew ? Buffer.alloc(0) : await readBytes(target, handle);
    return openedNote(target, { folder: folder.path, handle, bytes, isNew: opened.isNew });
  } catch (error) {
    await handle?.close();
    throw await failureOf(target, error);
  } finally {
    await folder?.close();
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new DOMException(messageOf(signal.reason), "AbortError");
}

/** Why a note cannot be written, with the file and the next step. */
export function cannotWrite(
  { relPath, workspaceDir }: Pick<NoteTarget, "workspaceDir" | "relPath">,
  reason: string,
  cause?: unknown,
): MemoryError {
  return new MemoryError("WORKSPACE", `cannot write ${relPath} in ${workspaceDir}: ${reason}`, { cause });
}

function openedNote(
  target: NoteTarget,
  { folder, handle, bytes, isNew }: { folder: string; handle: FileHandle; bytes: Buffer; isNew: boolean },
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
        await appendWhole(handle, entry);
        if (isNew) await syncFolder(folder);
        // Whoever looks at the note next is to see what has become of this.
        const note = path.join(folder, path.posix.basename(target.relPath));
        await waitForExchange(note, await handle.stat({ bigint: true }));
      } catch (error) {
        throw await failureOf(target, error);
      }
    },
    close: () => handle.close(),
  };
}

/** The folder of the note, with the folders under the workspace made that are not there. */
export async function openWay(target: NoteTarget): Promise<FolderInPlace> {
  const workspaceDir = await realpath(target.workspaceDir);
  if (!(await stat(workspaceDir)).isDirectory()) throw cannotWrite(target, "the workspace is not a folder");
  await checkWay(target, workspaceDir);
  await keepNotesLayout(workspaceDir);
  let folder = await openFolderInPlace(workspaceDir);
  for (const part of target.relPath.split("/").slice(0, -1)) {
    const { path: above, mkdir, close } = folder;
    try {
      const made = await unlessThere(mkdir(part).then(() => true));
      folder = await openFolderInPlace(path.join(above, part));
      if (made) await syncFolder(above);
    } finally {
      await close();
    }
  }
  return folder;
}

/** Refuses links and what is in the way from the workspace to the file, by name. */
async function checkWay(target: Pick<NoteTarget, "workspaceDir" | "relPath">, workspaceDir: string): Promise<void> {
  const parts = target.relPath.split("/");
  let place = workspaceDir;
  for (const [index, part] of parts.entries()) {
    place = path.join(place, part);
    const name = parts.slice(0, index + 1).join("/");
    const isLast = index === parts.length - 1;
    const wanted = isLast ? "file" : "folder";
    const found = await lstat(place).catch(unlessMissing);
    if (found === undefined) return;
    if (found.isSymbolicLink())
      throw cannotWrite(target, `${name} is a symbolic link, which is not followed: put a ${wanted} in its place`);
    if (!(isLast ? found.isFile() : found.isDirectory()))
      throw cannotWrite(target, `${name} is not a ${wanted}: move it away`);
  }
}

async function openOrMake(folder: FolderInPlace, name: string): Promise<{ handle: FileHandle; isNew: boolean }> {
  const flags = constants.O_RDWR | constants.O_APPEND;
  const existing = await folder.open(name, flags).catch(unlessMissing);
  if (existing !== undefined) return { handle: existing, isNew: false };
  const made = await unlessThere(folder.open(name, flags | constants.O_CREAT | constants.O_EXCL, 0o666));
  if (made !== undefined) return { handle: made, isNew: true };
  return { handle: await folder.open(name, flags), isNew: false };
}

async function readBytes(target: NoteTarget, handle: FileHandle): Promise<Buffer> {
  const waitUntilMs = performance.now() + creationMs;
  for (;;) {
    const found = await handle.stat();
    if (!found.isFile()) throw cannotWrite(target, `${target.relPath} is not a file: move it away`);
    const { size, mtimeMs } = found;
    if (size > maxBytes)
      throw cannotWrite(target, `it is larger than ${maxBytes / 1_000_000} MB: move it away, and a new one is begun`);
    const bytes = await readWhole(handle, size);
    // Another process has just made the file and is about to write the heading, which belongs at the top.
    const justMade = size === 0 && target.heading !== "" && Date.now() - mtimeMs < creationMs;
    if (justMade && performance.now() < waitUntilMs) {
      await sleep(5, undefined, { signal: target.signal });
      continue;
    }
    if (!isUtf8(bytes) || bytes.includes(0))
      throw cannotWrite(target, "it is not UTF-8 text, and what is appended would be unreadable: save it as UTF-8");
    return bytes;
  }
}

/** Names the file and the next step; errors that do so already, and aborts, stay as they are. */
export async function failureOf(
  target: Pick<NoteTarget, "workspaceDir" | "relPath">,
  error: unknown,
): Promise<unknown> {
  if (MemoryError.is(error) || isAbort(error)) return error;
  const code = String(codeOf(error));
  if (error instanceof MovedError || code === "ENOTDIR" || code === "ELOOP") {
    // What came into the way is still there, or the race is over and nothing can be named.
    const inTheWay = await realpath(target.workspaceDir)
      .then((workspaceDir) => checkWay(target, workspaceDir))
      .catch((reason: unknown) => reason);
    if (MemoryError.is(inTheWay)) return inTheWay;
  }
  return cannotWrite(target, `${messageOf(error)}: ${steps[code] ?? "check the folder and its file system"}`, error);
}

const steps: Readonly<Record<string, string>> = {
  ENOENT: "check that the workspace folder is there",
  ENOTDIR: "check that the workspace is a folder",
  ECLOUD: "download it (in Finder: Download Now), then write the note again",
  EMOVED: "nothing was written; write the note again",
  EACCES: "make the file and its folder writable",
  EPERM: "make the file and its folder writable",
  EROFS: "the file system is read-only; move the workspace to one that can be written",
  ENOSPC: "make room on the disk",
  EDQUOT: "make room in the quota",
  ELOOP: "symbolic links are not followed; put a file in its place",
  EISDIR: "a folder stands in the file's place; move it away",
};

const markText = `This folder is a folder of notes: memslot takes all Markdown in it for memory, also beside MEMORY.md and memory/,
which agents write to. Without this file only MEMORY.md, USER.md and memory/ would be.
`;

/**
 * To be called before MEMORY.md or memory/ is made: a folder of notes stays one. Where there are notes that the agent's
 * layout would hide, the mark of a folder of notes is put beside them first, so that there is no moment without it.
 * Throws what the file system throws.
 */
export async function keepNotesLayout(workspaceDir: string): Promise<void> {
  const place = await realpath(workspaceDir);
  if (existsSync(path.join(place, notesMark))) return;
  // Whatever is configured: the mark means nothing where `memorySearch.notes` is set.
  if (notesLayout(place, "auto").layout !== "all" || !holdsNotes(place)) return;
  await closing(await openFolderInPlace(place), async (folder) => {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const opened = await unlessThere(folder.open(notesMark, flags, 0o666));
    // Another process has done it at the same moment.
    if (opened === undefined) return;
    await closing(opened, async (handle) => {
      await handle.writeFile(markText);
      await handle.sync();
    });
    await syncFolder(place);
  });
}
