import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { agentIdProblem } from "@memslot/core/host";

const journalName = /^([\w-]{1,80})\.[0-9a-f]{16}\.jsonl$/;

export type SessionLookup = (sessionKey: string) => Promise<string | undefined>;

/** The folder with the transcripts of an agent. Throws `INVALID_ARGUMENT` if the agent id is not a folder name. */
export function sessionsFolder(input: { stateDir: string; agentId: string }): string {
  const { stateDir, agentId } = input;
  const problem = agentIdProblem(agentId);
  if (problem !== undefined)
    throw new MemoryError("INVALID_ARGUMENT", `an agent id that cannot name a folder: ${problem}`);
  return path.join(stateDir, "agents", agentId, "sessions");
}

export function transcriptPath(fileName: string): string {
  return `sessions/${fileName.normalize("NFC")}`;
}

/** The folder with the journal of an agent. Throws as `sessionsFolder` does. */
export function journalFolder(input: { stateDir: string; agentId: string }): string {
  return path.join(path.dirname(sessionsFolder(input)), "journal");
}

/** The name of a journal file: the session, and a hash of its content. */
export function journalFileName(sessionName: string, hash: string): string {
  return `${sessionName}.${hash}.jsonl`;
}

/** The absolute path of `journal/<name>`; undefined for other paths, and if the folder is a link. */
export function journalFile(folder: string, relPath: string): string | undefined {
  const [first, name = "", ...more] = relPath.replace(/^\.\//, "").split("/");
  if (first !== "journal" || more.length > 0 || !journalName.test(name)) return undefined;
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? path.join(folder, name) : undefined;
}

export function journalOfTranscript(folder: string, transcript: string): string[] {
  const session = /^sessions\/(.+)\.jsonl$/.exec(transcript)?.[1];
  try {
    const names = readdirSync(folder).filter((name) => journalName.exec(name)?.[1] === session);
    return names.map((name) => `journal/${name}`);
  } catch {
    return [];
  }
}

/** The folder in which hooks of other programs mark the sessions that run, one file each. */
export function runningFolder(stateDir: string): string {
  return path.join(stateDir, "hooks", "running");
}

/** A session without events for so long has ended. */
export const idleSessionMs: number = 30 * 60 * 1000;

/** What a session's mark says. Empty after a compaction: its model no longer knows all that was said. */
export interface RunningMark {
  readonly sessionId?: string;
  readonly cwd?: string | undefined;
}

/** The ids of sessions that run in a project now. What they said is still known to their models. */
export function runningSessions(stateDir: string, isInProject: (folder: string | undefined) => boolean): string[] {
  const folder = runningFolder(stateDir);
  try {
    return readdirSync(folder).flatMap((name) => {
      const file = path.join(folder, name);
      if (Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > idleSessionMs) return [];
      const { sessionId, cwd } = JSON.parse(readFileSync(file, "utf8")) as RunningMark;
      return sessionId !== undefined && isInProject(cwd) ? [sessionId] : [];
    });
  } catch {
    return []; // No hook has run yet, or a mark is being written.
  }
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/giu;
/** What programs put before the id of a session: Codex its time, Gemini its time and only the beginning of the id. */
const beforeId = /^(?:rollout-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}|session-(?:\d{4}-\d{2}-\d{2}T\d{2}-\d{2}))-/u;

/** The id of a session, from the path of its transcript or of its journal in the index. */
export function sessionOf(file: string): string {
  const id = file.match(uuid)?.at(-1);
  if (id !== undefined) return id;
  const name = path.posix.basename(file);
  return journalName.exec(name)?.[1] ?? name.replace(/\.[a-z]+$/iu, "").replace(beforeId, "");
}

/** Whether two ids are of one session: Gemini names files by the first eight characters of an id. */
export function isSameSession(one: string, other: string): boolean {
  const isBeginning = (short: string, long: string): boolean => short.length === 8 && long.startsWith(`${short}-`);
  return one === other || isBeginning(one, other) || isBeginning(other, one);
}
