import { readFileSync } from "node:fs";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import { type NewMessage, openSessions, type Session, type Sessions } from "@memslot/agent-kit";

export const key = "agent:main:main";

export interface OpenedSessions {
  readonly stateDir: string;
  readonly sessions: Sessions;
  /** What the user is told. */
  readonly notices: string[];
}

/** The sessions of agent `main`. They are closed after the test. */
export async function sessionsIn(stateDir: string = tempFolder(), clock?: () => Date): Promise<OpenedSessions> {
  const notices: string[] = [];
  const sessions = await openSessions({ stateDir, agentId: "main", clock, notify: (line) => notices.push(line) });
  onTestFinished(() => sessions.close());
  return { stateDir, sessions, notices };
}

export async function openSession(stateDir?: string): Promise<Session> {
  return await (await sessionsIn(stateDir)).sessions.open(key);
}

export const folderIn = (stateDir: string): string => path.join(stateDir, "agents/main/sessions");

export function linesOf(file: string): Record<string, unknown>[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function listIn(stateDir: string): Record<string, Record<string, unknown>> {
  const text = readFileSync(path.join(folderIn(stateDir), "sessions.json"), "utf8");
  return JSON.parse(text) as Record<string, Record<string, unknown>>;
}

type Role = "user" | "assistant";
type SaidBy<R extends Role> = Extract<NewMessage, { role: R }>;

const said = (role: Role, text: string, id?: string): NewMessage => ({ role, text, ...(id !== undefined && { id }) });
export const user = (text: string, id?: string): SaidBy<"user"> => said("user", text, id) as SaidBy<"user">;
export const assistant = (text: string, id?: string): SaidBy<"assistant"> =>
  said("assistant", text, id) as SaidBy<"assistant">;
