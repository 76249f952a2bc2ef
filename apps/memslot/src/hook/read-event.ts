import { createHash } from "node:crypto";
import path from "node:path";
import type { ConversationMessage } from "@memslot/agent-kit";
import type { ClientId } from "@memslot/core";
import { agentOf, agents, type HookMoment, momentOf, stripInjected } from "@memslot/indexing/host";

/** A prompt may contain a pasted file; longer input is cut. */
const maxBytes = 16 * 1024 * 1024;

const maxMessages = 10_000;

/** All of the input, at most 16 MiB. Ends when the signal aborts. */
export async function readInput(stdin: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stdin) {
    signal.throwIfAborted();
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    parts.push(bytes);
    length += bytes.length;
    if (length > maxBytes) break;
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The answer to an event in the agent's own format; undefined if the agent passes no text to its model there. */
export function answerOf({ shape, moment, name }: HookEvent, text: string): string | undefined {
  const answer = agentOf(shape).hooks?.answers[moment];
  return text === "" || answer === undefined ? undefined : JSON.stringify(answer(name, text));
}

/** Whether the model gets the text of a start with the first prompt, as the agent passes on none before it. */
export function startsAtPrompt({ shape }: HookEvent): boolean {
  const { start, prompt } = agentOf(shape).hooks?.answers ?? {};
  return start === undefined && prompt !== undefined;
}

/** The answer after the messages of an event were stored; undefined if the agent expects none. */
export function storedAnswer({ shape }: HookEvent): string | undefined {
  const stored = agentOf(shape).hooks?.stored;
  return stored && JSON.stringify(stored);
}

/** Reads the input of a hook. `undefined` for no event, no session, a subagent or an unused name. */
export function readEvent(text: string, given: ClientId, at: Date): HookEvent | undefined {
  const input = objectOf(text);
  const name = textIn(input, "hook_event_name") ?? textIn(input, "hookEventName") ?? nameByField(input, given);
  const sessionId = textIn(input, "session_id") ?? textIn(input, "sessionId") ?? textIn(input, "conversation_id");
  if (input === undefined || name === undefined || sessionId === undefined || sessionId.length > 200) return undefined;
  const moment = momentOf(name);
  if (moment === undefined || (textIn(input, "agent_id") ?? textIn(input, "agentId")) !== undefined) return undefined;
  const turnId = textIn(input, "turn_id") ?? textIn(input, "generation_id");
  const client = senderOf(input, given);
  return {
    client,
    shape: given === "claude-code" ? given : client,
    moment,
    name,
    sessionId,
    turnId,
    cwd: textIn(input, "cwd") ?? firstText(input["workspace_roots"]),
    source: textIn(input, "source"),
    prompt:
      moment === "prompt" ? (saidIn(input, "submitted_prompt", "user") ?? saidIn(input, "prompt", "user")) : undefined,
    transcript: transcriptIn(input),
    messages: messagesIn(input, { sessionId, turnId, moment, at }),
  };
}

function nameByField(input: Record<string, unknown> | undefined, given: ClientId): string | undefined {
  const fields = Object.entries(agentOf(given).hooks?.fields ?? {});
  return fields.find(([field]) => input?.[field] !== undefined)?.[1];
}

function senderOf(input: Record<string, unknown>, given: ClientId): ClientId {
  return (agents.find(({ hooks }) => hooks?.isSender?.(input, given))?.id ?? given) as ClientId;
}

function transcriptIn(input: Record<string, unknown>): string | undefined {
  const file = textIn(input, "transcript_path") ?? textIn(input, "transcriptPath");
  return file !== undefined && path.isAbsolute(file) ? file : undefined;
}

/** The plugin of OpenCode sends all messages; other agents send the last answer with some events. */
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
  return [...said("user", "submitted_prompt", "prompt"), ...answer];
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

/** The message in a text of an event; undefined if memslot or the agent inserted all of it. */
function saidIn(input: Record<string, unknown>, name: string, role: "user" | "assistant"): string | undefined {
  return stripInjected(textIn(input, name) ?? "", role) || undefined;
}

function firstText(value: unknown): string | undefined {
  const [first] = Array.isArray(value) ? (value as unknown[]) : [];
  return typeof first === "string" ? first : undefined;
}

/** When a hook adds notes to a prompt: never, on a strong match, or for every match. */
export type RecallMode = "off" | "strong" | "always";

/** One event of an agent. */
export interface HookEvent {
  /** The sender: Cursor and VS Code also run hooks that were written for Claude Code. */
  readonly client: ClientId;
  /** The agent whose answer format the sender reads: agents run the hooks of Claude Code with its format. */
  readonly shape: ClientId;
  readonly moment: HookMoment;
  readonly name: string;
  readonly sessionId: string;
  /** Identifies the turn; undefined if the agent does not send an id. */
  readonly turnId?: string | undefined;
  readonly cwd?: string | undefined;
  /** Why a session starts: `startup`, `resume`, `clear`, `compact`. */
  readonly source?: string | undefined;
  readonly prompt?: string | undefined;
  /** The transcript file, absolute. */
  readonly transcript?: string | undefined;
  /** The messages that the agent sends with the event. */
  readonly messages: readonly ConversationMessage[];
}
