// npm install memslot @memslot/agent-kit ai @ai-sdk/anthropic && ANTHROPIC_API_KEY=… node vercel-memory-tool.ts ~/notes "I moved to Leiden."
// ANTHROPIC_BASE_URL and MODEL name another server that speaks the same protocol.
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, isStepCount } from "ai";
import { createMemoryCommands, editOptions } from "@memslot/agent-kit";
import { loadConfig, openMemory } from "memslot";

const [workspace = "notes", question = "What do you know about me?"] = process.argv.slice(2);

const config = await loadConfig({ workspace });
const edit = editOptions(config, "main");
if (edit === false) throw new Error('memory.write is "append": this tool changes notes');
const memory = await openMemory({ config, agentId: "main" });
const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());

const baseURL = process.env["ANTHROPIC_BASE_URL"];
const anthropic = createAnthropic(baseURL === undefined ? {} : { baseURL: `${baseURL}/v1` });
try {
  const commands = createMemoryCommands({ memory, edit });
  const { text } = await generateText({
    model: anthropic(process.env["MODEL"] ?? "claude-sonnet-4-5"),
    prompt: question,
    tools: { memory: anthropic.tools.memory_20250818({ execute: (command) => commands.run(command) }) },
    stopWhen: isStepCount(16),
    abortSignal: interrupt.signal,
  });
  console.log(text);
} finally {
  await memory.close();
}
