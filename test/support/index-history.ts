// Indexes what Claude Code keeps below a home, and prints how far it said it was, what it found and its peak of memory.
import { openMemory, parseConfig } from "@memslot/core";
import memoryCore from "@memslot/memory-core";

const [home = "", stateDir = "", from = "", word = ""] = process.argv.slice(2);
const config = parseConfig(
  {
    agents: {
      defaults: { workspace: `${home}/notes`, memorySearch: { provider: "none", sources: ["memory", "claude-code"] } },
    },
  },
  { stateDir, env: { HOME: home } },
);
const memory = await openMemory({ config, agentId: "main", projectDir: from, plugins: [memoryCore], notify: () => {} });
const started = performance.now();
let steps = 0;
let total = 0;
const report = await memory.sync({
  reason: "cli",
  progress: (update) => {
    steps++;
    ({ total } = update);
  },
});
const seconds = (performance.now() - started) / 1000;
const found = (await memory.search(word)).map((result) => result.snippet);
await memory.close();
const peakMB = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(
  JSON.stringify({ added: report?.added, failed: report?.failed, steps, total, found, peakMB, seconds }),
);
