// A process with a memory, which is called by lines of JSON on standard input; see `start-memory.ts`.
import { appendFileSync, closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  isAbort,
  type Memory,
  MemoryError,
  type MemorySearchOptions,
  openMemory,
  parseConfig,
  type SearchReport,
} from "memslot";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Answer, MemoryProcessOptions } from "./start-memory.ts";

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

const calls: Readonly<Record<string, (...args: never[]) => unknown>> = {
  async open() {
    const provider = model === undefined ? { provider: "none" } : {};
    const defaults = { workspace: workspaceDir, memorySearch: { ...provider, ...memorySearch } };
    const raw = { ...options.config, agents: { ...(options.config?.["agents"] as object), defaults } };
    const config = parseConfig(raw, { stateDir, env: {} });
    const notify = (notice: string): void => say({ notice });
    memory = await openMemory({ config, agentId, embeddings: embeddings(), notify, readOnly });
    return memory.status();
  },
  sync: (...given: Parameters<Memory["sync"]>) => memoryOrThrow().sync(...given),
  async search(query: string, given: MemorySearchOptions) {
    let report: SearchReport | undefined;
    const results = await memoryOrThrow().search(query, { ...given, onDebug: (each) => (report = each) });
    return { results, report };
  },
  status: () => memoryOrThrow().status(),
  check: (...given: Parameters<Memory["check"]>) => memoryOrThrow().check(...given),
  hold: holdDescriptors,
  close: () => memory?.close(),
};

const held: number[] = [];

function holdDescriptors(left: number | null): void {
  for (const descriptor of held.splice(0)) closeSync(descriptor);
  if (left === null) return;
  try {
    for (;;) held.push(openSync("/dev/null", "r"));
  } catch {
    for (const descriptor of held.splice(0, left)) closeSync(descriptor);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, name, args } = JSON.parse(line) as { id: number; name: string; args: never[] };
  // Calls overlap, as those of a host do.
  void Promise.resolve()
    .then(() => calls[name]?.(...args))
    .then(
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
