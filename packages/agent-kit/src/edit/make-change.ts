import { realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { codeOf, openFolderInPlace, syncFolder, unlessMissing } from "@memslot/core/files";
import { noteFile } from "@memslot/indexing/host";
import { makeFile } from "../notes/drafts.ts";
import { closing, hashOf } from "../notes/file-bytes.ts";
import { cannotWrite, failureOf, openNote, openWay } from "../notes/note-file.ts";
import {
  type ChangeKind,
  type ChangeOutcome,
  type Changer,
  type HeldLog,
  holdingLog,
  newChangeId,
  type NoteChangeRecord,
} from "./change-log.ts";
import { holdsOnce, lineChange } from "./line-change.ts";
import type { NoteContent, NoteName } from "./note.ts";
import { contentIn, inLockedFolder, openThere, readLocked } from "./note-in-place.ts";
import { changeNote, type NoteChange, readNote } from "./replace-note.ts";

/** Where notes are changed, and by whom. */
export interface ChangePlace extends Omit<NoteName, "relPath"> {
  changer: Changer;
  /** The moment of the change. */
  at: Date;
  signal?: AbortSignal | undefined;
}

/** One change that is wanted. */
export interface WantedChange {
  /** A new one if left out. */
  id?: string | undefined;
  kind: ChangeKind;
  relPath: string;
  reason?: string | undefined;
  undoes?: string | undefined;
  /** Where the lines go that are taken out. */
  trash?: string | undefined;
  /** Where the lines lie that are brought back. */
  outOfTrash?: string | undefined;
}

/** `unchanged`: the note says so already. `conflict` as in `ReplacedNote`. */
export type MadeChange =
  | { state: "done"; change: NoteChangeRecord; note: NoteContent }
  | { state: "unchanged" | "conflict"; note: NoteContent | undefined };

/** Writes a change to the log, and its lines to the trash, before the note is touched. Nothing stands for no file. */
type Begin = (before: Buffer | undefined, after: Buffer | undefined) => Promise<NoteChangeRecord>;

/** Stands for the hash of a file that is not there. */
export const noFile = "";

/** Runs something with the log of changes in hand, in which the end of every earlier change has been written down. */
export async function withChanges<T>(place: ChangePlace, run: (changes: NoteChanges) => Promise<T>): Promise<T> {
  return await holdingLog(place, async (log) => {
    const changes = new NoteChanges(place, log);
    await changes.settle();
    return await run(changes);
  });
}

/**
 * Changes notes: what is to become of one is on disk in the log before it is touched. A process that is killed in between
 * leaves an entry whose end is found out by the next one.
 */
export class NoteChanges {
  readonly log: HeldLog;
  readonly #place: ChangePlace;

  constructor(place: ChangePlace, log: HeldLog) {
    this.#place = place;
    this.log = log;
  }

  /** Makes other bytes of those of a note. */
  async edit({ make, ...wanted }: WantedChange & Pick<NoteChange, "make">): Promise<MadeChange> {
    let change: NoteChangeRecord | undefined;
    const made = await this.#logged(
      wanted,
      async (begin) => {
        const prepare = async (before: Buffer, after: Buffer): Promise<void> => {
          change = await begin(before, after);
        };
        return await changeNote({ ...this.#place, ...wanted }, { make, prepare });
      },
      ({ state }) => state === "replaced",
    );
    if (change !== undefined && made.state === "replaced") return { state: "done", change, note: made.note };
    return { state: made.state === "replaced" ? "unchanged" : "conflict", note: made.note };
  }

  /**
   * Makes a note that is not there, whole and on disk, with its folders. Throws `INVALID_ARGUMENT` where it is there,
   * `PATH_NOT_ALLOWED` for what would be no part of the memory.
   */
  async make({ text, ...wanted }: WantedChange & { text: string }): Promise<NoteChangeRecord> {
    const { relPath } = wanted;
    const { workspaceDir, signal } = this.#place;
    await noteFile({ ...this.#place, relPath });
    const target = { workspaceDir, relPath, heading: "", signal };
    try {
      return await this.#logged(wanted, async (begin) => {
        return await closing(await openWay(target), async (folder) => {
          const prepare = (): Promise<NoteChangeRecord> => begin(undefined, Buffer.from(text));
          const change = await makeFile(folder, path.posix.basename(relPath), text, prepare);
          await syncFolder(folder.path);
          return change;
        });
      });
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw new MemoryError("INVALID_ARGUMENT", `${relPath} already exists`);
      throw await failureOf(target, error);
    }
  }

  /**
   * Takes a whole note away, into the trash where one is named. Throws `INVALID_ARGUMENT` where it is not there, and where
   * `sha256` is given and it is another state of it.
   */
  async remove({ sha256, ...wanted }: WantedChange & { sha256?: string | undefined }): Promise<NoteChangeRecord> {
    const { relPath } = wanted;
    const refused = (why: string): MemoryError => new MemoryError("INVALID_ARGUMENT", `${relPath} ${why}`);
    return await inLockedFolder({ ...this.#place, relPath }, (note) =>
      this.#logged(wanted, async (begin) => {
        const there = await openThere(note);
        if (there === undefined) throw refused("does not exist");
        try {
          const now = contentIn(there);
          if (sha256 !== undefined && now.sha256 !== sha256) throw refused("has changed since, and is not taken away");
          if (now.fixed !== undefined) throw cannotWrite(note, now.fixed);
          const change = await begin(there.bytes, undefined);
          // Looked at once more: an editor may have saved it meanwhile, and that is in no trash.
          const again = await openThere(note);
          await again?.handle.close();
          const isSame = again?.stats.ino === there.stats.ino && again.bytes.equals(there.bytes);
          if (!isSame) throw refused("is being changed, and is not taken away");
          await note.folder.remove(note.name);
          await syncFolder(note.folder.path);
          return change;
        } finally {
          await there.handle.close();
        }
      }),
    );
  }

  /** Runs a change and writes down how it has ended, also where it fails with the note as it was. */
  async #logged<T>(
    wanted: WantedChange,
    run: (begin: Begin) => Promise<T>,
    isMade: (result: T) => boolean = () => true,
  ): Promise<T> {
    const { id = newChangeId(), kind, relPath, reason, undoes, trash, outOfTrash } = wanted;
    const { at, changer } = this.#place;
    let change: NoteChangeRecord | undefined;
    const begin: Begin = async (before, after) => {
      const told = { reason, undoes, trash: trash ?? outOfTrash };
      const [sha256Before, sha256After] = [before, after].map((bytes) =>
        bytes === undefined ? noFile : hashOf(bytes),
      );
      const lines = lineChange(before ?? Buffer.alloc(0), after ?? Buffer.alloc(0));
      const hashes = { sha256Before: sha256Before ?? noFile, sha256After: sha256After ?? noFile };
      const record = { id, at: at.toISOString(), ...changer, kind, path: relPath, ...told, ...hashes, ...lines };
      await this.log.write(record);
      change = record;
      if (trash !== undefined) await writeTrash(this.#place, { ...record, trash });
      return record;
    };
    try {
      const result = await run(begin);
      if (change !== undefined && !isMade(result)) await this.#notDone(change);
      else if (change !== undefined) {
        if (outOfTrash !== undefined) await dropTrash(this.#place, outOfTrash);
        // What has been done is not undone by a log that is full: the next change finds out how this one ended.
        await this.log.end(id, "done").catch(() => undefined);
      }
      return result;
    } catch (error) {
      // What was there already may say the same: this change did not make it.
      const isNotMade = change !== undefined && (codeOf(error) === "EEXIST" || (await this.#isUntouched(change)));
      if (change !== undefined && isNotMade) await this.#notDone(change).catch(() => undefined);
      throw error;
    }
  }

  /** Of a whole file, whatever another program has put in its place is not what was wanted. */
  async #isUntouched({ path: relPath, sha256Before, sha256After }: NoteChangeRecord): Promise<boolean> {
    const now = await readNote({ ...this.#place, relPath }).catch(() => undefined);
    const hash = now?.sha256 ?? noFile;
    return sha256Before === noFile || sha256After === noFile ? hash !== sha256After : hash === sha256Before;
  }

  async #notDone(change: NoteChangeRecord): Promise<void> {
    if (change.after === "" && change.trash !== undefined) await dropTrash(this.#place, change.trash);
    await this.log.end(change.id, "not done").catch(() => undefined);
  }

  /** Finds out how the changes have ended whose processes did not live to say so, and writes it down. */
  async settle(): Promise<void> {
    for (const change of this.log.changes) {
      if (change.state !== "open") continue;
      const outcome = await outcomeOf(this.#place, change, this.log);
      const drops = outcome === (change.after === "" ? "not done" : "done");
      if (change.trash !== undefined && drops) await dropTrash(this.#place, change.trash);
      await this.log.end(change.id, outcome);
      change.state = outcome;
    }
  }
}

async function outcomeOf(place: ChangePlace, change: NoteChangeRecord, log: HeldLog): Promise<ChangeOutcome> {
  // Later changes do not wait for a note that cannot be read any more.
  const bytes = await readLocked({ ...place, relPath: change.path }).then(
    (read) => read?.bytes,
    (error: unknown) => {
      if (MemoryError.is(error, "WORKSPACE") || MemoryError.is(error, "PATH_NOT_ALLOWED")) return undefined;
      throw error;
    },
  );
  const later = log.changes.slice(log.changes.findIndex(({ id }) => id === change.id) + 1);
  const next = later.find(({ path }) => path === change.path);
  const isWhole = [change.sha256Before, change.sha256After].includes(noFile);
  const hashes = [next?.sha256Before, bytes === undefined ? (isWhole ? noFile : undefined) : hashOf(bytes)];
  for (const hash of hashes) {
    if (hash === change.sha256After) return "done";
    if (hash === change.sha256Before) return "not done";
  }
  if (bytes === undefined || isWhole) return "unclear";
  const [wasLines, isLines] = [change.before, change.after].map((lines) => holdsOnce(bytes, lines));
  // Lines that were only taken out, or only put back, tell it alone.
  if (change.after === "") return wasLines ? "not done" : bytes.includes(change.before) ? "unclear" : "done";
  if (change.before === "") return isLines ? "done" : bytes.includes(change.after) ? "unclear" : "not done";
  if (wasLines === isLines) return "unclear";
  return isLines ? "done" : "not done";
}

/** A folder that no index reads, as its name begins with a dot. */
const trashFolder = "memory/.trash";

/** Where the lines of a change go. One file each, so that one can be brought back or deleted for good by itself. */
export function trashName(id: string, day: string): string {
  return `${trashFolder}/${day}-${id}.md`;
}

/** On disk when it resolves. */
async function writeTrash(
  { workspaceDir }: { workspaceDir: string },
  { trash, id, at, by, path: from, startLine, reason, before }: NoteChangeRecord & { trash: string },
): Promise<void> {
  const head = { id, forgotten: at, by, path: from, line: startLine, ...(reason === undefined ? {} : { reason }) };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  await closing(await openNote({ workspaceDir, relPath: trash, heading: "" }), async (note) => {
    await note.append(["---", ...lines, "---", before.replace(/\n$/u, "")]);
  });
}

async function dropTrash({ workspaceDir }: { workspaceDir: string }, trash: string): Promise<void> {
  const folder = await openFolderInPlace(path.join(await realpath(workspaceDir), trashFolder)).catch(unlessMissing);
  try {
    await folder?.remove(path.posix.basename(trash));
    if (folder !== undefined) await syncFolder(folder.path);
  } finally {
    await folder?.close();
  }
}
