// npm install memslot @memslot/agent-kit openai && OPENAI_API_KEY=… node openai-tool-loop.ts ~/notes "Which port?"
// OPENAI_BASE_URL and MODEL name another server that speaks the same protocol.
import { createMemoryTools, memoryPromptSection, runToolCall, startSession, toOpenAiTools } from "@memslot/agent-kit";
import { loadConfig, openMemory } from "memslot";
import OpenAI from "openai";

const [workspace = "notes", question = "What was decided last?"] = process.argv.slice(2);
const maxRounds = 8;

const config = await loadConfig({ workspace });
const memory = await openMemory({ config, agentId: "main" });
const { userTimezone: timeZone } = config.agent("main");
const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());
const { signal } = interrupt;

const tools = createMemoryTools({ memory, citations: config.citations, append: { timeZone } });
const section = memoryPromptSection({
  availableTools: new Set(tools.map(({ name }) => name)),
  citations: config.citations,
});
const start = await startSession({ memory, now: new Date(), timeZone });

const client = new OpenAI({ timeout: 60_000, maxRetries: 2 });
const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [
  { role: "system", content: ["You are a helpful assistant.", ...section, start.text].join("\n") },
  { role: "user", content: question },
];

try {
  for (let round = 0; ; round += 1) {
    // After the last round the model has to answer with what it has.
    const last = round === maxRounds;
    const completion = await client.chat.completions.create(
      {
        model: process.env["MODEL"] ?? "gpt-5-mini",
        messages,
        tools: toOpenAiTools(tools),
        tool_choice: last ? "none" : "auto",
      },
      { signal },
    );
    const message = completion.choices[0]?.message;
    const calls = message?.tool_calls?.filter((call) => call.type === "function") ?? [];
    if (message === undefined || calls.length === 0 || last) {
      console.log(message?.content ?? "(the model gave no answer)");
      break;
    }
    messages.push(message);
    for (const call of calls) {
      // Wrong arguments, an unknown tool and a failing backend come back as an object that the model can act on.
      const result = await runToolCall(tools, call.function, { signal });
      messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(result) });
    }
  }
} finally {
  await memory.close();
}
