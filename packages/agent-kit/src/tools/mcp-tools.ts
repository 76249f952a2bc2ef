import type { MemoryTool, ToolInputSchema } from "./memory-tool.ts";

/** A tool as MCP lists it, in no SDK's terms. Its schemas are the caller's own copies. */
export interface McpTool {
  name: string;
  /** For people: what a client shows in its list of tools. Absent for a tool that is none of memory's own. */
  title?: string;
  description: string;
  inputSchema: { type: "object"; [key: string]: unknown };
  /** What every answer of the tool keeps to, also one that says what went wrong. */
  outputSchema?: { type: "object"; [key: string]: unknown };
  annotations?: McpToolAnnotations;
}

/** Hints by which a client decides what to ask its user before a call. */
export interface McpToolAnnotations {
  readOnlyHint: boolean;
  destructiveHint?: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** An answer as MCP carries it: the object, and for older clients the same object as JSON text. */
export interface McpToolResult {
  content: { type: "text"; text: string }[];
  structuredContent: Record<string, unknown>;
  /** Only where the tool could not do what it was asked: the model is to correct its call or to tell the user. */
  isError?: true;
}

type Facts = Pick<McpTool, "title" | "annotations"> & {
  /** Every field of every kind of answer. */
  answer: Readonly<Record<string, object>>;
  required: readonly string[];
};

const reading: McpToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

const [words, flag, whole, share] = [
  { type: "string" },
  { type: "boolean" },
  { type: "integer" },
  { type: "number" },
] as const;
const lineNumber = { type: "integer", minimum: 1 };

/** Fields of an answer that says what went wrong. */
const failing = {
  status: { ...words, description: "ok, not_found, or error." },
  code: { ...words, description: "What kind of error it is: INVALID_ARGUMENT, PATH_NOT_ALLOWED, UNAVAILABLE, …" },
  field: { ...words, description: "The argument that is to be corrected." },
  error: words,
  action: { ...words, description: "What to do next." },
  timedOut: flag,
  timeoutMs: share,
};

const result = {
  type: "object",
  properties: {
    path: { ...words, description: "The file, relative to the workspace: what memory_get takes." },
    startLine: { ...lineNumber, description: "The first of the lines that are shown." },
    endLine: lineNumber,
    lines: { ...words, description: "Which of these lines are shown, such as 3-5,9. Absent: all of them." },
    snippet: {
      ...words,
      description:
        "The lines, framed as recalled text, first in brackets the heading above them; … stands for what was left out.",
    },
    score: { ...share, description: "0 to 1, higher is better; of this answer only." },
    source: {
      ...words,
      description: "The kind of memory, where it is not the notes: sessions, journal, a plugin's own.",
    },
  },
  required: ["path", "startLine", "endLine", "snippet", "score"],
};

const fileHash = { ...words, description: "Names this state of the file: what memory_edit and memory_forget take." };

/** Of a tool that changes what is there. */
const changing = {
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  required: ["status"],
  answer: {
    state: { ...words, description: "edited, forgotten, or unchanged." },
    path: words,
    startLine: lineNumber,
    endLine: lineNumber,
    citation: { ...words, description: "path#Lfrom-Lto of what stands there now." },
    hash: fileHash,
    change: { ...words, description: "What the user undoes it by: memslot undo." },
    trash: { ...words, description: "Where forgotten lines lie." },
    note: words,
    ...failing,
  },
} as const satisfies Facts;

const knownTools: Readonly<Record<string, Facts>> = {
  memory_search: {
    title: "Search memory",
    annotations: reading,
    required: ["results"],
    answer: {
      results: { type: "array", items: result },
      more: { ...whole, description: "Results that had no room; a note of which none is shown counts once." },
      atLeast: { type: "boolean", description: "There may be more than `more` says: not all were looked at." },
      cite: { ...words, description: "How a line of a note is cited." },
      state: { ...words, description: "ok, stale, degraded: whether the answer can be taken at face value." },
      stale: flag,
      confidence: {
        ...words,
        description: "strong, weak or none: whether the results answer the question.",
      },
      filters: { type: "object", description: "How the question was read, where it is more than words." },
      notes: { ...words, description: "Words that were read otherwise, as they stand nowhere." },
      fallback: {
        type: "object",
        properties: { from: words, to: words },
        description: "Which memory answered in place of which.",
      },
      reason: { ...words, description: "Why nothing was found." },
      history: { ...words, description: "That struck lines are among the results, and how they are read." },
      warning: { ...words, description: "Why it is not to be taken at face value." },
      note: words,
      disabled: flag,
      unavailable: flag,
      retryAfterMs: share,
      debug: { type: "object", description: "How it was searched, where that was asked for." },
      ...failing,
    },
  },
  memory_get: {
    title: "Read a memory file",
    annotations: reading,
    required: ["path", "text", "status"],
    answer: {
      path: words,
      text: { ...words, description: "The lines, framed as recalled text." },
      from: { ...lineNumber, description: "The first line." },
      lines: { ...whole, description: "How many there are." },
      nextFrom: { ...lineNumber, description: "Where more begins." },
      truncated: flag,
      hash: fileHash,
      note: words,
      ...failing,
    },
  },
  memory_append: {
    title: "Write to memory",
    // Lines are added and never changed, and the same note is not written twice.
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    required: ["status"],
    answer: {
      state: { ...words, description: "appended, or duplicate." },
      path: words,
      startLine: lineNumber,
      endLine: lineNumber,
      citation: { ...words, description: "path#Lfrom-Lto" },
      day: { ...words, description: "YYYY-MM-DD" },
      note: words,
      ...failing,
    },
  },
  memory_edit: { title: "Correct memory", ...changing },
  memory_forget: { title: "Forget from memory", ...changing },
};

export function toMcpTools(tools: readonly MemoryTool[]): McpTool[] {
  return tools.map(({ name, description, inputSchema }) => {
    const { title, annotations, answer, required }: Partial<Facts> =
      (Object.hasOwn(knownTools, name) && knownTools[name]) || {};
    return {
      name,
      ...(title === undefined ? {} : { title }),
      description,
      inputSchema: copyOf(inputSchema),
      ...(answer === undefined
        ? {}
        : { outputSchema: { type: "object", properties: structuredClone(answer), required: [...(required ?? [])] } }),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
    };
  });
}

/** What a tool answered, for `tools/call`. Both forms are one: the text is the JSON of the object. */
export function toMcpResult(answer: object): McpToolResult {
  const text = JSON.stringify(answer);
  // Through the text, so that a field without a value is in neither.
  const structuredContent = JSON.parse(text) as Record<string, unknown>;
  return { content: [{ type: "text", text }], structuredContent, ...(failed(structuredContent) && { isError: true }) };
}

function failed({ status, unavailable }: Record<string, unknown>): boolean {
  return status === "error" || unavailable === true;
}

function copyOf(schema: ToolInputSchema): McpTool["inputSchema"] {
  return structuredClone({ ...schema });
}
