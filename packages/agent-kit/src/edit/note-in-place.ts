import { isUtf8 } from "node:buffer";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, mkdir, realpath } from "node:fs/promises";
import path from "node:path";
import { type FolderInPlace, MovedError, openFolderInPlace, unlessMissing } from "@memslot/core/files";
import { decodeText, noteFile } from "@memslot/indexing/host";
import { closing, hashOf, readWhole } from "../notes/file-bytes.ts";
import { cannotWrite, failureOf } from "../notes/note-file.ts";
import { withStateLock } from "../state-lock.ts";
import type { NoteContent, NoteName } from "./note.ts";

const mark = "\uFEFF";

/** What the bytes of a note say. */
export function contentIn({ bytes, stats }: Pick<OpenedNote, "bytes" | "stats">): NoteContent {
  const sha256 = hashOf(bytes);
  const fixed = whyFixed(bytes);
  const text = decodeText(bytes).replaceAll("\r\n", "\n");
  const modified = new Date(Number(stats.mtimeMs)).toISOString();
  return { text, sha256, bytes: bytes.length, modified, ...(fixed !== undefined && { fixed }) };
}

/** Why a text that a person has seen cannot take the place of these bytes without changing more than was typed. */
function whyFixed(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return "it is not UTF-8: save it as UTF-8 with another editor";
  if (bytes.includes(0)) return "it holds NUL bytes, which no editor shows: save it as UTF-8 with another editor";
  const hasReturns = /\r(?!\n)/u.test(Buffer.from(bytes).toString());
  return hasReturns ? "it has line ends of old Macs (CR alone), which no page can keep" : undefined;
}

/**
 * The bytes of a text that takes the place of others: with their byte order mark, and with the line ends that the lines
 * before and behind the change have. New lines have those that most of the others have.
 */
export function bytesLike(before: Uint8Array, text: string): Uint8Array {
  const old = new TextDecoder("utf-8", { ignoreBOM: true }).decode(before);
  const hasMark = old.startsWith(mark);
  const was = linesOf(hasMark ? old.slice(mark.length) : old);
  const now = text.replaceAll("\r\n", "\n").split("\n");
  const rest = now.pop() ?? "";
  const same = (a: number, b: number): boolean => was[a]?.text === now[b];
  const most = Math.min(was.length, now.length);
  let head = 0;
  while (head < most && same(head, head)) head++;
  let tail = 0;
  while (tail < most - head && same(was.length - 1 - tail, now.length - 1 - tail)) tail++;
  const returns = was.filter(({ end }) => end === "\r\n").length;
  const usual = returns * 2 > was.length ? "\r\n" : "\n";
  const ended = now.map((line, index) => {
    const known = index < head ? index : index >= now.length - tail ? was.length - now.length + index : undefined;
    return line + ((known === undefined ? undefined : was[known]?.end) ?? usual);
  });
  return Buffer.from((hasMark ? mark : "") + ended.join("") + rest);
}

/** Lines that have an end. */
function linesOf(text: string): { text: string; end: "\n" | "\r\n" }[] {
  const pieces = text.split("\n").slice(0, -1);
  return pieces.map((piece) =>
    piece.endsWith("\r") ? { text: piece.slice(0, -1), end: "\r\n" } : { text: piece, end: "\n" },
  );
}

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
  const workspaceDir = await realpath(given.workspaceDir).catch(async (error: unknown) => {
    throw await failureOf(given, error);
  });
  const file = await noteFile({ ...given, workspaceDir });
  try {
    return await closing(await openFolderInPlace(path.dirname(file)), (folder) =>
      run({ workspaceDir, relPath, folder, name: path.basename(file) }),
    );
  } catch (error) {
    throw await failureOf(given, error);
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
    const key = hashOf(path.join(note.folder.path, note.name)).slice(0, 32);
    const busy = (holder: { pid: number } | undefined): string =>
      `${relPath} is being changed by ${holder ? `process ${holder.pid}` : "another process"} for more than 5 s; try again`;
    return await withStateLock(path.join(locks, `note-${key}.lock`), { waitMs, busy, signal }, () => run(note));
  });
}

/** Undefined where there is none. */
export async function openThere(note: Note): Promise<OpenedNote | undefined> {
  const { folder, name, relPath } = note;
  const handle = await folder.open(name, constants.O_RDONLY).catch(unlessMissing);
  if (handle === undefined) return undefined;
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

/** All of a note, under its lock; undefined where there is none. */
export async function readLocked(
  given: NoteName & { signal?: AbortSignal | undefined },
): Promise<(Note & { bytes: Buffer; content: NoteContent }) | undefined> {
  return await inLockedFolder(given, async (note) => {
    const there = await openThere(note);
    await there?.handle.close();
    return there && { ...note, bytes: there.bytes, content: contentIn(there) };
  });
}
