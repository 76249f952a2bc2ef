// npm install memslot ai @mastra/core @langchain/core @openai/agents openai zod && node tools-for-sdks.ts ~/notes "Which port?"
// Each function makes a tool of an SDK from a tool of memslot. The schema is for the model: a tool of memslot takes what the
// model wrote, and answers a wrong call with the field that is to be corrected.
import { tool as langChainTool } from "@langchain/core/tools";
import { createTool } from "@mastra/core/tools";
import { RunContext, tool as agentsTool } from "@openai/agents";
import { dynamicTool, jsonSchema } from "ai";
import { type MemoryTool, createMemoryTools, loadConfig, openMemory, runToolCall } from "memslot";
import type { FunctionTool } from "openai/resources/responses/responses";

/** For `generateText({ tools: { memory_search: forVercel(tool) } })` of `ai`. */
const forVercel = ({ description, inputSchema, execute }: MemoryTool) =>
  dynamicTool({
    description,
    inputSchema: jsonSchema(inputSchema),
    execute: (input, { abortSignal }) => execute(input, { signal: abortSignal }),
  });

/** For `new Agent({ tools: { memory_search: forMastra(tool) } })` of `@mastra/core`. */
const forMastra = ({ name, description, inputSchema, execute }: MemoryTool) =>
  createTool({
    id: name,
    description,
    inputSchema,
    execute: (input, { abortSignal }) => execute(input, { signal: abortSignal }),
  });

/** For `createAgent({ tools: [forLangChain(tool)] })` of `langchain`. */
const forLangChain = ({ name, description, inputSchema, execute }: MemoryTool) =>
  langChainTool((input, { signal }: { signal?: AbortSignal }) => execute(input, { signal }), {
    name,
    description,
    schema: inputSchema,
  });

/** For `new Agent({ tools: [forAgents(tool)] })` of `@openai/agents`. Not strict: OpenAI's strict mode has no optional arguments. */
const forAgents = ({ name, description, inputSchema, execute }: MemoryTool) =>
  agentsTool({
    name,
    description,
    parameters: { ...inputSchema, additionalProperties: true as const },
    strict: false,
    execute: (input, _context, details) => execute(input, { signal: details?.signal }),
  });

/** For `client.responses.create({ tools: [forResponses(tool)] })` of `openai`; `runToolCall` runs what the model asks for. */
const forResponses = ({ name, description, inputSchema }: MemoryTool): FunctionTool => ({
  type: "function",
  name,
  description,
  parameters: inputSchema,
  strict: false,
});

const [workspace = "notes", query = "What was decided last?"] = process.argv.slice(2);
const config = await loadConfig({ workspace });
const memory = await openMemory({ config, agentId: "main" });
try {
  const tools = createMemoryTools({ memory, citations: config.citations });
  for (const tool of tools.filter(({ name }) => name === "memory_search")) {
    const call = JSON.stringify({ query });
    const { name } = forResponses(tool);
    console.log(await forVercel(tool).execute?.({ query }, { toolCallId: "1", messages: [], context: {} }));
    console.log(await forMastra(tool).execute?.({ query }, {} as never));
    console.log(await forLangChain(tool).invoke({ query }));
    console.log(await forAgents(tool).invoke(new RunContext(), call));
    console.log(await runToolCall(tools, { name, arguments: call }));
  }
} finally {
  await memory.close();
}
