import { type MemoryTool, type NewMessage, runToolCall } from "@memslot/agent-kit";
import { MemoryError, withDeadline } from "@memslot/core";
import type { ChatModel } from "./chat-model.ts";

export interface ToolLoopOptions {
  readonly model: ChatModel;
  readonly system: string;
  /** What was said so far; the last one is what is to be answered. */
  readonly messages: readonly NewMessage[];
  readonly tools: readonly MemoryTool[];
  /** How often the model may call tools before it has to answer; 8 if left out. */
  readonly maxRounds?: number | undefined;
  readonly signal: AbortSignal;
  /** Gets the model's words piece by piece, also those that it says before a tool call. Never called after an abort. */
  readonly onText?: ((delta: string) => void) | undefined;
  /** Is waited for before the next step, so that a host can make each message durable. Never called after an abort. */
  readonly onMessage?: ((message: NewMessage) => Promise<void> | void) | undefined;
  /** How long all of it may take; 180 s if left out. */
  readonly timeoutMs?: number | undefined;
}

/** What came of it: `messages` are the new ones, in order, and the last of them says `text`. */
export interface ToolLoopResult {
  readonly text: string;
  readonly messages: NewMessage[];
}

/**
 * Lets a model answer: it may call tools for some rounds, then it has to say something. What a tool refuses goes back to
 * the model. Throws an `AbortError` at once when `signal` is aborted, `UNAVAILABLE` when the time is over or the model
 * says nothing, and what the model throws.
 */
export async function runToolLoop(options: ToolLoopOptions): Promise<ToolLoopResult> {
  let saving: Promise<void> | undefined;
  const save = (message: NewMessage): Promise<void> => (saving = (async () => options.onMessage?.(message))());
  const limits = {
    what: options.model.name,
    deadlineMs: options.timeoutMs ?? 180_000,
    signals: [options.signal],
    action: "ask again, or something smaller",
  };
  try {
    return await withDeadline(limits, (signal) => converse(options, save, signal));
  } finally {
    // A message that is being written when the call is aborted is there or not, and nothing in between.
    await saving?.catch(() => undefined);
  }
}

async function converse(
  options: ToolLoopOptions,
  save: (message: NewMessage) => Promise<void>,
  signal: AbortSignal,
): Promise<ToolLoopResult> {
  const { model, system, tools, maxRounds = 8 } = options;
  const messages: NewMessage[] = [];
  const add = async (message: NewMessage): Promise<void> => {
    signal.throwIfAborted();
    messages.push(message);
    await save(message);
    signal.throwIfAborted();
  };
  for (let round = 0; ; round += 1) {
    const mayCallTools = round < maxRounds && tools.length > 0;
    const reply = await model.complete({
      system,
      messages: wholeMessages([...options.messages, ...messages]),
      tools,
      mayCallTools,
      signal,
      onText: options.onText && ((delta) => void (signal.aborted || options.onText?.(delta))),
    });
    const { toolCalls } = reply;
    if (toolCalls.length === 0 || round >= maxRounds) {
      const text = reply.text.trim();
      if (text === "") throw noAnswer(model, toolCalls.length > 0, maxRounds);
      await add({ role: "assistant", text });
      return { text, messages };
    }
    await add({ role: "assistant", text: reply.text, toolCalls });
    for (const call of toolCalls) {
      const result = await runToolCall(tools, call, { signal });
      await add({ role: "tool", toolCallId: call.id, toolName: call.name, text: JSON.stringify(result) });
    }
  }
}

function noAnswer(model: ChatModel, calledTools: boolean, maxRounds: number): MemoryError {
  const problem = calledTools
    ? `called tools for ever: no answer after ${maxRounds} rounds of tool calls`
    : "gave an empty answer";
  return new MemoryError("UNAVAILABLE", `${model.name} ${problem}; ask again, or choose another model`);
}

/**
 * The messages as a model takes them: an interrupted turn may have left a tool call without its answer, and a compaction
 * an answer without its call, which endpoints refuse. The first is answered with what happened, the second left out.
 */
function wholeMessages(messages: readonly NewMessage[]): NewMessage[] {
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
