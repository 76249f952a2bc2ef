import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type NewMessage, openSessions, type Sessions } from "@memslot/agent-kit";

export const key = "agent:main:main";

/** A state folder that is gone when the test is over. */
export function stateFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "memslot-sessions-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The sessions of agent `main`, closed when the test is over, and what a person was told. */
export async function sessionsIn(
  stateDir: string,
  clock?: () => Date,
): Promise<{ sessions: Sessions; notices: string[] }> {
  const notices: string[] = [];
  const sessions = await openSessions({ stateDir, agentId: "main", clock, notify: (line) => notices.push(line) });
  onTestFinished(() => sessions.close());
  return { sessions, notices };
}

export const folderIn = (stateDir: string): string => path.join(stateDir, "agents/main/sessions");

export function linesOf(file: string): Record<string, unknown>[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function listIn(stateDir: string): Record<string, Record<string, unknown>> {
  return JSON.parse(readFileSync(path.join(folderIn(stateDir), "sessions.json"), "utf8")) as Record<
    string,
    Record<string, unknown>
  >;
}

export const user = (text: string, id?: string): NewMessage => ({
  role: "user",
  text,
  ...(id !== undefined && { id }),
});
export const assistant = (text: string, id?: string): NewMessage => ({
  role: "assistant",
  text,
  ...(id !== undefined && { id }),
});
