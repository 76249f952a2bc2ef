import { type MemoryTool, type NewMessage, runToolCall } from "@memslot/agent-kit";
import { MemoryError, withDeadline } from "@memslot/core";
import type { ChatModel } from "./chat-model.ts";

export interface ToolLoopOptions {
  readonly model: ChatModel;
  readonly system: string;
  /** Each tool call has its result, as in `Session.context`. */
  readonly messages: readonly NewMessage[];
  readonly tools: readonly MemoryTool[];
  /** Rounds of tool calls before the model has to answer; 8 if left out. */
  readonly maxRounds?: number | undefined;
  readonly signal: AbortSignal;
  /** Receives streamed text, also before a tool call. Never called after an abort. */
  readonly onText?: ((delta: string) => void) | undefined;
  /** Awaited before the next step, so that a host can store each message. Never called after an abort. */
  readonly onMessage?: ((message: NewMessage) => Promise<void> | void) | undefined;
  /** Total time limit; 180 s if left out. */
  readonly timeoutMs?: number | undefined;
}

/** `messages`: the new ones, in order; the last has `text`. */
export interface ToolLoopResult {
  readonly text: string;
  readonly messages: NewMessage[];
}

/**
 * Lets a model answer, with some rounds of tool calls. Tool errors go back to the model. Throws an `AbortError` at
 * once, `UNAVAILABLE` after the time limit or without an answer, and errors of the model.
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
    // A message that is being stored when the call is aborted is stored whole or not at all.
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
      messages: [...options.messages, ...messages],
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
