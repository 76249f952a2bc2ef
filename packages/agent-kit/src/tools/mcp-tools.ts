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

type Facts = Pick<McpTool, "title" | "annotations"> & { answer?: Readonly<Record<string, object>> };

const reading: McpToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

const [words, lineNumber, share] = [{ type: "string" }, { type: "integer", minimum: 1 }, { type: "number" }];
const result = {
  type: "object",
  properties: {
    path: { ...words, description: "The file, relative to the workspace: what memory_get takes." },
    startLine: lineNumber,
    endLine: lineNumber,
    snippet: { ...words, description: "The passage, framed as recalled text." },
    score: { ...share, description: "0 to 1, higher is better." },
    vectorScore: { ...share, description: "How near in meaning, where it was found so." },
    textScore: { ...share, description: "How well the words match, where it was found so." },
    source: { ...words, description: "The kind of memory: memory, sessions, journal, or a plugin's own." },
    corpus: { ...words, description: "The same as source." },
    citation: { ...words, description: "path#Lfrom-Lto, where citations are shown." },
  },
  required: ["path", "startLine", "endLine", "snippet", "score", "source", "corpus"],
};

const knownTools: Readonly<Record<string, Facts>> = {
  memory_search: {
    title: "Search memory",
    annotations: reading,
    answer: { results: { type: "array", items: result } },
  },
  memory_get: {
    title: "Read a memory file",
    annotations: reading,
    answer: { path: { type: "string" }, text: { type: "string" }, status: { type: "string" } },
  },
  memory_append: {
    title: "Write to memory",
    // Lines are added and never changed, and the same note is not written twice.
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    answer: { status: { type: "string" } },
  },
};

export function toMcpTools(tools: readonly MemoryTool[]): McpTool[] {
  return tools.map(({ name, description, inputSchema }) => {
    const { title, annotations, answer } = Object.hasOwn(knownTools, name) ? (knownTools[name] ?? {}) : {};
    return {
      name,
      ...(title === undefined ? {} : { title }),
      description,
      inputSchema: copyOf(inputSchema),
      ...(answer === undefined
        ? {}
        : { outputSchema: { type: "object", properties: structuredClone(answer), required: Object.keys(answer) } }),
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
