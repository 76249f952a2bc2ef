import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { agentIdProblem, MemoryError } from "@memslot/core";

const journalName = /^([\w-]{1,80})\.[0-9a-f]{16}\.jsonl$/;

/** Finds the path of a session's transcript in the index by the key of the session. */
export type SessionLookup = (sessionKey: string) => Promise<string | undefined>;

/** Where the transcripts of an agent are. Throws `INVALID_ARGUMENT` for an agent id that is no plain folder name. */
export function sessionsFolder(input: { stateDir: string; agentId: string }): string {
  const { stateDir, agentId } = input;
  const problem = agentIdProblem(agentId);
  if (problem !== undefined)
    throw new MemoryError("INVALID_ARGUMENT", `an agent id that cannot name a folder: ${problem}`);
  return path.join(stateDir, "agents", agentId, "sessions");
}

/** The path of a transcript in the index, from its file name. File systems write the same name in more than one way. */
export function transcriptPath(fileName: string): string {
  return `sessions/${fileName.normalize("NFC")}`;
}

/** Where the journal of an agent keeps what its conversations have dropped. Throws as `sessionsFolder` does. */
export function journalFolder(input: { stateDir: string; agentId: string }): string {
  return path.join(path.dirname(sessionsFolder(input)), "journal");
}

/** The name of a file of the journal: of one session, by what is in it. */
export function journalFileName(sessionName: string, hash: string): string {
  return `${sessionName}.${hash}.jsonl`;
}

/** The absolute path behind `journal/<name>`; undefined for what is no path of the journal, or leads through a link. */
export function journalFile(folder: string, relPath: string): string | undefined {
  const [first, name = "", ...more] = relPath.replace(/^\.\//, "").split("/");
  if (first !== "journal" || more.length > 0 || !journalName.test(name)) return undefined;
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? path.join(folder, name) : undefined;
}

/** Paths, as they stand in the index, of what the session with this transcript has dropped. */
export function journalOfTranscript(folder: string, transcript: string): string[] {
  const session = /^sessions\/(.+)\.jsonl$/.exec(transcript)?.[1];
  try {
    const names = readdirSync(folder).filter((name) => journalName.exec(name)?.[1] === session);
    return names.map((name) => `journal/${name}`);
  } catch {
    // Nothing was dropped yet, or the folder cannot be listed: then there is nothing to be found either.
    return [];
  }
}
