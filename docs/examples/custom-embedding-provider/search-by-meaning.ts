// npm install memslot @memslot/core && node search-by-meaning.ts ~/notes "What did I pay for the automobile?"
import path from "node:path";
import { formatCitation, loadConfig, openMemory } from "memslot";

const [workspace = "notes", question = "What did I pay for the automobile?"] = process.argv.slice(2);
const config = await loadConfig({ configPath: path.join(import.meta.dirname, "memslot.json5"), workspace });
const memory = await openMemory({ config, agentId: "main" });
try {
  // A search does not wait long for what is new; here everything is to have its vector before.
  await memory.sync();
  const results = await memory.search(question, {
    maxResults: 3,
    onDebug: ({ mode, state, reason }) => console.log(`${mode}, ${state}${reason ? `: ${reason}` : ""}`),
  });
  const { provider, model } = memory.status();
  console.log(`vectors of ${provider}, ${model}`);
  for (const result of results) {
    const { vectorScore = 0, textScore = 0 } = result;
    console.log(`${formatCitation(result)}: by meaning ${vectorScore.toFixed(2)}, by words ${textScore.toFixed(2)}`);
    console.log(`${result.snippet}\n`);
  }
} finally {
  await memory.close();
}
