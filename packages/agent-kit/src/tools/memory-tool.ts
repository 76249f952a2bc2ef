/** One tool of an agent, in no framework's terms. */
export interface MemoryTool<Result extends object = MemoryToolResult> {
  readonly name: string;
  /** What a model reads to decide when to call it. */
  readonly description: string;
  /** Can be handed to any SDK that takes JSON Schema. Each set of tools has its own copy. */
  readonly inputSchema: ToolInputSchema;
  /**
   * Takes what the model wrote, unchecked. Answers with an object that can be given to the model as JSON, also for bad
   * input and failures: it throws for one thing only, an `AbortError` when `signal` was aborted.
   */
  execute(input: unknown, options?: { signal?: AbortSignal | undefined }): Promise<Result>;
  /** Is told of what a model asked for and nothing could run: a tool of another name, or arguments that are no JSON. */
  onBadCall?(call: { readonly name: string; readonly error: string }): void;
}

/** A JSON Schema of type `object` that allows no further properties. */
export type ToolInputSchema = {
  type: "object";
  properties: Record<string, ToolInputProperty>;
  required: string[];
  additionalProperties: false;
};

/** The JSON Schema of one argument. */
export type ToolInputProperty = {
  type: "string" | "integer" | "number" | "boolean" | "array";
  description?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  items?: { type: "string" | "integer" };
};

/** What a tool answers. `toMcpTools` lists the fields of each tool with what they mean in `outputSchema`. */
export interface MemoryToolResult {
  /** Of `memory_search`. */
  results?: MemoryToolHit[] | undefined;
  more?: number | undefined;
  confidence?: "strong" | "weak" | "none" | undefined;
  /** `ok`, `stale` or `degraded` of a search; what became of a note: `appended`, `duplicate`, `edited`, … */
  state?: string | undefined;
  reason?: string | undefined;
  warning?: string | undefined;
  unavailable?: boolean | undefined;
  disabled?: boolean | undefined;
  /** The file that was read or changed. */
  path?: string | undefined;
  text?: string | undefined;
  from?: number | undefined;
  lines?: number | undefined;
  nextFrom?: number | undefined;
  startLine?: number | undefined;
  endLine?: number | undefined;
  citation?: string | undefined;
  hash?: string | undefined;
  note?: string | undefined;
  /** `error` for what could not be done: `code`, `error` and `action` say why and what to do next. */
  status?: "ok" | "not_found" | "error" | undefined;
  code?: string | undefined;
  /** The argument that has to be corrected. */
  field?: string | undefined;
  error?: string | undefined;
  action?: string | undefined;
  timedOut?: boolean | undefined;
  /** All others, by tool. */
  [field: string]: unknown;
}

/** Lines that a search has found. */
export interface MemoryToolHit {
  path: string;
  startLine: number;
  endLine: number;
  /** The lines, framed as recalled text. */
  snippet: string;
  /** 0 to 1. */
  score: number;
  [field: string]: unknown;
}
