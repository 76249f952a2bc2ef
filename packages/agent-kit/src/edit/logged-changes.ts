import { realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { codeOf, openConfinedFolder, syncFolder, unlessMissing } from "@memslot/core/files";
import { sentence } from "@memslot/core/host";
import { noteFile } from "@memslot/indexing/host";
import { invalid } from "../state-locks.ts";
import { openNote } from "./append-note.ts";
import {
  type ChangeLog,
  type ChangeOutcome,
  type ChangePlace,
  newChangeId,
  type NoteChangeRecord,
  type WantedChange,
  withLog,
} from "./change-log.ts";
import { cannotWrite, failureOf, openWay } from "./note-folder.ts";
import { holdsOnce, lineChange } from "./line-changes.ts";
import type { NoteContent } from "./note-types.ts";
import { readNote } from "./replace-note.ts";
import { changeNote, contentIn, inLockedFolder, type NoteChange, openThere, readLocked } from "./atomic-note-write.ts";
import { localDay } from "./local-day.ts";
import { closing, hashOf, makeFile } from "./safe-writes.ts";

/** `unchanged`: the note has this text already. `conflict` as in `ReplacedNote`. */
export type MadeChange =
  | { state: "done"; change: NoteChangeRecord; note: NoteContent }
  | { state: "unchanged" | "conflict"; note: NoteContent | undefined };

/** Writes a change to the log and its lines to the trash, before the note is touched. Undefined: no file. */
type Begin = (before: Buffer | undefined, after: Buffer | undefined) => Promise<NoteChangeRecord>;

export const noFile = "";

interface NoteMove extends Pick<WantedChange, "relPath" | "reason"> {
  /** The new path, relative to the workspace. */
  to: string;
  sha256?: string | undefined;
}

/** Runs a step with the log of changes locked, after the outcome of every earlier change has been logged. */
export async function withChanges<T>(place: ChangePlace, run: (changes: NoteChanges) => Promise<T>): Promise<T> {
  return await withLog(place, async (log) => {
    const changes = new NoteChanges(place, log);
    await changes.settle();
    return await run(changes);
  });
}

/** Changes notes. Each change is in the log on disk before the note is touched, so that the next process can settle it. */
export class NoteChanges {
  readonly log: ChangeLog;
  readonly #place: ChangePlace;

  constructor(place: ChangePlace, log: ChangeLog) {
    this.#place = place;
    this.log = log;
  }

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

  /** Creates a note and its folders, whole and on disk. Throws `INVALID_ARGUMENT` if it exists, `PATH_NOT_ALLOWED`. */
  async make({ text, ...wanted }: WantedChange & { text: string }): Promise<NoteChangeRecord> {
    const note = { ...this.#place, relPath: wanted.relPath };
    await noteFile(note);
    try {
      return await this.#logged(wanted, async (begin) => {
        return await closing(await openWay(note), async (folder) => {
          const name = path.posix.basename(note.relPath);
          const change = await makeFile(folder, name, text, () => begin(undefined, Buffer.from(text)));
          await syncFolder(folder.path);
          return change;
        });
      });
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw invalid(sentence("note.exists", { path: note.relPath }));
      throw await failureOf(note, error);
    }
  }

  /** Deletes a note. Throws `INVALID_ARGUMENT` if it does not exist, and if its hash is not `sha256`, if given. */
  async remove({ sha256, ...wanted }: WantedChange & { sha256?: string | undefined }): Promise<NoteChangeRecord> {
    const { relPath } = wanted;
    return await inLockedFolder({ ...this.#place, relPath }, (note) =>
      this.#logged(wanted, async (begin) => {
        const there = await openThere(note);
        if (there === undefined) throw invalid(sentence("why.missing", { path: relPath }));
        return await closing(there.handle, async () => {
          const now = contentIn(there);
          if (sha256 !== undefined && now.sha256 !== sha256) throw hasChanged(relPath);
          if (now.problem !== undefined) throw cannotWrite(note, now.problem);
          const change = await begin(there.bytes, undefined);
          // Read again: a version that an editor has saved meanwhile is in no trash.
          const again = await openThere(note);
          await again?.handle.close();
          const isSame = again?.stats.ino === there.stats.ino && again.bytes.equals(there.bytes);
          if (!isSame) throw hasChanged(relPath);
          await note.folder.remove(note.name);
          await syncFolder(note.folder.path);
          return change;
        });
      }),
    );
  }

  /** Moves a whole note to `memory/.trash/`, under the day of the change in this time zone. Throws as `remove` does. */
  async trash(
    wanted: Pick<WantedChange, "relPath" | "reason"> & { sha256?: string | undefined },
    timeZone: string,
  ): Promise<NoteChangeRecord> {
    const id = newChangeId();
    return await this.remove({
      ...wanted,
      id,
      kind: "delete",
      trash: trashName(id, localDay(this.#place.at, timeZone)),
    });
  }

  /** Renames a note: a change for each of the two names. Throws as `make` and `remove` do. */
  async move({ relPath, to, reason, sha256 }: NoteMove): Promise<NoteChangeRecord> {
    const note = await readLocked({ ...this.#place, relPath });
    if (note === undefined) throw invalid(sentence("why.missing", { path: relPath }));
    const { problem, sha256: now } = note.content;
    if (problem !== undefined) throw cannotWrite({ ...this.#place, relPath }, problem);
    if (sha256 !== undefined && sha256 !== now) throw hasChanged(relPath);
    // The new one first: a process that is killed in between leaves two notes, not none.
    await this.make({ kind: "create", relPath: to, text: note.bytes.toString("utf8"), reason });
    return await this.remove({ kind: "delete", relPath, reason, sha256: now });
  }

  async #logged<T>(
    wanted: WantedChange,
    run: (begin: Begin) => Promise<T>,
    isMade: (result: T) => boolean = () => true,
  ): Promise<T> {
    const { id = newChangeId(), kind, relPath, reason, undoes, trash, outOfTrash } = wanted;
    const { at, changer } = this.#place;
    let change: NoteChangeRecord | undefined;
    const begin: Begin = async (before, after) => {
      const [sha256Before, sha256After] = [before && hashOf(before), after && hashOf(after)];
      const record = {
        id,
        at: at.toISOString(),
        ...changer,
        kind,
        path: relPath,
        reason,
        undoes,
        trash: trash ?? outOfTrash,
        sha256Before: sha256Before ?? noFile,
        sha256After: sha256After ?? noFile,
        ...lineChange(before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)),
      };
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
        await this.log.end(id, "done").catch(() => undefined);
      }
      return result;
    } catch (error) {
      // EEXIST: the existing file may have the same text, but this change did not write it.
      if (change !== undefined && (codeOf(error) === "EEXIST" || (await this.#isUntouched(change))))
        await this.#notDone(change).catch(() => undefined);
      throw error;
    }
  }

  async #isUntouched({ path: relPath, sha256Before, sha256After }: NoteChangeRecord): Promise<boolean> {
    const now = await readNote({ ...this.#place, relPath }).catch(() => undefined);
    const hash = now?.sha256 ?? noFile;
    return sha256Before === noFile || sha256After === noFile ? hash !== sha256After : hash === sha256Before;
  }

  async #notDone(change: NoteChangeRecord): Promise<void> {
    if (change.after === "" && change.trash !== undefined) await dropTrash(this.#place, change.trash);
    await this.log.end(change.id, "not done").catch(() => undefined);
  }

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

function hasChanged(path: string): MemoryError {
  return invalid(sentence("note.changed", { path }));
}

async function outcomeOf(place: ChangePlace, change: NoteChangeRecord, log: ChangeLog): Promise<ChangeOutcome> {
  const read = await readLocked({ ...place, relPath: change.path }).catch((error: unknown) => {
    // A note that cannot be read any more does not hold up later changes.
    if (!MemoryError.is(error, "WORKSPACE") && !MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
    return undefined;
  });
  const bytes = read?.bytes;
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
  // Lines that were only taken out, or only put in, decide alone.
  if (change.after === "") return wasLines ? "not done" : bytes.includes(change.before) ? "unclear" : "done";
  if (change.before === "") return isLines ? "done" : bytes.includes(change.after) ? "unclear" : "not done";
  if (wasLines === isLines) return "unclear";
  return isLines ? "done" : "not done";
}

/** No index reads a folder whose name begins with a dot. */
const trashFolder = "memory/.trash";

export function trashName(id: string, day: string): string {
  return `${trashFolder}/${day}-${id}.md`;
}

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
  const folder = await openConfinedFolder(path.join(await realpath(workspaceDir), trashFolder)).catch(unlessMissing);
  if (folder === undefined) return;
  await closing(folder, async () => {
    await folder.remove(path.posix.basename(trash));
    await syncFolder(folder.path);
  });
}
