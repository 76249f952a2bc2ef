import { type Memory, MemoryError, isAbort, sessionKindOf } from "@memslot/core";
import { type SessionStartContext, type SessionStartOptions, sessionStartContext } from "./session-start.ts";

export interface StartSessionOptions extends Omit<SessionStartOptions, "workspaceDir" | "session"> {
  memory: Memory;
  /** The session, as the host names it. Left out: the owner, at a terminal. */
  sessionKey?: string | undefined;
  /** Takes why the index could not be brought up to date. Searches say so too, and so does `status()`. */
  onSyncError?: ((error: unknown) => void) | undefined;
  /** Ends the sync, not the session. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts a session: has the index brought up to date, where `sync.onSessionStart` says so, and gives the notes that the
 * session begins with. The sync is not waited for; a search that comes before its end says that it is `stale`, or waits
 * a little by itself. Throws as `sessionStartContext` does, and `INVALID_ARGUMENT` for a session of another agent.
 */
export async function startSession(options: StartSessionOptions): Promise<SessionStartContext> {
  const { memory, sessionKey, onSyncError, signal, ...rest } = options;
  const kind = sessionKindOf(sessionKey, memory.agentId, memory.ownerAllowFrom);
  try {
    return await sessionStartContext({
      ...rest,
      workspaceDir: memory.workspaceDir,
      session: { kind, private: kind !== "group" },
    });
  } finally {
    // After it: reading a few notes takes a moment, and behind a look at a large folder it would wait.
    memory.sync({ reason: "session-start", signal }).catch((error: unknown) => {
      // The host has ended it, and knows.
      if (!isAbort(error) && !MemoryError.is(error, "CLOSED")) onSyncError?.(error);
    });
  }
}
