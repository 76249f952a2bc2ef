import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { sessionsFolder } from "./sessions-folder.ts";

const fileName = /^([\w-]{1,80})\.[0-9a-f]{16}\.jsonl$/;

/** Where the journal of an agent keeps what its conversations have dropped. Throws as `sessionsFolder` does. */
export function journalFolder(place: { stateDir: string; agentId: string }): string {
  return path.join(path.dirname(sessionsFolder(place)), "journal");
}

/** The name of a file of the journal: of one session, by what is in it. */
export function journalFileName(sessionName: string, hash: string): string {
  return `${sessionName}.${hash}.jsonl`;
}

/** The absolute path behind `journal/<name>`; undefined for what is no path of the journal, or leads through a link. */
export function journalFile(folder: string, relPath: string): string | undefined {
  const [first, name = "", ...more] = relPath.replace(/^\.\//, "").split("/");
  if (first !== "journal" || more.length > 0 || !fileName.test(name)) return undefined;
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? path.join(folder, name) : undefined;
}

/** Paths, as they stand in the index, of what the session with this transcript has dropped. */
export function journalOfTranscript(folder: string, transcript: string): string[] {
  const session = /^sessions\/(.+)\.jsonl$/.exec(transcript)?.[1];
  try {
    const names = readdirSync(folder).filter((name) => fileName.exec(name)?.[1] === session);
    return names.map((name) => `journal/${name}`);
  } catch {
    // Nothing was dropped yet, or nobody may look: then there is nothing to be found either.
    return [];
  }
}
