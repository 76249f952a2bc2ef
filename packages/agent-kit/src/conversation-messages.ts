import { estimateTokens } from "@memslot/indexing/host";

/** A tool call of a model; `arguments` is the JSON text that it wrote, unchecked. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Said {
  /** Unique within a session. The same id twice is the same message. */
  readonly id: string;
  /** The time, as ISO text. */
  readonly at: string;
}

export interface UserMessage extends Said {
  readonly role: "user";
  readonly text: string;
}

export interface AssistantMessage extends Said {
  readonly role: "assistant";
  readonly text: string;
  readonly toolCalls?: readonly ToolCall[] | undefined;
}

export interface ToolMessage extends Said {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly text: string;
}

/** One message of a conversation, independent of models and frameworks. */
export type ConversationMessage = UserMessage | AssistantMessage | ToolMessage;

/** A message that has no id or time yet. */
export type NewMessage = Unsaid<UserMessage> | Unsaid<AssistantMessage> | Unsaid<ToolMessage>;

type Unsaid<M extends Said> = Omit<M, "id" | "at"> & Partial<Said>;

/** Recorded messages as a model may get them: each tool call has exactly one result, directly behind it. */
export function modelContext(recorded: readonly ConversationMessage[]): ConversationMessage[] {
  return turnsOf(recorded).flatMap(({ message, toolCalls, results }): ConversationMessage[] => {
    if (message.role === "tool") return [];
    if (message.role === "user") return [message];
    if (toolCalls.length === 0 && message.text.trim() === "") return [];
    return [withCalls(message, toolCalls), ...results];
  });
}

/** The same for a reader that saves all messages: unpaired tool calls and results become text of the assistant. */
export function handedOver(recorded: readonly ConversationMessage[]): ConversationMessage[] {
  return turnsOf(recorded).flatMap(({ message, toolCalls, results }): ConversationMessage[] => {
    if (message.role === "tool") return [resultAsText(message)];
    if (message.role === "user") return [message];
    const open = message.toolCalls?.filter((call) => !toolCalls.includes(call)) ?? [];
    const asked = open.map((call) => `[asked for ${call.name}, never answered] ${call.arguments}`);
    const text = [message.text, ...asked].filter((part) => part !== "").join("\n");
    return [withCalls({ ...message, text }, toolCalls), ...results];
  });
}

export function resultAsText({ id, at, text, toolName }: ToolMessage): AssistantMessage {
  return { id, at, role: "assistant", text: `[result of ${toolName}] ${text}` };
}

export function withCalls(message: AssistantMessage, toolCalls: readonly ToolCall[]): AssistantMessage {
  const { id, at, role, text } = message;
  return { id, at, role, text, ...(toolCalls.length > 0 && { toolCalls }) };
}

interface Turn {
  /** A result only if no call has it. */
  message: ConversationMessage;
  toolCalls: readonly ToolCall[];
  results: readonly ToolMessage[];
}

/** The result of a call is the first one with its id before the next message of the assistant. */
function turnsOf(recorded: readonly ConversationMessage[]): Turn[] {
  const taken = new Set<ConversationMessage>();
  const turns: Turn[] = [];
  for (const [index, message] of recorded.entries()) {
    if (taken.has(message)) continue;
    const results = new Map<string, ToolMessage>();
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    for (let next = index + 1; calls.length > 0 && next < recorded.length; next++) {
      const later = recorded[next];
      if (later === undefined || later.role === "assistant") break;
      if (later.role !== "tool" || results.has(later.toolCallId)) continue;
      if (calls.some(({ id }) => id === later.toolCallId)) results.set(later.toolCallId, later);
    }
    for (const result of results.values()) taken.add(result);
    // Of two calls with one id the first one has the result.
    const seen = new Set<string>();
    const toolCalls = calls.filter(({ id }) => results.has(id) && !seen.has(id) && seen.add(id));
    turns.push({ message, toolCalls, results: [...results.values()] });
  }
  return turns;
}

/** Estimated tokens of messages as a model gets them, with `each` for what a request needs around a message. */
export function tokensOf(messages: readonly ConversationMessage[], each = 8): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    const texts = [message.text, ...calls.flatMap((call) => [call.name, call.arguments])];
    return texts.reduce((own, text) => own + estimateTokens(text), sum + each);
  }, 0);
}
