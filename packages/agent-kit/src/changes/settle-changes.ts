import { MemoryError } from "@memslot/core";
import type { ChangePlace } from "./change-place.ts";
import type { ChangeOutcome, HeldLog, NoteChangeRecord } from "./change-log.ts";
import { changeNote } from "../notes/replace-note.ts";
import { noFile } from "./whole-note.ts";
import { holdsOnce } from "./line-change.ts";
import { dropTrash } from "./trash.ts";
import { hashOf } from "./hash.ts";

/** Finds out how the changes have ended whose processes did not live to say so, and writes it down. */
export async function settleChanges(place: ChangePlace, log: HeldLog): Promise<void> {
  for (const change of log.changes) {
    if (change.state !== "open") continue;
    const outcome = await outcomeOf(place, change, log);
    const drops = outcome === (change.after === "" ? "not done" : "done");
    if (change.trash !== undefined && drops) await dropTrash(place, change.trash);
    await log.end(change.id, outcome);
    change.state = outcome;
  }
}

async function outcomeOf(place: ChangePlace, change: NoteChangeRecord, log: HeldLog): Promise<ChangeOutcome> {
  const bytes = await bytesNow(place, change.path);
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

/** Undefined where it is not there, or cannot be read any more: later changes are not to wait for that. */
async function bytesNow(place: ChangePlace, relPath: string): Promise<Buffer | undefined> {
  const seen: Buffer[] = [];
  try {
    await changeNote(
      { ...place, relPath },
      {
        make: (bytes: Buffer) => {
          seen.push(bytes);
          return undefined;
        },
      },
    );
  } catch (error) {
    if (!MemoryError.is(error, "WORKSPACE") && !MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
  }
  return seen[0];
}
