import { constants } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { type ConfinedFolder, listConfined, openConfinedFolder, syncFolder, unlessMissing } from "@memslot/core/files";
import { clearDrafts } from "../edit/temporary-files.ts";
import { cannotWrite, failureOf, openWay, throwIfAborted } from "../edit/note-folder.ts";
import type { NotePath } from "../edit/note-types.ts";
import type { NoteName } from "../edit/note-types.ts";
import { closing, makeFile, readWhole, unlessThere } from "../edit/safe-writes.ts";
import { changeNote } from "../edit/atomic-note-write.ts";
import {
  type ImportedKeys,
  openImportedKeys,
  fileTextOf,
  type ImportedNote,
  isAsImported,
  keyOf,
  keyOfName,
  namedFor,
} from "./imported-note.ts";

export interface ImportNotesOptions extends Omit<NoteName, "relPath"> {
  /** The name of their folder, `memory/imports/<source>/`: lower-case letters, digits, `-`. */
  source: string;
  notes: AsyncIterable<ImportedNote>;
  /** Writes notes again that were deleted since their import. */
  again?: boolean | undefined;
  /** Writes nothing, and returns what it would have done. */
  dryRun?: boolean | undefined;
  /** Called for each note, when it is on disk. */
  onNote?: ((path: string, state: ImportState) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** `edited`: a user has changed the note since, and it was kept. `deleted`: a user has deleted it since; not written again. */
export type ImportState = "added" | "changed" | "unchanged" | "edited" | "deleted";

export interface ImportedNotes {
  folder: string;
  counts: Record<ImportState, number>;
  edited: string[];
}

/**
 * Imports notes to `memory/imports/<source>/`, one file each by id; notes that the user changed or deleted are kept so.
 * Throws `WORKSPACE`, `INVALID_ARGUMENT`, errors of `notes`, and an `AbortError`; another run continues.
 */
export async function importNotes(options: ImportNotesOptions): Promise<ImportedNotes> {
  const { workspaceDir, source, notes, dryRun = false, onNote, signal } = options;
  if (!/^[a-z0-9-]{1,40}$/u.test(source))
    throw new MemoryError("INVALID_ARGUMENT", "source must be lower-case letters, digits and - (at most 40)");
  const done: ImportedNotes = {
    folder: `memory/imports/${source}`,
    counts: { added: 0, changed: 0, unchanged: 0, edited: 0, deleted: 0 },
    edited: [],
  };
  let folder: ConfinedFolder | undefined;
  let names: Map<string, string> | undefined;
  let known: ImportedKeys | undefined;
  try {
    for await (const note of notes) {
      throwIfAborted(signal);
      const place: NotePath = { workspaceDir, relPath: `${done.folder}/${namedFor(note)}` };
      try {
        folder ??= await openFolder(place, dryRun);
        names ??= namesIn(folder);
        const key = keyOf(note.id);
        const name = names.get(key) ?? namedFor(note);
        place.relPath = `${done.folder}/${name}`;
        known ??= await openImportedKeys(options);
        const isDeleted = !names.has(key) && known.has(key) && options.again !== true;
        const state = isDeleted
          ? "deleted"
          : await put(folder, { ...options, relPath: place.relPath }, fileTextOf(source, note), dryRun);
        if (!isDeleted) names.set(key, name);
        if (!isDeleted && !dryRun) known.add(key);
        done.counts[state]++;
        if (state === "edited") done.edited.push(place.relPath);
        onNote?.(place.relPath, state);
      } catch (error) {
        throw await failureOf(place, error);
      }
    }
    if (folder !== undefined && !dryRun) await syncFolder(folder.path);
    return done;
  } finally {
    await folder?.close();
  }
}

async function openFolder(place: NotePath, dryRun: boolean): Promise<ConfinedFolder | undefined> {
  if (!dryRun) {
    const folder = await openWay(place);
    clearDrafts(folder.path);
    return folder;
  }
  const workspace = await realpath(place.workspaceDir).catch(unlessMissing);
  if (workspace === undefined) return undefined;
  return await openConfinedFolder(path.join(workspace, path.posix.dirname(place.relPath))).catch(unlessMissing);
}

function namesIn(folder: ConfinedFolder | undefined): Map<string, string> {
  const names = new Map<string, string>();
  for (const { name } of folder === undefined ? [] : listConfined(folder.path)) {
    const key = keyOfName(name);
    if (key !== undefined) names.set(key, name);
  }
  return names;
}

async function put(
  folder: ConfinedFolder | undefined,
  given: NoteName,
  text: string,
  dryRun: boolean,
): Promise<ImportState> {
  const name = path.posix.basename(given.relPath);
  const there = folder && (await textIn(folder, name));
  if (there === text) return "unchanged";
  if (there !== undefined && !isAsImported(there)) return "edited";
  if (folder === undefined || dryRun) return there === undefined ? "added" : "changed";
  if (there !== undefined) {
    const make = (bytes: Buffer): Buffer | undefined =>
      bytes.toString("utf8") === there ? Buffer.from(text) : undefined;
    return (await changeNote(given, { make })).state === "replaced" ? "changed" : "edited";
  }
  const made = await unlessThere(makeFile(folder, name, text, async () => "added" as const));
  return made ?? ((await textIn(folder, name)) === text ? "unchanged" : "edited");
}

async function textIn(folder: ConfinedFolder, name: string): Promise<string | undefined> {
  const opened = await folder.open(name, constants.O_RDONLY).catch(unlessMissing);
  if (opened === undefined) return undefined;
  return await closing(opened, async (handle) => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw cannotWrite({ workspaceDir: folder.path, relPath: name }, "it is not a file");
    return (await readWhole(handle, stats.size)).toString("utf8");
  });
}
