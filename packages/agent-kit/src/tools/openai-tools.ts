import { MemoryError, isAbort, messageOf } from "@memslot/core";
import type { MemoryTool, MemoryToolResult, ToolInputSchema } from "./memory-tool.ts";

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
