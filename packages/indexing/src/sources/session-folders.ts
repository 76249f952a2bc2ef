import { lstatSync, readdirSync } from "node:fs";
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
