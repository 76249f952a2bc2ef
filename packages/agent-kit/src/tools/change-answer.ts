import { existsSync } from "node:fs";
import path from "node:path";
import { MemoryError, type MemorySearchSettings, messageOf, nameFromVisible } from "@memslot/core";
import type { EditedNote } from "../edit/edit-note.ts";
import type { ChangePlace } from "../edit/make-change.ts";
import { inTime } from "../deadline.ts";
import { formatCitation, parseCitation } from "../citations.ts";
import { isAboutTheCall } from "./failure-advice.ts";
import type { MemoryToolResult } from "./memory-tool.ts";
import { lateAnswer } from "./tool-input.ts";
import type { ToolSetting } from "./tool-setting.ts";

/** What a tool needs that changes notes. */
export interface ChangeSetting {
  readonly stateDir: string;
  readonly settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
  readonly timeZone: string;
  readonly clock: () => Date;
}

/** Hexadecimal digits of the hash that a model hands back. */
const hashLength = 16;

/** The name of a state of a file, short enough for a model to copy. */
export function shortHash(sha256: string): string {
  return sha256.slice(0, hashLength);
}

interface ChangeCall {
  name: string;
  setting: ToolSetting;
  change: ChangeSetting;
  signal: AbortSignal | undefined;
}

/** Runs a change of a note that a model has asked for, and tells what became of it. Throws for the caller's abort alone. */
export async function changeAnswer(
  { name, setting, change, signal }: ChangeCall,
  run: (place: ChangePlace & { timeZone: string }) => Promise<EditedNote>,
): Promise<MemoryToolResult> {
  const { opened, deadlineMs, sessionKey } = setting;
  if ("error" in opened) return failure(name, opened.error);
  const { workspaceDir, agentId } = opened.memory;
  const { settings, stateDir, timeZone, clock } = change;
  const changer = { agentId, session: sessionKey, by: name };
  try {
    const outcome = await inTime(
      (limit) => run({ workspaceDir, settings, stateDir, changer, at: clock(), timeZone, signal: limit }),
      { timeoutMs: deadlineMs, signal },
    );
    const look = `Read the note with memory_get to see whether it was changed, before you call ${name} again.`;
    if (outcome.timedOut) return lateAnswer("the change", deadlineMs, look);
    if (outcome.value.state === "unchanged")
      return { status: "ok", state: "unchanged", note: "The note says so already. Nothing was written." };
    const { change: made, note } = outcome.value;
    const lines = made.after.split("\n").length - (made.after.endsWith("\n") || made.after === "" ? 1 : 0);
    const place = { path: made.path, startLine: made.startLine, endLine: made.startLine + Math.max(1, lines) - 1 };
    return {
      status: "ok",
      state: made.kind === "forget" ? "forgotten" : "edited",
      ...(lines > 0 ? { ...place, citation: formatCitation(place) } : { path: made.path }),
      hash: shortHash(note.sha256),
      change: made.id,
      ...(made.trash !== undefined && { trash: made.trash }),
    };
  } catch (error) {
    if (signal?.aborted) throw error;
    return failure(name, error);
  }
}

/**
 * The place that a model names: a path as a search has shown it, or a citation. `\\` between folders is taken for `/` unless
 * a file of that very name is there.
 */
export function notePlace(given: string, workspaceDir: string): { relPath: string; from?: number; lines?: number } {
  const cited = parseCitation(given);
  const name = nameFromVisible(cited?.path ?? given.trim());
  const relPath = existsSync(path.join(workspaceDir, name)) ? name : name.replaceAll("\\", "/");
  return cited === undefined
    ? { relPath }
    : { relPath, from: cited.startLine, lines: cited.endLine - cited.startLine + 1 };
}

function failure(name: string, error: unknown): MemoryToolResult {
  const code = MemoryError.is(error) ? error.code : "UNAVAILABLE";
  const isCall = isAboutTheCall(error);
  const field = code === "PATH_NOT_ALLOWED" ? "path" : /^(?:old|new)\b/.exec(messageOf(error))?.[0];
  return {
    status: "error",
    code,
    ...(isCall && field !== undefined && { field }),
    error: messageOf(error) || "unknown error",
    action: isCall
      ? `Nothing was changed. Read the note with memory_get, then call ${name} again with its hash and exact text.`
      : "Nothing is known to have been changed. Tell the user, with the reason.",
  };
}
