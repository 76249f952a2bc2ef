import { createHash } from "node:crypto";
import { openLanceStore } from "@memslot/memory-lancedb";
import type { LanceOptions } from "@memslot/memory-lancedb";

/** Puts files into a store, five with each call: `put-files.ts OPTIONS PREFIX COUNT STATEDIR`. Prints `open`, waits for a line, and prints `done`. */
const [options = "{}", prefix = "", count = "0", stateDir = ""] = process.argv.slice(2);
const perCall = 5;
const { store } = await openLanceStore({
  lance: JSON.parse(options) as LanceOptions,
  agentId: "main",
  stateDir,
  mayCreate: true,
  signal: AbortSignal.timeout(60_000),
});
process.stdout.write("open\n");
// Both begin in the same moment.
await new Promise((resolve) => process.stdin.once("data", resolve));
for (let first = 0; first < Number(count); first += perCall)
  await store.replaceFiles(Array.from({ length: perCall }, (_, index) => fileOf(`${prefix}${first + index}`)));
await store.close();
process.stdout.write("done\n");
process.stdin.destroy();

function fileOf(word: string): Parameters<typeof store.replaceFiles>[0][number] {
  const hash = createHash("sha256").update(word).digest("hex");
  const chunk = { startLine: 1, endLine: 1, text: word, context: "", terms: `every ${word}`, hash };
  return { path: `memory/${word}.md`, source: "memory", hash, recipe: "1", chunks: [chunk] };
}
