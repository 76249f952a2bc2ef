// npm install memslot @memslot/agent-kit @openai/agents zod && OPENAI_API_KEY=… node openai-agents-sdk.ts ~/notes "Which port?"
// It needs openai-agents-session.ts beside it. OPENAI_BASE_URL and MODEL name another server that speaks the same protocol.
import path from "node:path";
import { createMemoryTools, memoryPromptSection, openSessions, startSession } from "@memslot/agent-kit";
import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import { type MemoryTool, loadConfig, openMemory } from "memslot";
import { FileSession } from "./openai-agents-session.ts";

// The session key says who reads along; the same key goes on with the conversation. See docs/agents.md.
const [workspace = "notes", question = "What was decided last?", sessionKey = "agent:main:main"] =
  process.argv.slice(2);
const maxTurns = 8;

setOpenAIAPI("chat_completions");
setTracingDisabled(true); // Else each run is sent to OpenAI, whichever server has the model.

/** The input is not checked here: a tool of memslot takes what the model wrote and says itself what is wrong with it. */
function toAgentTools(tools: readonly MemoryTool[]): ReturnType<typeof tool>[] {
  return tools.map((one) =>
    tool({
      name: one.name,
      description: one.description,
      parameters: { ...one.inputSchema, additionalProperties: true as const },
      strict: false,
      execute: (input: unknown, _context, details) => one.execute(input, { signal: details?.signal }),
    }),
  );
}

const config = await loadConfig({ workspace });
const memory = await openMemory({ config, agentId: "main" });
const sessions = await openSessions({ stateDir: config.stateDir, agentId: "main" });
const { userTimezone: timeZone } = config.agent("main");
const interrupt = new AbortController();
// Not `once`: without another listener the SDK ends the process before anything is closed.
process.on("SIGINT", () => interrupt.abort());
const { signal } = interrupt;

try {
  const session = await FileSession.open(sessions, sessionKey, path.join(config.stateDir, "agents-sdk"));
  const tools = createMemoryTools({ memory, sessionKey, citations: config.citations, append: { timeZone } });
  const availableTools = new Set(tools.map(({ name }) => name));
  const section = memoryPromptSection({ availableTools, citations: config.citations });
  const start = await startSession({ memory, sessionKey, now: new Date(), timeZone });
  const agent = new Agent({
    name: "Assistant",
    model: process.env["MODEL"] ?? "gpt-5-mini",
    instructions: ["You are a helpful assistant.", ...section, start.text].join("\n"),
    tools: toAgentTools(tools),
  });
  // After the last turn the model has to answer with what it has.
  const answerer = agent.clone({ modelSettings: { toolChoice: "none" } });
  const noAnswer = { finalOutput: "(the model gave no answer)" };
  const result = await run(agent, question, {
    session,
    signal,
    maxTurns,
    errorHandlers: {
      async maxTurns({ runData: { history } }) {
        const options = { signal, maxTurns: 1, errorHandlers: { maxTurns: () => noAnswer } };
        const { finalOutput } = await run(answerer, history, options);
        return finalOutput === undefined ? noAnswer : { finalOutput };
      },
    },
  });
  console.log(result.finalOutput);
} finally {
  await sessions.close();
  await memory.close();
}
