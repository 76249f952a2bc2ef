import { type BigIntStats, constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { MemoryError } from "@memslot/core";
import { codeOf, syncFolder } from "@memslot/core/files";
import { draftOf, dropDraftNames, dropOldDrafts } from "../notes/drafts.ts";
import { cannotWrite, throwIfAborted } from "../notes/note-file.ts";
import {
  bytesLike,
  bytesOf,
  contentIn,
  inFolder,
  inLockedFolder,
  maxBytes,
  type Note,
  type OpenedNote,
  openThere,
} from "./note-in-place.ts";
import type { NoteContent, NoteName } from "./note.ts";
import { closing } from "../notes/file-bytes.ts";

export interface ReplaceNoteOptions extends NoteName {
  /** All that the note is to say, with LF line ends. The file keeps its own line ends and its byte order mark. */
  text: string;
  /** `NoteContent.sha256` of the state that the text was made from. */
  sha256: string;
  signal?: AbortSignal | undefined;
}

/** `conflict`: somebody else has changed the note since, and nothing was written; `note` is how it stands, if it does. */
export type ReplacedNote =
  | { state: "replaced"; note: NoteContent }
  | { state: "conflict"; note: NoteContent | undefined };

/**
 * Reads a note as it is to be edited: all of its true text, whatever it holds. Undefined where there is none. Throws
 * `PATH_NOT_ALLOWED` for what is no part of the memory, and `WORKSPACE` where it cannot be read or is larger than 4 MB.
 */
export async function readNote(given: NoteName): Promise<NoteContent | undefined> {
  return await inFolder(given, present);
}

/**
 * Puts another text in place of a note, if it still is what it was when it was read: whole or not at all, on disk when it
 * resolves. Processes that do so at the same time wait for each other. The file keeps its mode; it is another file
 * afterwards, so a note that has more than one name (a hard link) is refused, and nothing is made that was not there.
 *
 * What others append in the very moment of the change is kept behind the new text; whatever else they write then stays,
 * and is a conflict. Throws as `readNote` does, `INVALID_ARGUMENT` for a text that cannot be a note, `BUSY` where another
 * process holds the note for 5 s, and an `AbortError`, by which nothing was written.
 */
export async function replaceNote(options: ReplaceNoteOptions): Promise<ReplacedNote> {
  const { text, sha256 } = options;
  checkText(text);
  return await changeNote(options, {
    make: (bytes, now) => (now.sha256 === sha256 ? Buffer.from(bytesLike(bytes, text)) : undefined),
  });
}

/** What is to become of the bytes of a note. */
export interface NoteChange {
  /** Undefined where the note is not what it was thought to be, which is a conflict. What it throws is thrown. */
  make(bytes: Uint8Array, now: NoteContent): Uint8Array | undefined;
  /** Called when nothing but the disk can prevent the change any more. Where it throws, nothing is written. */
  prepare?(before: Uint8Array, after: Uint8Array): Promise<void>;
}

/** As `replaceNote`, with what the bytes are to be told by a function of what they are. */
export async function changeNote(
  given: NoteName & Pick<ReplaceNoteOptions, "signal">,
  change: NoteChange,
): Promise<ReplacedNote> {
  return await inLockedFolder(given, (note) => changeIn(note, change, given.signal));
}

async function changeIn(note: Note, change: NoteChange, signal: AbortSignal | undefined): Promise<ReplacedNote> {
  const there = await openThere(note);
  if (there === undefined) return { state: "conflict", note: undefined };
  try {
    const now = contentIn(there);
    const made = change.make(there.bytes, now);
    if (made === undefined) return { state: "conflict", note: now };
    const bytes = Buffer.from(made.buffer, made.byteOffset, made.byteLength);
    if (now.fixed !== undefined) throw cannotWrite(note, now.fixed);
    if (there.stats.nlink > 1n && !(await isOnlyName(note, there)))
      throw cannotWrite(
        note,
        "it has more than one name (a hard link), and only one would change: put a copy in its place",
      );
    if (bytes.equals(there.bytes)) return { state: "replaced", note: now };
    if (bytes.length > maxBytes)
      throw cannotWrite(note, `it would be larger than ${maxBytes / 1_000_000} MB: split it`);
    await change.prepare?.(there.bytes, bytes);
    dropOldDrafts(note.folder.path);
    return await exchange(note, there, bytes, signal);
  } finally {
    await there.handle.close();
  }
}

/** What was killed in the very moment of its exchange has left a second name to the note, which was to keep the old text. */
async function isOnlyName(note: Note, { handle, stats }: OpenedNote): Promise<boolean> {
  dropDraftNames(note.folder.path, stats);
  return (await handle.stat()).nlink === 1;
}

/** The new text beside the note, and then in its place. */
async function exchange(
  note: Note,
  there: OpenedNote,
  bytes: Buffer,
  signal: AbortSignal | undefined,
): Promise<ReplacedNote> {
  const { folder, name } = note;
  const [draft, kept] = [draftOf(), draftOf()];
  // So that what others append to the old one can be appended here.
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL;
  const handle = await folder.open(draft, flags, 0o600);
  try {
    await handle.writeFile(bytes);
    await keepOwner(handle, there.stats);
    await handle.sync();
    throwIfAborted(signal);
    // A name for the old file, in case that others write to it in the moment of the change. Its time is another one then.
    const isKept = await folder.link(name, kept).then(
      () => true,
      () => false,
    );
    const old = isKept ? await there.handle.stat({ bigint: true }) : there.stats;
    if (!isSameState(old, there.stats) || !folder.replace(name, draft, (now) => isStill(now, old)))
      return { state: "conflict", note: await present(note) };
    const meanwhile = await bytesOf(there.handle);
    if (meanwhile.length > there.bytes.length && meanwhile.subarray(0, there.bytes.length).equals(there.bytes))
      await appendRest(handle, bytes, meanwhile.subarray(there.bytes.length));
    else if (!meanwhile.equals(there.bytes)) {
      await putBack(note, isKept ? kept : undefined, meanwhile, there.stats);
      return { state: "conflict", note: await present(note) };
    }
    await syncFolder(folder.path);
    const stats = await handle.stat({ bigint: true });
    return { state: "replaced", note: contentIn({ bytes: await bytesOf(handle), stats }) };
  } finally {
    await handle.close();
    await Promise.all([draft, kept].map((each) => folder.remove(each).catch(() => undefined)));
  }
}

/** Linking changes nothing but the number of names and the time of the last change. */
function isSameState(now: BigIntStats, before: BigIntStats): boolean {
  return now.size === before.size && now.mtimeNs === before.mtimeNs;
}

function isStill(now: BigIntStats | undefined, old: BigIntStats): boolean {
  return now !== undefined && now.ino === old.ino && now.dev === old.dev && isSameState(now, old);
}

/** Mode and owner as they were; who may not give a file away keeps it. */
async function keepOwner(handle: FileHandle, { mode, uid, gid }: BigIntStats): Promise<void> {
  const own = await handle.stat({ bigint: true });
  if (own.uid !== uid || own.gid !== gid) await handle.chown(Number(uid), Number(gid)).catch(() => undefined);
  await handle.chmod(Number(mode & 0o7777n));
}

async function appendRest(handle: FileHandle, bytes: Buffer, rest: Buffer): Promise<void> {
  const isEnded = bytes.length === 0 || bytes.at(-1) === 10 || rest[0] === 10 || rest[0] === 13;
  await handle.write(isEnded ? rest : Buffer.concat([Buffer.from("\n"), rest]));
  await handle.sync();
}

/** The old file itself where it has a name still: whoever writes to it goes on there. */
async function putBack(note: Note, kept: string | undefined, bytes: Buffer, stats: BigIntStats): Promise<void> {
  const { folder, name } = note;
  const anyway = (): boolean => true;
  try {
    if (kept !== undefined) return void folder.replace(name, kept, anyway);
  } catch (error) {
    // Taken for what a killed process has left, by one that keeps its locks elsewhere.
    if (codeOf(error) !== "ENOENT") throw error;
  }
  const copy = draftOf();
  await closing(
    await folder.open(copy, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600),
    async (handle) => {
      await handle.writeFile(bytes);
      await keepOwner(handle, stats);
      await handle.sync();
    },
  );
  folder.replace(name, copy, anyway);
}

async function present(note: Note): Promise<NoteContent | undefined> {
  const there = await openThere(note);
  await there?.handle.close();
  return there && contentIn(there);
}

function checkText(text: string): void {
  const given: unknown = text;
  if (typeof given !== "string") throw new MemoryError("INVALID_ARGUMENT", "text must be all of the note, as text");
  if (text.includes("\0")) throw new MemoryError("INVALID_ARGUMENT", "text holds a NUL character: leave it out");
  if (!text.isWellFormed())
    throw new MemoryError("INVALID_ARGUMENT", "text holds half of a character (a lone surrogate): leave it out");
}
