import path from "node:path";
import { agentIdProblem, MemoryError } from "@memslot/core";

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
