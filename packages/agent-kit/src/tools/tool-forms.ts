import { MemoryError, isAbort, messageOf } from "@memslot/core";
import facts from "./tools.json" with { type: "json" };
import type { MemoryTool, MemoryToolResult, ToolInputSchema } from "./memory-tool.ts";

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

const knownTools: Readonly<Record<string, Facts>> = facts.tools;

export function toMcpTools(tools: readonly MemoryTool<object>[]): McpTool[] {
  return tools.map(({ name, description, inputSchema }) => {
    const { title, annotations, answer, required }: Partial<Facts> =
      (Object.hasOwn(knownTools, name) && knownTools[name]) || {};
    return {
      name,
      ...(title === undefined ? {} : { title }),
      description,
      inputSchema: structuredClone(inputSchema),
      ...(answer === undefined ? {} : { outputSchema: outputSchemaOf(answer, required) }),
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

function outputSchemaOf(answer: object, required: readonly string[] = []): McpTool["outputSchema"] & object {
  return { type: "object", properties: structuredClone({ ...answer, ...facts.failing }), required: [...required] };
}

/** A tool as the chat-completions interface wants it. */
export interface OpenAiTool {
  type: "function";
  function: { name: string; description: string; parameters: ToolInputSchema };
}

export function toOpenAiTools(tools: readonly MemoryTool<object>[]): OpenAiTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: structuredClone(inputSchema) },
  }));
}

/**
 * Runs what a model asked for: `arguments` is the JSON text that it wrote. An unknown name, JSON that cannot be read and
 * a tool that throws all come back as an object with `error`, for the model to see. Only an abort is thrown.
 */
export async function runToolCall<Result extends object = MemoryToolResult>(
  tools: readonly MemoryTool<Result>[],
  call: { name: string; arguments: string },
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Result | MemoryToolResult> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    const known = tools.map(({ name }) => name).join(", ") || "none";
    const error = `there is no tool "${call.name}"; the tools are: ${known}`;
    for (const other of tools) other.onBadCall?.({ name: call.name, error });
    return { status: "error", code: "INVALID_ARGUMENT", error };
  }
  let input: unknown;
  try {
    input = call.arguments.trim() === "" ? {} : JSON.parse(call.arguments);
  } catch (cause) {
    const error = `the arguments of ${call.name} are not valid JSON: ${messageOf(cause)}`;
    tool.onBadCall?.({ name: call.name, error });
    return { status: "error", code: "INVALID_ARGUMENT", field: "arguments", error };
  }
  try {
    return await tool.execute(input, options);
  } catch (error) {
    if (options.signal?.aborted || isAbort(error)) throw error;
    return {
      status: "error",
      code: MemoryError.is(error) ? error.code : "UNAVAILABLE",
      error: messageOf(error),
    };
  }
}
