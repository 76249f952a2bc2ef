import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, mkdir, realpath } from "node:fs/promises";
import path from "node:path";
import { codeOf, type FolderInPlace, MovedError, openFolderInPlace } from "@memslot/core/files";
import { noteFile } from "@memslot/indexing/host";
import { withStateLock } from "../state-lock.ts";
import { contentOf, type NoteContent } from "./note-content.ts";
import { cannotWrite, failureOf } from "./note-file.ts";
import type { NoteName } from "./note-name.ts";
import { readWhole } from "./read-whole.ts";

/** More than this is no note that anybody edits as a whole. */
export const maxBytes = 4_000_000;
const waitMs = 5_000;

/** A note in its open folder. */
export interface Note {
  workspaceDir: string;
  relPath: string;
  folder: FolderInPlace;
  name: string;
}

/** A note that is open, with what it held then. */
export interface OpenedNote {
  handle: FileHandle;
  stats: BigIntStats;
  bytes: Buffer;
}

/** Opens the folder of a note. Throws `PATH_NOT_ALLOWED` and `WORKSPACE`. */
export async function inFolder<T>(given: NoteName, run: (note: Note) => Promise<T>): Promise<T> {
  const { relPath } = given;
  const workspaceDir = await realpath(given.workspaceDir).catch((error: unknown) => failing(given, error));
  const file = await noteFile({ ...given, workspaceDir });
  let folder: FolderInPlace | undefined;
  try {
    folder = await openFolderInPlace(path.dirname(file));
    return await run({ workspaceDir, relPath, folder, name: path.basename(file) });
  } catch (error) {
    return await failing(given, error);
  } finally {
    await folder?.close();
  }
}

/** The same while no other process changes this note through memslot. */
export async function inLockedFolder<T>(
  given: NoteName & { signal?: AbortSignal | undefined },
  run: (note: Note) => Promise<T>,
): Promise<T> {
  const { stateDir, relPath, signal } = given;
  return await inFolder(given, async (note) => {
    const locks = path.join(stateDir, "locks");
    await mkdir(locks, { recursive: true, mode: 0o700 });
    const key = createHash("sha256").update(path.join(note.folder.path, note.name)).digest("hex").slice(0, 32);
    const busy = (holder: { pid: number } | undefined): string =>
      `${relPath} is being changed by ${holder ? `process ${holder.pid}` : "another process"} for more than 5 s; try again`;
    return await withStateLock(path.join(locks, `note-${key}.lock`), { waitMs, busy, signal }, () => run(note));
  });
}

async function failing(given: NoteName, error: unknown): Promise<never> {
  throw await failureOf(given, error);
}

/** Undefined where there is none. */
export async function openThere(note: Note): Promise<OpenedNote | undefined> {
  const { folder, name, relPath } = note;
  let handle: FileHandle;
  try {
    handle = await folder.open(name, constants.O_RDONLY);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) throw cannotWrite(note, `${relPath} is not a file: move it away`);
    if (!folder.holds(handle, name)) throw new MovedError(relPath);
    if (stats.size > maxBytes) throw cannotWrite(note, `it is larger than ${maxBytes / 1_000_000} MB: split it`);
    const bytes = await bytesOf(handle);
    return { handle, stats: await handle.stat({ bigint: true }), bytes };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** All bytes from the beginning, wherever the handle stands. */
export async function bytesOf(handle: FileHandle): Promise<Buffer> {
  const { size } = await handle.stat();
  return await readWhole(handle, size);
}

export async function contentIn({ bytes, stats }: Pick<OpenedNote, "bytes" | "stats">): Promise<NoteContent> {
  return contentOf(bytes, new Date(Number(stats.mtimeMs)));
}
