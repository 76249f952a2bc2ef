import path from "node:path";
import { defineMemoryPlugin } from "@memslot/core";
import { openMemory } from "memslot";

/**
 * What a spare costs, in a process of its own: `node fallback-task.ts FOLDER`. The primary takes every call and answers
 * none; the spare is memory-core, whose index is there. Prints milliseconds as JSON: `over`, the time of the first search
 * beyond the primary's deadline; `next`, that of a search while the primary is left alone; `plain`, without a primary.
 */
const [folder = ""] = process.argv.slice(2);
const workspaceDir = path.join(folder, "workspace");
const deadlineMs = 4000;
const query = "access code of project zephyr1234";

const silent = defineMemoryPlugin({
  id: "silent",
  open: () =>
    Promise.resolve({
      capabilities: { keyword: true, vector: false, ownsIndex: false },
      search: () => new Promise<never>(() => {}),
      readFile: () => new Promise<never>(() => {}),
      status: () => ({ backend: "silent", provider: "none" }),
      probeEmbeddingAvailability: () => Promise.resolve({ ok: false }),
      probeVectorAvailability: () => Promise.resolve(false),
    }),
});

const agents = { defaults: { memorySearch: { provider: "none", sync: { watch: false } } } };

async function searchTimes(
  plugins: Readonly<Record<string, unknown>>,
  count: number,
  sync: boolean,
): Promise<number[]> {
  const memory = await openMemory({
    config: { agents, plugins },
    agentId: "main",
    workspaceDir,
    plugins: [silent],
    notify: () => {},
    // A primary has half of it.
    deadlines: { searchMs: deadlineMs * 2 },
  });
  if (sync) await memory.sync();
  const times: number[] = [];
  for (let round = 0; round < count; round++) {
    const started = performance.now();
    const [best] = await memory.search(query);
    times.push(performance.now() - started);
    if (best === undefined) throw new Error("nothing was found");
  }
  await memory.close();
  return times;
}

const plain = await searchTimes({}, 3, true);
const spared = await searchTimes(
  { slots: { memory: "silent" }, entries: { silent: { fallback: "builtin" } } },
  3,
  false,
);
console.log(
  JSON.stringify({
    over: (spared[0] ?? Number.NaN) - deadlineMs,
    next: Math.min(...spared.slice(1)),
    plain: Math.min(...plain),
  }),
);
