import { createHash } from "node:crypto";
import { EmbeddingError, MemoryError, type Reranker, type SyncProgress } from "@memslot/core";
import {
  type ModelAddress,
  ModelRunner,
  type RunnerTimes,
  createSharedRun,
  download,
  isFile,
  type readOptions,
} from "@memslot/embeddings-local/model";

export interface LocalRerankerInput {
  address: ModelAddress;
  /** The entry of node-llama-cpp, as a URL. */
  llama: string;
  /** `HF_TOKEN`, for a model hub alone. */
  token: string | undefined;
  options: ReturnType<typeof readOptions>;
  times: RunnerTimes;
}

/**
 * Ranks with a model in a process of its own, which is started when it is needed first. Fetching and loading go on behind
 * a search that does not wait for them.
 */
export function createLocalReranker({ address, llama, token, options, times }: LocalRerankerInput): Reranker {
  const { path, source, fileName } = address;
  const runner = new ModelRunner({ llama, modelPath: path, ...options, ranks: true }, times);
  const closing = new AbortController();
  let fetched: SyncProgress | undefined;
  let failure: unknown;

  const run = createSharedRun(async ({ progress }) => {
    if (!(await isFile(path)) && source !== undefined) {
      const { url, isHub } = source;
      const { signal } = closing;
      await download({ url, token: isHub ? token : undefined, path, fileName, signal, progress });
    }
    await runner.start();
  });
  /** For as long as this reranker is open, whoever waits for it. */
  const getReady = (): Promise<void> =>
    run({ signal: closing.signal, progress: (update) => (fetched = update) }).finally(() => (fetched = undefined));

  async function assertHere(): Promise<void> {
    if (await isFile(path)) return;
    if (failure !== undefined) {
      const told = failure;
      failure = undefined;
      throw told;
    }
    getReady().catch((error: unknown) => (failure = error)); // Told to whoever asks next.
    // Of a kind that is not tried again at once, and after which others may ask.
    const how = fetched === undefined ? "" : `, ${fetched.completed} of ${fetched.total} MB are here`;
    throw new EmbeddingError("input", `rerank-local: its model ${fileName} is being fetched${how}`);
  }

  return {
    id: "rerank-local",
    model: address.model,
    maxInputTokens: options.contextSize - 1,
    endpoint: {
      host: "this machine",
      fingerprint: createHash("sha256").update(`rerank-local\n${path}`).digest("hex").slice(0, 16),
    },
    warm: getReady,
    async rerank(query, texts, { signal }) {
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      if (texts.length === 0) return [];
      await assertHere();
      return await runner.rank(query, texts, signal);
    },
    async close() {
      closing.abort(new MemoryError("CLOSED", "the reranker is closed"));
      await runner.close();
    },
  };
}
