/** One tool of an agent, independent of frameworks. */
export interface MemoryTool<Result extends object = MemoryToolResult> {
  readonly name: string;
  readonly description: string;
  /** For any SDK that takes JSON Schema. Each set of tools has its own copy. */
  readonly inputSchema: ToolInputSchema;
  /** Runs the tool with unchecked arguments. Returns an object also for failures; throws only an `AbortError`. */
  execute(input: unknown, options?: { signal?: AbortSignal | undefined }): Promise<Result>;
  /** Called if a call could not run: an unknown tool, or arguments that are not JSON. */
  onBadCall?(call: { readonly name: string; readonly error: string }): void;
}

export type ToolInputSchema = {
  type: "object";
  properties: Record<string, ToolInputProperty>;
  required: string[];
  additionalProperties: false;
};

export type ToolInputProperty = {
  type: "string" | "integer" | "number" | "boolean" | "array";
  description?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  items?: { type: "string" | "integer" };
};

export interface MemoryToolResult {
  results?: MemoryToolHit[] | undefined;
  more?: number | undefined;
  confidence?: "strong" | "weak" | "none" | undefined;
  /** Of a search: `ok`, `stale`, `degraded`; of a note: `appended`, `duplicate`, `edited`, … */
  state?: string | undefined;
  reason?: string | undefined;
  warning?: string | undefined;
  unavailable?: boolean | undefined;
  disabled?: boolean | undefined;
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
  /** With `error`: `code`, `error` and `action` say why and what to do next. */
  status?: "ok" | "not_found" | "error" | undefined;
  code?: string | undefined;
  field?: string | undefined;
  error?: string | undefined;
  action?: string | undefined;
  timedOut?: boolean | undefined;
  [field: string]: unknown;
}

export interface MemoryToolHit {
  path: string;
  startLine: number;
  endLine: number;
  /** The lines, delimited as recalled text. */
  snippet: string;
  score: number;
  [field: string]: unknown;
}
