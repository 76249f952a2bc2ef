// npm install memslot ai @ai-sdk/openai-compatible && OPENAI_API_KEY=… node vercel-ai-sdk.ts ~/notes "Which port?"
// OPENAI_BASE_URL and MODEL name another server that speaks the same protocol.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type ToolSet, dynamicTool, generateText, isStepCount, jsonSchema } from "ai";
import { type MemoryTool, createMemoryTools, loadConfig, memoryPromptSection, openMemory, startSession } from "memslot";

const [workspace = "notes", question = "What was decided last?"] = process.argv.slice(2);
const maxSteps = 8;

/** The input is not checked here: a tool of memslot takes what the model wrote and says itself what is wrong with it. */
function toAiTools(tools: readonly MemoryTool[]): ToolSet {
  const entries = tools.map((tool) => [
    tool.name,
    dynamicTool({
      description: tool.description,
      inputSchema: jsonSchema(tool.inputSchema),
      execute: (input, { abortSignal }) => tool.execute(input, { signal: abortSignal }),
    }),
  ]);
  return Object.fromEntries(entries);
}

const config = await loadConfig({ workspace });
const memory = await openMemory({ config, agentId: "main" });
const { userTimezone: timeZone } = config.agent("main");
const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());

const tools = createMemoryTools({ memory, citations: config.citations, append: { timeZone } });
const section = memoryPromptSection({
  availableTools: new Set(tools.map(({ name }) => name)),
  citations: config.citations,
});
const start = await startSession({ memory, now: new Date(), timeZone });

const provider = createOpenAICompatible({
  name: "openai",
  baseURL: process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1",
  ...(process.env["OPENAI_API_KEY"] && { apiKey: process.env["OPENAI_API_KEY"] }),
});

try {
  const { text } = await generateText({
    model: provider(process.env["MODEL"] ?? "gpt-5-mini"),
    instructions: ["You are a helpful assistant.", ...section, start.text].join("\n"),
    prompt: question,
    tools: toAiTools(tools),
    stopWhen: isStepCount(maxSteps),
    // In its last step the model has to answer with what it has.
    prepareStep: ({ stepNumber }) => (stepNumber === maxSteps - 1 ? { toolChoice: "none" } : {}),
    abortSignal: interrupt.signal,
  });
  console.log(text);
} finally {
  await memory.close();
}
