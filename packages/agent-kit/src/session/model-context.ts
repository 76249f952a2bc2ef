import type { AssistantMessage, ConversationMessage, ToolCall, ToolMessage } from "../conversation.ts";

/**
 * What of recorded messages a model may be given: every tool call has exactly one result, right behind it. Calls that
 * were never answered, because the process ended before, are left out, and so are results without a call and messages
 * of the assistant that say nothing.
 */
export function modelContext(recorded: readonly ConversationMessage[]): ConversationMessage[] {
  const messages: ConversationMessage[] = [];
  for (const [index, message] of recorded.entries()) {
    if (message.role === "user") messages.push(message);
    if (message.role !== "assistant") continue;
    const results = resultsOf(message, recorded, index);
    const toolCalls = answeredCalls(message, results);
    if (toolCalls.length === 0 && message.text.trim() === "") continue;
    messages.push(withCalls(message, toolCalls), ...results.values());
  }
  return messages;
}

/**
 * The same messages, each of them, for somebody who saves what is in them: where a tool call was never answered, it
 * stands in the text, so that what was in it is not lost, and a result without a call is a text of the assistant.
 */
export function handedOver(recorded: readonly ConversationMessage[]): ConversationMessage[] {
  const answers = new Set<ConversationMessage>();
  const messages: ConversationMessage[] = [];
  for (const [index, message] of recorded.entries()) {
    if (message.role === "user") messages.push(message);
    else if (message.role === "tool") {
      const { id, at, text, toolName } = message;
      if (!answers.has(message)) messages.push({ id, at, role: "assistant", text: `[result of ${toolName}] ${text}` });
    } else {
      const results = resultsOf(message, recorded, index);
      for (const result of results.values()) answers.add(result);
      const answered = answeredCalls(message, results);
      const open = message.toolCalls?.filter((call) => !answered.includes(call)) ?? [];
      const asked = open.map((call) => `[asked for ${call.name}, never answered] ${call.arguments}`);
      const text = [message.text, ...asked].filter((part) => part !== "").join("\n");
      messages.push(withCalls({ ...message, text }, answered), ...results.values());
    }
  }
  return messages;
}

/** The first result of each call, from before the assistant's next message. */
function resultsOf(
  message: AssistantMessage,
  recorded: readonly ConversationMessage[],
  index: number,
): Map<string, ToolMessage> {
  const asked = new Set(message.toolCalls?.map((call) => call.id));
  const results = new Map<string, ToolMessage>();
  if (asked.size === 0) return results;
  for (let next = index + 1; next < recorded.length; next++) {
    const later = recorded[next];
    if (later === undefined || later.role === "assistant") break;
    if (later.role === "tool" && asked.has(later.toolCallId) && !results.has(later.toolCallId))
      results.set(later.toolCallId, later);
  }
  return results;
}

/** Two calls with one id have one result between them: it is that of the first. */
function answeredCalls(message: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): ToolCall[] {
  const seen = new Set<string>();
  return (message.toolCalls ?? []).filter(({ id }) => results.has(id) && !seen.has(id) && seen.add(id));
}

function withCalls(message: AssistantMessage, toolCalls: readonly ToolCall[]): AssistantMessage {
  const { id, at, role, text } = message;
  return { id, at, role, text, ...(toolCalls.length > 0 && { toolCalls }) };
}
