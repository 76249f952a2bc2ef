// npm install --global memslot && npm install @modelcontextprotocol/client && node mcp-client.ts ~/notes "Which port?"
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [workspace = "notes", question = "What was decided last?"] = process.argv.slice(2);

/** The part of the answer of `memory_search` that this program shows. */
interface Answer {
  results: { path: string; startLine: number; endLine: number; snippet: string }[];
  state?: string;
  reason?: string;
}

// The server gets HOME and PATH of this process and little more: keys are to be named in `env`.
const transport = new StdioClientTransport({
  command: "memslot",
  args: ["mcp", "--workspace", workspace, "--read-only"],
});
const client = new Client({ name: "notes-reader", version: "1.0.0" });

try {
  await client.connect(transport);
  const { tools } = await client.listTools();
  console.log(`tools: ${tools.map(({ name }) => name).join(", ")}`);

  const answer = await client.callTool(
    { name: "memory_search", arguments: { query: question, maxResults: 3 } },
    // The first search of a large folder makes the index, and says meanwhile how far it is.
    {
      timeout: 60_000,
      resetTimeoutOnProgress: true,
      onprogress: ({ progress, message }) => console.error(message ?? progress),
    },
  );
  const { results, state, reason } = answer.structuredContent as unknown as Answer;
  if (results.length === 0) console.log(`nothing found (${state}): ${reason}`);
  for (const { path, startLine, endLine, snippet } of results)
    console.log(`${path}#L${startLine}-L${endLine}\n${snippet}\n`);

  const [best] = results;
  if (best !== undefined) {
    const from = Math.max(1, best.startLine - 2);
    const page = await client.callTool({ name: "memory_get", arguments: { path: best.path, from, lines: 10 } });
    const { text } = page.structuredContent as { text: string };
    console.log(text);
  }
} finally {
  await client.close();
}
