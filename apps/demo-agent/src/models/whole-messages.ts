import type { NewMessage } from "@memslot/agent-kit";

/**
 * The messages as a model takes them: an interrupted turn may have left a tool call without its answer, and a compaction
 * an answer without its call, which endpoints refuse. The first is answered with what happened, the second left out.
 */
export function wholeMessages(messages: readonly NewMessage[]): NewMessage[] {
  const whole: NewMessage[] = [];
  let open = new Map<string, string>();
  const closeOpen = (): void => {
    for (const [toolCallId, toolName] of open)
      whole.push({
        role: "tool",
        toolCallId,
        toolName,
        text: '{"status":"error","error":"interrupted before it ended"}',
      });
    open = new Map();
  };
  for (const message of messages) {
    if (message.role === "tool") {
      if (open.delete(message.toolCallId)) whole.push(message);
      continue;
    }
    closeOpen();
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    if (message.text.trim() === "" && calls.length === 0) continue;
    whole.push(message);
    open = new Map(calls.map(({ id, name }) => [id, name]));
  }
  closeOpen();
  return whole;
}
