import { createHash } from "node:crypto";
import { mkdirSync, openSync, closeSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { acquireLock, replaceFile } from "@memslot/core/files";
import type { ClientId } from "../connect/client.ts";
import type { HookEvent } from "./hook-event.ts";
import type { TranscriptPlace } from "./new-part.ts";

/** What hooks know of one session, from event to event. */
export interface SessionState {
  readonly version: 1;
  readonly client: ClientId;
  readonly sessionId: string;
  readonly project?: string | undefined;
  readonly transcript?: TranscriptPlace | undefined;
  /** Hashes of what came with events while the transcript was not there: it will be in it, and is not taken twice. */
  readonly told?: readonly string[] | undefined;
  /** Hashes of the lines that this session was shown. */
  readonly shown: readonly string[];
  /** What the last compaction dropped, until it was told. */
  readonly dropped?: { readonly messages: number; readonly citations: readonly string[] } | undefined;
  /** Whether messages wait for their digest. */
  readonly waits?: boolean | undefined;
}

/** What a change makes of the state, and what came of it besides. */
interface Changed<T> {
  readonly state: SessionState;
  readonly result: T;
}

/** Hook state of all sessions: files of the state folder. */
export interface HookStates {
  /** What is known of a session; of a new one nothing. */
  read(client: ClientId, sessionId: string): SessionState;
  /**
   * Runs a change of what is known while no other process makes one, and writes it down. Throws `BUSY` where one takes
   * longer than half a second.
   */
  change<T>(
    of: Pick<SessionState, "client" | "sessionId">,
    run: (state: SessionState) => Promise<Changed<T>>,
  ): Promise<T>;
  /** Sessions whose messages wait for a digest and that nothing was heard of for so long, in milliseconds. */
  waiting(idleMs: number): SessionState[];
  /** False where the same event was taken before: a client may send it to two hooks. */
  claim(event: HookEvent): boolean;
}

/** The same event without the id of a turn comes from a second hook in this time; later it is another one. */
const sameEventMs = 5_000;
const keptMs = 30 * 24 * 60 * 60 * 1000;
const lockMs = 500;
const maxShown = 4_000;

export function openHookStates(stateDir: string): HookStates {
  const folder = path.join(stateDir, "hooks");
  const fileOf = (client: ClientId, sessionId: string): string =>
    path.join(folder, `${client}-${hashOf([sessionId])}.json`);
  const read = (client: ClientId, sessionId: string): SessionState => {
    const state = readState(fileOf(client, sessionId));
    return state?.sessionId === sessionId ? state : { version: 1, client, sessionId, shown: [] };
  };
  return {
    read,
    async change({ client, sessionId }, run) {
      const file = fileOf(client, sessionId);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const busy = (): string => `${file} is being changed by another hook`;
      const lock = await acquireLock(`${file}.lock`, { waitMs: lockMs, busy });
      try {
        const { state, result } = await run(read(client, sessionId));
        const shown = state.shown.slice(-maxShown);
        await replaceFile(file, `${JSON.stringify({ ...state, shown })}\n`);
        return result;
      } finally {
        await lock.release();
      }
    },
    waiting(idleMs) {
      const now = Date.now();
      return namesIn(folder).flatMap((name) => {
        const file = path.join(folder, name);
        const age = now - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now);
        if (age > keptMs || (name.endsWith(".claim") && age > 60_000)) rmSync(file, { force: true });
        if (!name.endsWith(".json") || age < idleMs) return [];
        const state = readState(file);
        return state?.waits === true ? [state] : [];
      });
    },
    claim({ client, sessionId, moment, turnId, source, prompt, messages }) {
      // A context may be cleared twice in a moment. To be told the same twice is better than to be told nothing.
      if (moment === "start" && source === "clear" && turnId === undefined) return true;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const ids = messages.map(({ id }) => id);
      const file = path.join(folder, `${hashOf([client, sessionId, moment, turnId, source, prompt, ids])}.claim`);
      return taken(file) || (turnId === undefined && isOld(file) && taken(file));
    },
  };
}

function taken(file: string): boolean {
  try {
    closeSync(openSync(file, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function isOld(file: string): boolean {
  const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  if (age < sameEventMs) return false;
  rmSync(file, { force: true });
  return true;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No hook has run yet.
  }
}

function readState(file: string): SessionState | undefined {
  try {
    const state = JSON.parse(readFileSync(file, "utf8")) as Partial<SessionState> | null;
    const fits = state?.version === 1 && typeof state.sessionId === "string" && Array.isArray(state.shown);
    return fits ? (state as SessionState) : undefined;
  } catch {
    return undefined; // Not there, or damaged: the session is one that nothing is known of.
  }
}

export function hashOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24);
}
