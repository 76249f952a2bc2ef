import type { MemoryTool, NewMessage, ToolCall } from "@memslot/agent-kit";

/** A language model. One call is one request; it does not run tools. */
export interface ChatModel {
  readonly name: string;
  /** Tokens of system text, messages and answer together. */
  readonly contextWindowTokens: number;
  /**
   * One answer. Throws an `AbortError`, or a one-line `MemoryError`: `CONFIG` (key or model refused),
   * `INVALID_ARGUMENT` (conversation too long), else `UNAVAILABLE`.
   */
  complete(request: ModelRequest): Promise<ModelReply>;
  /** Frees resources; a later call opens the model again. */
  close(): Promise<void>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly NewMessage[];
  readonly tools: readonly MemoryTool[];
  /** False if text is required. The tools are sent all the same: earlier calls refer to them. */
  readonly mayCallTools: boolean;
  readonly signal: AbortSignal;
  /** Receives the text as it is streamed. After the first piece a failed request is not retried. */
  readonly onText?: ((delta: string) => void) | undefined;
}

export interface ModelReply {
  readonly text: string;
  /** Ids are unique. */
  readonly toolCalls: readonly ToolCall[];
  readonly inputTokens?: number | undefined;
}
