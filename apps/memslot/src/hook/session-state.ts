import { createHash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { ClientId } from "@memslot/core";
import { resolveStateDir } from "@memslot/core/host";
import { acquireLock, replaceFile } from "@memslot/core/files";
import { idleSessionMs, type RunningMark, runningFolder } from "@memslot/indexing/host";
import type { HookEvent } from "./read-event.ts";

interface TranscriptPlace {
  readonly file: string;
  readonly offset: number;
}

/** Messages and where their digests are. */
interface DigestedMessages {
  readonly messages: number;
  readonly citations: readonly string[];
}

/** The state of one session between its events. */
export interface SessionState {
  readonly version: 1;
  readonly client: ClientId;
  readonly sessionId: string;
  readonly project?: string | undefined;
  readonly transcript?: TranscriptPlace | undefined;
  /**
   * So that messages of events are not stored twice: hashes of those that came before the transcript existed, or the id
   * of the last one from an agent without a transcript.
   */
  readonly told?: readonly string[] | undefined;
  /** Hashes of the lines of notes that the session has seen. */
  readonly shown: readonly string[];
  /** The model has the text of a start, with an agent that gets it with a prompt. */
  readonly started?: true | undefined;
  /** What the digests since the last compaction cover: it is still in the context. */
  readonly digested?: DigestedMessages | undefined;
  /** What the last compaction dropped, until the model is informed. */
  readonly dropped?: DigestedMessages | undefined;
  /** Messages were dropped from the context at some time: searches find what the session said. */
  readonly isCompacted?: true | undefined;
  /** The last compaction that the transcript recorded. */
  readonly compaction?: string | undefined;
  /** Whether messages have no digest yet. */
  readonly waits?: boolean | undefined;
}

export type SessionKey = Pick<SessionState, "client" | "sessionId">;
export type HookStates = ReturnType<typeof openHookStates>;

/** An equal event without a turn id within this time comes from a second hook; later it is a new event. */
const sameEventMs = 5_000;
const keptMs = 30 * 24 * 60 * 60 * 1000;
const lockMs = 500;
const maxShown = 4_000;

/** The hook states of all sessions: files below the state folder. */
export function openHookStates(stateDir: string) {
  const folder = path.join(stateDir, "hooks");
  const runningFile = (client: ClientId, sessionId: string): string =>
    path.join(runningFolder(stateDir), `${client}-${hashOf([sessionId])}`);
  const fileOf = (client: ClientId, sessionId: string): string =>
    path.join(folder, `${client}-${hashOf([sessionId])}.json`);
  return {
    knows: ({ client, sessionId }: SessionKey): boolean => existsSync(fileOf(client, sessionId)),
    read: (client: ClientId, sessionId: string): SessionState => stateIn(fileOf(client, sessionId), client, sessionId),
    /** Changes a state and saves it, under a lock across processes. Throws `BUSY` if it is held for half a second. */
    async change<T>(
      { client, sessionId }: SessionKey,
      run: (state: SessionState) => Promise<{ state: SessionState; result: T }>,
    ): Promise<T> {
      const file = fileOf(client, sessionId);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const busy = (): string => `${file} is being changed by another hook`;
      const lock = await acquireLock(`${file}.lock`, { waitMs: lockMs, busy });
      try {
        const { state, result } = await run(stateIn(file, client, sessionId));
        const shown = state.shown.slice(-maxShown);
        await replaceFile(file, `${JSON.stringify({ ...state, shown })}\n`);
        if (state.isCompacted && existsSync(runningFile(client, sessionId)))
          writeMark(runningFile(client, sessionId), {});
        return result;
      } finally {
        await lock.release();
      }
    },
    isRunning: ({ client, sessionId }: SessionKey): boolean => existsSync(runningFile(client, sessionId)),
    /** Marks that a session runs, or has ended: a search leaves out what its model still knows. */
    mark({ client, sessionId, cwd, moment }: HookEvent): void {
      const place = runningFile(client, sessionId);
      if (moment === "end") return rmSync(place, { force: true });
      const now = new Date();
      try {
        return utimesSync(place, now, now);
      } catch {
        // Its first event, or the first after its end.
      }
      const { isCompacted } = stateIn(fileOf(client, sessionId), client, sessionId);
      writeMark(place, isCompacted ? {} : { sessionId, cwd });
    },
    /** Sessions whose messages have no digest and that have ended. */
    waiting(): SessionState[] {
      const now = Date.now();
      const running = runningFolder(stateDir);
      for (const name of namesIn(running)) {
        const file = path.join(running, name);
        if (now - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now) > idleSessionMs)
          rmSync(file, { force: true });
      }
      return namesIn(folder).flatMap((name) => {
        const file = path.join(folder, name);
        const age = now - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now);
        if (age > keptMs || (name.endsWith(".claim") && age > 60_000)) rmSync(file, { force: true });
        if (!name.endsWith(".json") || age < idleSessionMs) return [];
        const state = readState(file);
        return state?.waits === true ? [state] : [];
      });
    },
    /** False if the same event was handled before: an agent may send it to two hooks. */
    claim({ client, sessionId, moment, turnId, source, prompt, messages }: HookEvent): boolean {
      // A context may be cleared twice in a row. The same text twice is better than none.
      if (moment === "start" && source === "clear" && turnId === undefined) return true;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const ids = messages.map(({ id }) => id);
      const file = path.join(folder, `${hashOf([client, sessionId, moment, turnId, source, prompt, ids])}.claim`);
      return taken(file) || (turnId === undefined && isOld(file) && taken(file));
    },
  };
}

function writeMark(place: string, mark: RunningMark): void {
  mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(place, JSON.stringify(mark), { mode: 0o600 });
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

function stateIn(file: string, client: ClientId, sessionId: string): SessionState {
  const state = readState(file);
  return state?.sessionId === sessionId ? state : { version: 1, client, sessionId, shown: [] };
}

function readState(file: string): SessionState | undefined {
  try {
    const state = JSON.parse(readFileSync(file, "utf8")) as Partial<SessionState> | null;
    const fits = state?.version === 1 && typeof state.sessionId === "string" && Array.isArray(state.shown);
    return fits ? (state as SessionState) : undefined;
  } catch {
    return undefined; // Missing or damaged: the session counts as new.
  }
}

export function hashOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24);
}

/** The last failure of a hook, which itself prints nothing. */
export interface HookFault {
  readonly client: string;
  readonly message: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Events without an answer at their deadline, one line each. */
const missedFile = (stateDir: string): string => path.join(stateDir, "hooks", "missed.jsonl");
const maxMissedBytes = 64 * 1024;

const faultFile = (stateDir: string): string => path.join(stateDir, "hooks", "last-fault.json");

/** Records a failure, and whether the deadline was missed. Never throws. */
export function noteFault(
  context: Parameters<typeof resolveStateDir>[0],
  fault: Omit<HookFault, "at">,
  isMissed: boolean,
): void {
  try {
    const stateDir = resolveStateDir(context);
    const at = new Date().toISOString();
    mkdirSync(path.join(stateDir, "hooks"), { recursive: true, mode: 0o700 });
    // `lastFault` ignores a half-written file.
    writeFileSync(faultFile(stateDir), `${JSON.stringify({ ...fault, at })}\n`, { mode: 0o600 });
    if (!isMissed) return;
    const file = missedFile(stateDir);
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > maxMissedBytes)
      writeFileSync(file, readFileSync(file).subarray(-maxMissedBytes / 2), { mode: 0o600 });
    appendFileSync(file, `${JSON.stringify({ client: fault.client, at })}\n`, { mode: 0o600 });
  } catch {
    // Without a writable state folder there is no record.
  }
}

export function lastFault(stateDir: string): HookFault | undefined {
  const [fault] = recordsIn(faultFile(stateDir));
  return typeof fault?.message === "string" ? (fault as HookFault) : undefined;
}

/** How many events of each agent missed their deadline since a time. */
export function missedSince(stateDir: string, sinceMs: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { client, at } of recordsIn(missedFile(stateDir)))
    if (Date.parse(at) >= sinceMs) counts.set(client, (counts.get(client) ?? 0) + 1);
  return counts;
}

/** The records of a file, one on each line. Skips damaged lines. */
function recordsIn(file: string): (Omit<HookFault, "message"> & Partial<HookFault>)[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line) => {
        const record = objectIn(line) as Partial<HookFault> | undefined;
        const { client, at } = record ?? {};
        return typeof client === "string" && typeof at === "string" ? [{ ...record, client, at }] : [];
      });
  } catch {
    return []; // Nothing has failed yet.
  }
}

function objectIn(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
