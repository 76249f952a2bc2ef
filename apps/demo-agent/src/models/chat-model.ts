import type { MemoryTool, NewMessage, ToolCall } from "@memslot/agent-kit";

/** A language model, wherever it runs. One call is one request; who runs the tools is not its concern. */
export interface ChatModel {
  /** What people know it by, such as `gpt-4o-mini`. */
  readonly name: string;
  /** Tokens of system text, messages and answer together. */
  readonly contextWindowTokens: number;
  /**
   * One answer. Throws an `AbortError` when `signal` was aborted, else a `MemoryError` of one line that names the model's
   * place and the next step: `CONFIG` where the key or the model is refused, `INVALID_ARGUMENT` where the conversation
   * does not fit into the model, `UNAVAILABLE` for all else.
   */
  complete(request: ModelRequest): Promise<ModelReply>;
  /** Frees what the model holds; a call after it opens it again. */
  close(): Promise<void>;
}

export interface ModelRequest {
  readonly system: string;
  /** Each tool call in them has its answer, and each answer its call. */
  readonly messages: readonly NewMessage[];
  readonly tools: readonly MemoryTool[];
  /** False where an answer in words is wanted now. The tools are shown all the same: earlier calls refer to them. */
  readonly mayCallTools: boolean;
  readonly signal: AbortSignal;
  /** Gets the answer's text piece by piece. Once a piece was shown, a request that fails is not made again. */
  readonly onText?: ((delta: string) => void) | undefined;
}

export interface ModelReply {
  /** All of the text, also what `onText` was given. */
  readonly text: string;
  /** Each with an id that no other call has. */
  readonly toolCalls: readonly ToolCall[];
  /** What the request weighed, where the model says it. */
  readonly inputTokens?: number | undefined;
}
