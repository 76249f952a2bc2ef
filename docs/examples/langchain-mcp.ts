// npm install --global memslot && npm install langchain @langchain/core @langchain/langgraph @langchain/openai @langchain/mcp-adapters && OPENAI_API_KEY=… node langchain-mcp.ts ~/notes "Which port?"
// OPENAI_BASE_URL and MODEL name another server that speaks the same protocol.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware } from "langchain";

const [workspace = "notes", question = "What was decided last?"] = process.argv.slice(2);
const maxCalls = 8;

const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());

// The server gets HOME and PATH of this process and little more: keys are to be named in `env`.
const client = new MultiServerMCPClient({
  mcpServers: { memslot: { transport: "stdio", command: "memslot", args: ["mcp", "--workspace", workspace] } },
  // The first search of a large folder makes the index.
  defaultToolTimeout: 60_000,
});

/** In its last call the model has to answer with what it has. */
const lastCallAnswers = createMiddleware({
  name: "lastCallAnswers",
  wrapModelCall: (request, next) => {
    const calls = request.messages.filter((message) => message.type === "ai").length;
    return next(calls < maxCalls - 1 ? request : { ...request, toolChoice: "none" });
  },
});

try {
  const tools = await client.getTools();
  // What the tools are for, and when to use them, the server says itself.
  const instructions = (await client.getClient("memslot"))?.getInstructions() ?? "";
  const agent = createAgent({
    model: new ChatOpenAI({
      model: process.env["MODEL"] ?? "gpt-5-mini",
      configuration: { baseURL: process.env["OPENAI_BASE_URL"] },
      timeout: 60_000,
      maxRetries: 2,
    }),
    tools,
    systemPrompt: `You are a helpful assistant.\n${instructions}`,
    middleware: [lastCallAnswers],
  });
  const { messages } = await agent.invoke(
    { messages: [{ role: "user", content: question }] },
    // A call of the model and one of its tools are two steps.
    { recursionLimit: 2 * maxCalls + 1, signal: interrupt.signal },
  );
  console.log(messages.at(-1)?.text);
} finally {
  await client.close();
}
