// npm install memslot && node memory-in-ten-lines.ts ~/notes "Which port does the staging database listen on?"
import { formatCitation, loadConfig, openMemory } from "memslot";

const [workspace = "notes", question = "What was decided last?"] = process.argv.slice(2);
const config = await loadConfig({ workspace });
const memory = await openMemory({ config, agentId: "main" });
const onDebug = ({ reason }: { reason?: string | undefined }): void => void (reason && console.error(reason));
for (const result of await memory.search(question, { maxResults: 3, onDebug }))
  console.log(`${formatCitation(result)} (${result.score.toFixed(2)})\n${result.snippet}\n`);
await memory.close();
