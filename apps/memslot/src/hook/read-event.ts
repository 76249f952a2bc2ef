import { createHash } from "node:crypto";
import path from "node:path";
import type { ConversationMessage } from "@memslot/agent-kit";
import { stripInjected } from "@memslot/indexing/host";
import type { ClientId } from "../connect/client.ts";
import type { HookEvent, HookMoment } from "./hook-event.ts";

const moments: Readonly<Record<string, HookMoment>> = {
  sessionstart: "start",
  userpromptsubmit: "prompt",
  beforesubmitprompt: "prompt",
  beforeagent: "prompt",
  prompt: "prompt",
  precompact: "compact",
  // Gemini sends it before each request to its model.
  precompress: "turn-end",
  compact: "compact",
  stop: "turn-end",
  afteragent: "turn-end",
  sessionend: "end",
};
const maxMessages = 10_000;

/**
 * What a client has sent. Undefined for what is no event, or one that is of no matter here: a subagent's, another name, no
 * session. `at` is when it came.
 */
export function readEvent(text: string, given: ClientId, at: Date): HookEvent | undefined {
  const input = objectOf(text);
  const name = textIn(input, "hook_event_name") ?? textIn(input, "hookEventName");
  const sessionId = textIn(input, "session_id") ?? textIn(input, "sessionId") ?? textIn(input, "conversation_id");
  if (input === undefined || name === undefined || sessionId === undefined || sessionId.length > 200) return undefined;
  const moment = moments[name.replaceAll(/[_-]/gu, "").toLowerCase()];
  // What a subagent is told and says is the business of the one that sent it out.
  if (moment === undefined || textIn(input, "agent_id") !== undefined) return undefined;
  const turnId = textIn(input, "turn_id") ?? textIn(input, "generation_id");
  const client = senderOf(input, given);
  return {
    client,
    shape: given,
    moment,
    name,
    sessionId,
    turnId,
    cwd: textIn(input, "cwd") ?? firstText(input["workspace_roots"]),
    source: textIn(input, "source"),
    prompt: moment === "prompt" ? saidIn(input, "prompt", "user") : undefined,
    transcript: transcriptIn(input),
    messages: messagesIn(input, { sessionId, turnId, moment, at }),
  };
}

function senderOf(input: Record<string, unknown>, given: ClientId): ClientId {
  if (textIn(input, "cursor_version") !== undefined) return "cursor";
  // VS Code alone writes its names in camel case.
  return given === "claude-code" && textIn(input, "hookEventName") !== undefined ? "vscode" : given;
}

function transcriptIn(input: Record<string, unknown>): string | undefined {
  const file = textIn(input, "transcript_path");
  return file !== undefined && path.isAbsolute(file) ? file : undefined;
}

/** OpenCode's plugin sends what was said; others send the last answer with some events. */
function messagesIn(
  input: Record<string, unknown>,
  { sessionId, turnId, moment, at }: { sessionId: string; turnId: string | undefined; moment: HookMoment; at: Date },
): ConversationMessage[] {
  if (Array.isArray(input["messages"]))
    return input["messages"].slice(-maxMessages).flatMap((each) => messageOf(each, at));
  const said = (role: "user" | "assistant", ...names: string[]): ConversationMessage[] => {
    const text = names.map((name) => saidIn(input, name, role)).find((each) => each !== undefined);
    if (text === undefined) return [];
    const id = createHash("sha256")
      .update(JSON.stringify([sessionId, turnId, role, text]))
      .digest("hex");
    return [{ role, id: id.slice(0, 32), at: at.toISOString(), text }];
  };
  const answer = moment === "turn-end" ? said("assistant", "last_assistant_message", "prompt_response") : [];
  return [...said("user", "prompt"), ...answer];
}

function messageOf(value: unknown, now: Date): ConversationMessage[] {
  if (typeof value !== "object" || value === null) return [];
  const { id, role, at, ...rest } = value as Record<string, unknown>;
  if (typeof id !== "string" || id === "" || (role !== "user" && role !== "assistant")) return [];
  const text = saidIn(rest, "text", role);
  if (text === undefined) return [];
  const when = typeof at === "string" && !Number.isNaN(Date.parse(at)) ? at : now.toISOString();
  return [{ id: id.slice(0, 200), role, text, at: when }];
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/u, ""));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function textIn(input: Record<string, unknown> | undefined, name: string): string | undefined {
  const value = input?.[name];
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** What was said in a text of an event; undefined where memslot or the client has put in all of it. */
function saidIn(input: Record<string, unknown>, name: string, role: "user" | "assistant"): string | undefined {
  return stripInjected(textIn(input, name) ?? "", role) || undefined;
}

function firstText(value: unknown): string | undefined {
  const [first] = Array.isArray(value) ? (value as unknown[]) : [];
  return typeof first === "string" ? first : undefined;
}
