// A process with a memory in it, told what to do by lines of JSON on its standard input; see `start-memory.ts`.
import { appendFileSync, closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { isAbort, type Memory, MemoryError, openMemory, parseConfig, type SearchReport } from "memslot";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Answer, MemoryProcessOptions, Order } from "./start-memory.ts";

const options = JSON.parse(process.argv[2] ?? "") as MemoryProcessOptions;
const { stateDir, workspaceDir, memorySearch, agentId = "main", readOnly = false } = options;
const { model, batchItems = 16, delayMs, embedLog } = options;
let memory: Memory | undefined;
const memoryOrThrow = (): Memory => {
  if (memory === undefined) throw new Error("open comes first");
  return memory;
};

function say(answer: Answer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

function embeddings(): ReturnType<typeof deterministicEmbeddings> | undefined {
  if (model === undefined) return undefined;
  const provider = deterministicEmbeddings({ model, dimensions: 32, delayMs });
  return {
    ...provider,
    maxBatchItems: batchItems,
    maxConcurrency: 1,
    async embedBatch(texts, given) {
      const vectors = await provider.embedBatch(texts, given);
      if (embedLog !== undefined) appendFileSync(embedLog, texts.map((text) => `\n${JSON.stringify(text)}\n`).join(""));
      return vectors;
    },
  };
}

async function carryOut(order: Order): Promise<unknown> {
  switch (order.do) {
    case "open": {
      const provider = model === undefined ? { provider: "none" } : {};
      const defaults = { workspace: workspaceDir, memorySearch: { ...provider, ...memorySearch } };
      const raw = { ...options.config, agents: { ...(options.config?.["agents"] as object), defaults } };
      const config = parseConfig(raw, { stateDir, env: {} });
      memory = await openMemory({
        config,
        agentId,
        embeddings: embeddings(),
        notify: (notice) => say({ notice }),
        readOnly,
      });
      return memory.status();
    }
    case "sync":
      return await memoryOrThrow().sync({ reason: order.reason, force: order.force, wait: order.wait });
    case "search": {
      let report: SearchReport | undefined;
      const results = await memoryOrThrow().search(order.query, {
        maxResults: order.maxResults,
        maxTokens: order.maxTokens,
        sources: order.sources,
        onDebug: (given) => (report = given),
      });
      return { results, report };
    }
    case "status":
      return memoryOrThrow().status();
    case "check":
      return await memoryOrThrow().check({ fix: order.fix });
    case "hold":
      holdDescriptors(order.left);
      return null;
    case "close":
      await memory?.close();
      return null;
  }
}

const held: number[] = [];

function holdDescriptors(left: number | undefined): void {
  for (const descriptor of held.splice(0)) closeSync(descriptor);
  if (left === undefined) return;
  try {
    for (;;) held.push(openSync("/dev/null", "r"));
  } catch {
    for (const descriptor of held.splice(0, left)) closeSync(descriptor);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...order } = JSON.parse(line) as Order & { id: number };
  // Orders overlap as the calls of a host do.
  void carryOut(order as Order).then(
    (result) => say({ id, result: result ?? null }),
    (error: unknown) => say({ id, error: describe(error) }),
  );
}
await memory?.close();

function describe(error: unknown): { message: string; code?: string } {
  const message = error instanceof Error ? error.message : String(error);
  if (MemoryError.is(error)) return { message, code: error.code };
  return { message, code: isAbort(error) ? "ABORT" : "BUG" };
}
