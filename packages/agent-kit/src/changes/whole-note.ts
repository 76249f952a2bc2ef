import path from "node:path";
import { MemoryError } from "@memslot/core";
import { codeOf, syncFolder } from "@memslot/core/files";
import { noteFile } from "@memslot/indexing/host";
import { makeFile } from "../notes/make-file.ts";
import { cannotWrite, failureOf, openWay } from "../notes/note-file.ts";
import { contentIn, inLockedFolder, openThere } from "../notes/note-in-place.ts";
import { type HeldLog, type NoteChangeRecord, hashOf, noFile } from "./change-log.ts";
import type { ChangePlace, WantedChange } from "./make-change.ts";
import { dropTrash, writeTrash } from "./trash.ts";

/** Of a whole file that is made or taken away. */
export type WholeChange = Omit<WantedChange, "make">;

/**
 * Makes a note that is not there, whole and on disk, with its folders. Throws `INVALID_ARGUMENT` where it is there,
 * `PATH_NOT_ALLOWED` for what would be no part of the memory.
 */
export async function makeNote(
  place: ChangePlace,
  log: HeldLog,
  wanted: WholeChange & { text: string },
): Promise<NoteChangeRecord> {
  const { relPath, text } = wanted;
  await noteFile({ ...place, relPath });
  const target = { workspaceDir: place.workspaceDir, relPath, heading: "", signal: place.signal };
  const change: NoteChangeRecord = {
    ...factsOf(place, wanted),
    sha256Before: noFile,
    sha256After: hashOf(Buffer.from(text)),
    before: "",
    after: text,
  };
  let isLogged = false;
  try {
    const folder = await openWay(target);
    try {
      await makeFile(folder, path.posix.basename(relPath), text, async () => {
        await log.write(change);
        isLogged = true;
      });
      await syncFolder(folder.path);
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (isLogged) await log.end(change.id, "not done").catch(() => undefined);
    if (codeOf(error) === "EEXIST") throw new MemoryError("INVALID_ARGUMENT", `${relPath} already exists`);
    throw await failureOf(target, error);
  }
  if (wanted.outOfTrash !== undefined) await dropTrash(place, wanted.outOfTrash);
  await log.end(change.id, "done").catch(() => undefined);
  return change;
}

/** All of a note as its bytes say it (UTF-8), with their hash; undefined where there is none. */
export async function rawNote(
  place: ChangePlace,
  relPath: string,
): Promise<{ text: string; sha256: string } | undefined> {
  return await inLockedFolder({ ...place, relPath }, async (note) => {
    const there = await openThere(note);
    if (there === undefined) return undefined;
    await there.handle.close();
    const { fixed, sha256 } = await contentIn(there);
    if (fixed !== undefined) throw cannotWrite(note, fixed);
    return { text: there.bytes.toString("utf8"), sha256 };
  });
}

/**
 * Takes a whole note away, into the trash where one is named. Throws `INVALID_ARGUMENT` where it is not there, and where
 * `sha256` is given and it is another state of it.
 */
export async function removeNote(
  place: ChangePlace,
  log: HeldLog,
  wanted: WholeChange & { sha256?: string | undefined },
): Promise<NoteChangeRecord> {
  const { relPath, trash, sha256 } = wanted;
  return await inLockedFolder({ ...place, relPath }, async (note) => {
    const there = await openThere(note);
    if (there === undefined) throw new MemoryError("INVALID_ARGUMENT", `${relPath} does not exist`);
    const { handle, bytes, stats } = there;
    try {
      const now = await contentIn(there);
      if (sha256 !== undefined && now.sha256 !== sha256)
        throw new MemoryError("INVALID_ARGUMENT", `${relPath} has changed since, and is not taken away`);
      if (now.fixed !== undefined) throw cannotWrite(note, now.fixed);
      const change: NoteChangeRecord = {
        ...factsOf(place, wanted),
        sha256Before: now.sha256,
        sha256After: noFile,
        before: bytes.toString("utf8"),
        after: "",
      };
      await log.write(change);
      try {
        if (trash !== undefined) await writeTrash(place, { ...change, trash });
        // Looked at once more: an editor may have saved it meanwhile, and that is in no trash.
        const again = await openThere(note);
        await again?.handle.close();
        const isSame = again !== undefined && again.stats.ino === stats.ino && again.bytes.equals(bytes);
        if (!isSame) throw new MemoryError("INVALID_ARGUMENT", `${relPath} is being changed, and is not taken away`);
        await note.folder.remove(note.name);
      } catch (error) {
        if (trash !== undefined) await dropTrash(place, trash);
        await log.end(change.id, "not done").catch(() => undefined);
        throw error;
      }
      await syncFolder(note.folder.path);
      await log.end(change.id, "done").catch(() => undefined);
      return change;
    } finally {
      await handle.close();
    }
  });
}

function factsOf(
  place: ChangePlace,
  { id, kind, relPath, reason, undoes, trash, outOfTrash }: WholeChange,
): Omit<NoteChangeRecord, "sha256Before" | "sha256After" | "before" | "after"> {
  const told = { reason, undoes, trash: trash ?? outOfTrash };
  const lines = { startLine: 1, offset: 0, above: "", below: "" };
  return { id, at: place.at.toISOString(), ...place.changer, kind, path: relPath, ...told, ...lines };
}
