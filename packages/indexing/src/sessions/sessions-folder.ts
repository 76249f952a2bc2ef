import path from "node:path";
import { MemoryError } from "@memslot/core";

/** Where the transcripts of an agent are. Throws `INVALID_ARGUMENT` for an agent id that is no plain folder name. */
export function sessionsFolder(input: { stateDir: string; agentId: string }): string {
  const { stateDir, agentId } = input;
  if (!/^[\w.-]{1,64}$/.test(agentId) || agentId === "." || agentId === "..") {
    const message = `agent id ${JSON.stringify(agentId)} cannot name a folder: use letters, digits, "_", "-" and "."`;
    throw new MemoryError("INVALID_ARGUMENT", message);
  }
  return path.join(stateDir, "agents", agentId, "sessions");
}

/** The path of a transcript in the index, from its file name. File systems write the same name in more than one way. */
export function transcriptPath(fileName: string): string {
  return `sessions/${fileName.normalize("NFC")}`;
}
