import { writeTinyGguf } from "@memslot/fakes/gguf";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import localPlugin from "@memslot/embeddings-local";
import { parseConfig } from "memslot";
import { writeCorpus } from "./support/corpus.ts";
import { median, printTable } from "./support/table.ts";

const rounds = 5;
// The shape of all-MiniLM-L6, a common small model. The weights are random: they cost as much as good ones.
const shape = { layers: 6, dimensions: 384, heads: 12, contextLength: 512 };

interface Speed {
  contexts: number;
  tokensPerSecond: number[];
  /** Milliseconds of each single query. */
  queries: number[];
}

/**
 * Measures the local embeddings with one and with two contexts, in turn: tokens per second over a batch of chunks, and how
 * long a query takes. Without a model file one is made.
 */
export async function benchLocal(modelFile: string | undefined): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-local-"));
  try {
    const modelPath = modelFile ?? makeModel(path.join(folder, "bench.gguf"));
    const texts = chunks(path.join(folder, "notes"));
    const speeds: Speed[] = [1, 2].map((contexts) => ({ contexts, tokensPerSecond: [], queries: [] }));
    for (let round = 0; round < rounds; round++)
      for (const speed of speeds) await measureOnce(speed, { modelPath, stateDir: folder, texts });
    const [one] = speeds.map((speed) => median(speed.tokensPerSecond));
    printTable(
      `${modelFile === undefined ? "model of 6 layers x 384 with random weights" : path.basename(modelFile)}, one thread a context, ${os.availableParallelism()} processors, median of ${rounds}`,
      ["contexts", "tokens per second", "ratio", "query"],
      speeds.map(({ contexts, tokensPerSecond, queries }) => [
        String(contexts),
        median(tokensPerSecond).toFixed(0),
        `${(median(tokensPerSecond) / (one ?? Number.NaN)).toFixed(2)}x`,
        `${median(queries).toFixed(1)} ms`,
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOnce(
  speed: Speed,
  { modelPath, stateDir, texts }: { modelPath: string; stateDir: string; texts: readonly string[] },
): Promise<void> {
  const memorySearch = { provider: "local", local: { modelPath } };
  const config = parseConfig({ agents: { defaults: { memorySearch } } }, { stateDir });
  const provider = await localPlugin.open({
    settings: config.agent("bench").memorySearch,
    providers: {},
    environment: (name) => process.env[name],
    stateDir,
    options: { contexts: speed.contexts, threads: 1 },
    signal: new AbortController().signal,
  });
  try {
    // Loading is not measured.
    await provider.embedQuery("load the model");
    let tokens = 0;
    const started = performance.now();
    await provider.embedBatch(texts, { onUsage: (usage) => (tokens += usage.tokens) });
    speed.tokensPerSecond.push((tokens * 1000) / (performance.now() - started));
    for (let query = 0; query < 5; query++) {
      const asked = performance.now();
      await provider.embedQuery(`which code has project zephyr${query}`);
      speed.queries.push(performance.now() - asked);
    }
  } finally {
    await provider.close?.();
  }
}

/** Chunks as an index has them. Of the made model's small vocabulary each has some 400 tokens. */
function chunks(folder: string): string[] {
  writeCorpus(folder, 16, 700);
  return readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
}

/** A model with random weights in a usual shape. */
function makeModel(file: string): string {
  writeTinyGguf(file, shape);
  return file;
}
