import { MemoryError, isAbort, messageOf } from "@memslot/core";
import facts from "./tools.json" with { type: "json" };
import type { MemoryTool, MemoryToolResult, ToolInputSchema } from "./tool-types.ts";

/** A tool as MCP lists it. Its schemas are copies. */
export interface McpTool {
  name: string;
  /** For the client's list of tools. Absent for a tool that is not of memory. */
  title?: string;
  description: string;
  inputSchema: { type: "object"; [key: string]: unknown };
  /** Of every answer, also of errors. */
  outputSchema?: { type: "object"; [key: string]: unknown };
  annotations?: McpToolAnnotations;
}

export interface McpToolAnnotations {
  readOnlyHint: boolean;
  destructiveHint?: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** An answer for MCP: the object, and the same object as JSON text for older clients. */
export interface McpToolResult {
  content: { type: "text"; text: string }[];
  structuredContent: Record<string, unknown>;
  /** Set if the tool failed. */
  isError?: true;
}

type Facts = Pick<McpTool, "title" | "annotations"> & {
  answer: Readonly<Record<string, object>>;
  required: readonly string[];
};

const knownTools: Readonly<Record<string, Facts>> = facts.tools;

export function toMcpTools(tools: readonly MemoryTool<object>[]): McpTool[] {
  return tools.map(({ name, description, inputSchema }) => {
    const known = Object.hasOwn(knownTools, name) ? knownTools[name] : undefined;
    const { title, annotations, answer, required = [] }: Partial<Facts> = known ?? {};
    const properties = structuredClone({ ...answer, ...facts.failing });
    return {
      name,
      ...(title !== undefined && { title }),
      description,
      inputSchema: structuredClone(inputSchema),
      ...(answer && { outputSchema: { type: "object", properties, required: [...required] } }),
      ...(annotations && { annotations: { ...annotations } }),
    };
  });
}

/** An answer for `tools/call`. */
export function toMcpResult(answer: object): McpToolResult {
  const text = JSON.stringify(answer);
  // From the text, so that both lack fields without a value.
  const structuredContent = JSON.parse(text) as Record<string, unknown>;
  const failed = structuredContent["status"] === "error" || structuredContent["unavailable"] === true;
  return { content: [{ type: "text", text }], structuredContent, ...(failed && { isError: true }) };
}

/** A tool for the chat-completions API. */
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
 * Runs a call of a model: `arguments` is JSON text. Returns an object with `error` for an unknown name, invalid JSON and a
 * tool that throws. Throws only an abort.
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
