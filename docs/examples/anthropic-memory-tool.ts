// npm install memslot @memslot/agent-kit @anthropic-ai/sdk && ANTHROPIC_API_KEY=… node anthropic-memory-tool.ts ~/notes "I moved to Leiden."
// ANTHROPIC_BASE_URL and MODEL name another server that speaks the same protocol.
import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { createMemoryCommands, editOptions } from "@memslot/agent-kit";
import { loadConfig, openMemory } from "memslot";

const [workspace = "notes", question = "What do you know about me?"] = process.argv.slice(2);

const config = await loadConfig({ workspace });
const edit = editOptions(config, "main");
if (edit === false) throw new Error('memory.write is "append": this tool changes notes');
const memory = await openMemory({ config, agentId: "main" });
const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());

try {
  const commands = createMemoryCommands({ memory, edit });
  const client = new Anthropic();
  const answer = await client.beta.messages.toolRunner(
    {
      model: process.env["MODEL"] ?? "claude-sonnet-4-5",
      max_tokens: 2048,
      max_iterations: 16,
      messages: [{ role: "user", content: question }],
      tools: [betaMemoryTool(commands)],
    },
    { signal: interrupt.signal },
  );
  for (const block of answer.content) if (block.type === "text") console.log(block.text);
} finally {
  await memory.close();
}
