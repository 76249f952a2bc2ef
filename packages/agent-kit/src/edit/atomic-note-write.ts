import { isUtf8 } from "node:buffer";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, mkdir, realpath } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import {
  codeOf,
  type ConfinedFolder,
  MovedError,
  openConfinedFolder,
  syncFolder,
  unlessMissing,
} from "@memslot/core/files";
import { decodeText, noteFile } from "@memslot/indexing/host";
import { busyFor, withStateLock } from "../state-locks.ts";
import { clearDrafts, draftOf, replacedOf } from "./temporary-files.ts";
import { cannotWrite, failureOf, throwIfAborted } from "./note-folder.ts";
import type { NoteContent, NoteName, NotePath, ReplacedNote, ReplaceNoteOptions } from "./note-types.ts";
import { appendWhole, closing, hashOf, readWhole } from "./safe-writes.ts";

export interface NoteChange {
  /** The new bytes. Undefined if the note is not in the expected state, which is a conflict. Its errors are thrown. */
  make(bytes: Buffer, now: NoteContent): Buffer | undefined;
  prepare?(before: Buffer, after: Buffer): Promise<void>;
}

export async function changeNote(
  given: NoteName & Pick<ReplaceNoteOptions, "signal">,
  change: NoteChange,
): Promise<ReplacedNote> {
  return await inLockedFolder(given, async (note) => {
    const there = await openThere(note);
    if (there === undefined) return { state: "conflict", note: undefined };
    return await closing(there.handle, async () => {
      const now = contentIn(there);
      const bytes = change.make(there.bytes, now);
      if (bytes === undefined) return { state: "conflict", note: now };
      if (now.problem !== undefined) throw cannotWrite(note, now.problem);
      if (there.stats.nlink > 1n) throw cannotWrite(note, sentence("note.names"));
      if (bytes.equals(there.bytes)) return { state: "replaced", note: now };
      if (bytes.length > maxBytes) throw cannotWrite(note, sentence("note.large", { limit: maxMegabytes }));
      await change.prepare?.(there.bytes, bytes);
      return await exchange(note, there, bytes, given.signal);
    });
  });
}

/** Recovers from a process that was killed in the middle of its exchange. */
async function recover({ folder, name }: Note): Promise<void> {
  for (const replaced of clearDrafts(folder.path, name)) {
    const appended = await closing(await folder.open(replaced.name, constants.O_RDONLY), async (handle) => {
      return (await settledBytes(handle)).subarray(replaced.size);
    });
    if (appended.length > 0) await appendTo({ folder, name }, appended);
    await folder.remove(replaced.name);
  }
}

async function appendTo({ folder, name }: Pick<Note, "folder" | "name">, appended: Buffer): Promise<void> {
  await closing(await folder.open(name, constants.O_RDWR | constants.O_APPEND), async (handle) => {
    const bytes = await bytesOf(handle);
    if (!hasLines(bytes, appended)) await appendWhole(handle, behind(bytes, appended));
  });
}

/** Whether a note has these lines as whole lines. Bytes as characters: a line may not be UTF-8. */
function hasLines(note: Buffer, lines: Buffer): boolean {
  const text = lines.toString("latin1").replace(/^\n/u, "").replace(/\n$/u, "");
  return `\n${note.toString("latin1")}\n`.includes(`\n${text}\n`);
}

async function exchange(
  note: Note,
  there: OpenedNote,
  bytes: Buffer,
  signal: AbortSignal | undefined,
): Promise<ReplacedNote> {
  const { folder, name } = note;
  const [draft, replaced] = [draftOf(), replacedOf(name, there.bytes.length)];
  // For appending, so that what other programs append to the old file can be added here.
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL;
  const handle = await folder.open(draft, flags, 0o600);
  try {
    await handle.writeFile(bytes);
    await keepOwner(handle, there.stats);
    await handle.sync();
    throwIfAborted(signal);
    // Keeps the old file for the case that other programs write to it meanwhile. Changes its ctime.
    const isKept = await folder.link(name, replaced).then(
      () => true,
      () => false,
    );
    const old = isKept ? await there.handle.stat({ bigint: true }) : there.stats;
    if (!isSameState(old, there.stats) || !folder.replace(name, draft, (now) => isStill(now, old)))
      return { state: "conflict", note: await present(note) };
    const meanwhile = await settledBytes(there.handle);
    if (meanwhile.length > there.bytes.length && meanwhile.subarray(0, there.bytes.length).equals(there.bytes)) {
      await handle.write(behind(bytes, meanwhile.subarray(there.bytes.length)));
      await handle.sync();
    } else if (!meanwhile.equals(there.bytes)) {
      const stats = await handle.stat({ bigint: true });
      // A file that another program has saved since wins.
      const isOwn = (now: BigIntStats | undefined): boolean => now?.ino === stats.ino && now.dev === stats.dev;
      if (await putBack(note, isKept ? replaced : undefined, { ...there, bytes: meanwhile }, isOwn)) {
        const appended = (await bytesOf(handle)).subarray(bytes.length);
        if (appended.length > 0) await appendTo(note, appended);
      }
      return { state: "conflict", note: await present(note) };
    }
    await syncFolder(folder.path);
    const stats = await handle.stat({ bigint: true });
    return { state: "replaced", note: contentIn({ bytes: await bytesOf(handle), stats }) };
  } finally {
    await handle.close();
    await Promise.all([draft, replaced].map((each) => folder.remove(each).catch(() => undefined)));
  }
}

function isSameState(now: BigIntStats, before: BigIntStats): boolean {
  return now.size === before.size && now.mtimeNs === before.mtimeNs;
}

function isStill(now: BigIntStats | undefined, old: BigIntStats): boolean {
  return now !== undefined && now.ino === old.ino && now.dev === old.dev && isSameState(now, old);
}

async function keepOwner(handle: FileHandle, { mode, uid, gid }: BigIntStats): Promise<void> {
  const own = await handle.stat({ bigint: true });
  if (own.uid !== uid || own.gid !== gid) await handle.chown(Number(uid), Number(gid)).catch(() => undefined);
  await handle.chmod(Number(mode & 0o7777n));
}

function behind(bytes: Buffer, appended: Buffer): Buffer {
  const isEnded = bytes.length === 0 || bytes.at(-1) === 10 || appended[0] === 10 || appended[0] === 13;
  return isEnded ? appended : Buffer.concat([Buffer.from("\n"), appended]);
}

/** Puts the old file back, by its own name if it still has one. False: the note is not `isOwn` any more. */
async function putBack(
  note: Note,
  replaced: string | undefined,
  { bytes, stats }: OpenedNote,
  isOwn: (now: BigIntStats | undefined) => boolean,
): Promise<boolean> {
  const { folder, name } = note;
  try {
    if (replaced !== undefined) return folder.replace(name, replaced, isOwn);
  } catch (error) {
    // Removed by a process with another state folder, which took it for a leftover.
    if (codeOf(error) !== "ENOENT") throw error;
  }
  const copy = draftOf();
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  await closing(await folder.open(copy, flags, 0o600), async (handle) => {
    await handle.writeFile(bytes);
    await keepOwner(handle, stats);
    await handle.sync();
  });
  const isDone = folder.replace(name, copy, isOwn);
  if (!isDone) await folder.remove(copy);
  return isDone;
}

export async function present(note: Note): Promise<NoteContent | undefined> {
  const there = await openThere(note);
  await there?.handle.close();
  return there && contentIn(there);
}

const maxMegabytes = 4;
const maxBytes = maxMegabytes * 1_000_000;

interface Note extends NotePath {
  folder: ConfinedFolder;
  name: string;
}

interface OpenedNote {
  handle: FileHandle;
  stats: BigIntStats;
  bytes: Buffer;
}

export function contentIn({ bytes, stats }: Pick<OpenedNote, "bytes" | "stats">): NoteContent {
  const sha256 = hashOf(bytes);
  const problem = whyFixed(bytes);
  const text = decodeText(bytes).replaceAll("\r\n", "\n");
  const modified = new Date(Number(stats.mtimeMs)).toISOString();
  return { text, sha256, bytes: bytes.length, modified, ...(problem && { fixed: problem.reason, problem }) };
}

function whyFixed(bytes: Uint8Array): Sentence | undefined {
  if (!isUtf8(bytes)) return sentence("note.encoding");
  if (bytes.includes(0)) return sentence("note.nul");
  const hasReturns = /\r(?!\n)/u.test(Buffer.from(bytes).toString());
  return hasReturns ? sentence("note.returns") : undefined;
}

export async function inFolder<T>(given: NoteName, run: (note: Note) => Promise<T>): Promise<T> {
  const { relPath } = given;
  try {
    const workspaceDir = await realpath(given.workspaceDir);
    const file = await noteFile({ ...given, workspaceDir });
    return await closing(await openConfinedFolder(path.dirname(file)), (folder) =>
      run({ workspaceDir, relPath, folder, name: path.basename(file) }),
    );
  } catch (error) {
    throw await failureOf(given, error);
  }
}

/** Opens the folder of a note while no other process changes this note through memslot. */
export async function inLockedFolder<T>(
  given: NoteName & Pick<ReplaceNoteOptions, "signal">,
  run: (note: Note) => Promise<T>,
): Promise<T> {
  const { stateDir, relPath, signal } = given;
  return await inFolder(given, async (note) => {
    const locks = path.join(stateDir, "locks");
    await mkdir(locks, { recursive: true, mode: 0o700 });
    const key = hashOf(path.join(note.folder.path, note.name)).slice(0, 32);
    const options = { waitMs: 5_000, busy: busyFor(`${relPath} has been`, 5), signal };
    return await withStateLock(path.join(locks, `note-${key}.lock`), options, async () => {
      await recover(note);
      return await run(note);
    });
  });
}

export async function openThere(note: Note): Promise<OpenedNote | undefined> {
  const { folder, name, relPath } = note;
  const handle = await folder.open(name, constants.O_RDONLY).catch(unlessMissing);
  if (handle === undefined) return undefined;
  try {
    let stats = await handle.stat({ bigint: true });
    if (!stats.isFile())
      throw cannotWrite(note, sentence("note.other", { part: relPath, kind: sentence("note.file") }));
    if (!folder.holds(handle, name)) throw new MovedError(relPath);
    for (;;) {
      if (stats.size > maxBytes) throw cannotWrite(note, sentence("note.large", { limit: maxMegabytes }));
      const bytes = await bytesOf(handle);
      const now = await handle.stat({ bigint: true });
      // Bytes and stats of one state: an exchange takes the stats for those of the bytes.
      if (isSameState(now, stats)) return { handle, stats: now, bytes };
      stats = now;
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function bytesOf(handle: FileHandle): Promise<Buffer> {
  const { size } = await handle.stat();
  return await readWhole(handle, size);
}

const maxReads = 20;
const pauseMs = 10;

async function settledBytes(handle: FileHandle): Promise<Buffer> {
  let bytes = await bytesOf(handle);
  for (let reads = 1; reads < maxReads; reads++) {
    await sleep(pauseMs);
    const now = await bytesOf(handle);
    if (now.equals(bytes)) break;
    bytes = now;
  }
  return bytes;
}

export async function readLocked(
  given: NoteName & Pick<ReplaceNoteOptions, "signal">,
): Promise<{ bytes: Buffer; content: NoteContent } | undefined> {
  return await inLockedFolder(given, async (note) => {
    const there = await openThere(note);
    await there?.handle.close();
    return there && { bytes: there.bytes, content: contentIn(there) };
  });
}
