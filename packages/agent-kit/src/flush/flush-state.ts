import { messageOf } from "@memslot/core";
import type { Session } from "../session/session.ts";
import type { SavedEntry } from "./journal/save-entry.ts";

/** What a flush has to know of a session, and to tell it. */
export type FlushSession = Pick<Session, "key" | "id" | "facts" | "update">;

/** Keeps in the record of a session when it was last flushed, and why not. */
export interface FlushStateKeeper {
  /** What came of an entry, where the entry is this session's. */
  noteEntry(saved: SavedEntry): Promise<void>;
  noteFlush(compactionCount: number): Promise<void>;
}

export function createFlushStateKeeper(options: {
  session: FlushSession;
  clock: () => Date;
  /** Takes why the record cannot be written: that undoes no flush. */
  onError: (line: string) => void;
}): FlushStateKeeper {
  const { session, clock, onError } = options;

  async function update(patch: Parameters<FlushSession["update"]>[0]): Promise<void> {
    try {
      await session.update(patch);
    } catch (error) {
      onError(`the record of session ${session.key} could not be written: ${messageOf(error)}`);
    }
  }

  const keeper: FlushStateKeeper = {
    async noteEntry({ record, report: { state, reason } }) {
      if (record.sessionId !== session.id) return;
      if (state === "failed" || state === "skipped") await update({ memoryFlushError: reason });
      else await keeper.noteFlush(record.compactionCount);
    },
    async noteFlush(compactionCount) {
      // What an earlier cycle left in the journal does not undo that this one has had its flush.
      const before = session.facts.memoryFlushCompactionCount ?? 0;
      await update({
        memoryFlushAt: clock().toISOString(),
        memoryFlushCompactionCount: Math.max(before, compactionCount),
        memoryFlushError: undefined,
      });
    },
  };
  return keeper;
}
