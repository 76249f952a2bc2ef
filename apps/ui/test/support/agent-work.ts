import { editNote, forgetNote, openSessions, readNote, type Session } from "@memslot/agent-kit";
import { onTestFinished } from "vitest";
import type { UiServer } from "./ui-server.ts";

/** A change of a note by an agent; without `text`, it forgets the old lines. */
export interface AgentChange {
  path: string;
  old: string;
  text?: string | undefined;
  reason?: string | undefined;
  session?: string;
}

export async function changeNote({ host, workspaceDir }: UiServer, change: AgentChange): Promise<void> {
  const { path, old, text, reason = "the user asked for it", session = "agent:main:tui:1" } = change;
  const place = {
    workspaceDir,
    settings: host.agent.memorySearch,
    stateDir: host.config.stateDir,
    changer: { agentId: "main", session, by: "memory_edit" },
    at: new Date(),
    timeZone: "UTC",
    relPath: path,
    old,
  };
  const { sha256: hash = "" } = (await readNote(place)) ?? {};
  if (text === undefined) await forgetNote({ ...place, hash, reason });
  else await editNote({ ...place, hash, text });
}

export async function openSession({ host }: UiServer, key: string): Promise<Session> {
  const sessions = await openSessions({ stateDir: host.config.stateDir, agentId: "main" });
  onTestFinished(() => sessions.close());
  return await sessions.open(key);
}
