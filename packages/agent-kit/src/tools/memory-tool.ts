/** One tool of an agent, in no framework's terms. */
export interface MemoryTool {
  readonly name: string;
  /** What a model reads to decide when to call it. */
  readonly description: string;
  /** A JSON Schema of type `object` that allows no further properties. */
  readonly inputSchema: ToolInputSchema;
  /**
   * Takes what the model wrote, unchecked. Answers with an object that can be given to the model as JSON, also for bad
   * input and failures: it throws for one thing only, an `AbortError` when `signal` was aborted.
   */
  execute(input: unknown, options?: { signal?: AbortSignal | undefined }): Promise<object>;
  /** Is told of what a model asked for and nothing could run: a tool of another name, or arguments that are no JSON. */
  onBadCall?(call: { readonly name: string; readonly error: string }): void;
}

export interface ToolInputSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}
