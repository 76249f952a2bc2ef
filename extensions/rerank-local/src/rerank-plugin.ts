import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  MemoryError,
  ProviderError,
  type RerankPlugin,
  type RerankPluginContext,
  type Reranker,
  type SyncProgress,
  defineRerankPlugin,
  messageOf,
} from "@memslot/core";
import {
  type ModelAddress,
  ModelRunner,
  type RunnerTimes,
  configSchema,
  createSharedRun,
  download,
  findLlama,
  isFile,
  parseModelAddress,
  readGguf,
  readOptions,
} from "@memslot/embeddings-local/model";

/** For tests: replaces slow or unavailable parts. */
export interface RerankPluginOverrides {
  times?: Partial<RunnerTimes> | undefined;
  /** The entry of node-llama-cpp, as a URL. */
  llama?: string | undefined;
}

const defaultTimes: RunnerTimes = { idleMs: 10 * 60_000, loadMs: 120_000, silenceMs: 120_000 };
/** Query and passage: more than 400 tokens for the one and a long question. */
const contextSize = 1024;
const modelPathKey = "agents.defaults.memorySearch.query.rerank.modelPath";

export function createRerankPlugin(overrides: RerankPluginOverrides = {}): RerankPlugin {
  return defineRerankPlugin({
    id: "rerank-local",
    configSchema,
    async open(context) {
      const options = { ...readOptions(context.options), ...(context.options["contextSize"] ? {} : { contextSize }) };
      const address = addressOf(context);
      if (await isFile(address.path))
        await readGguf(address.path).catch((error: unknown) => {
          throw unusable(address, messageOf(error), error);
        });
      else if (address.source === undefined) throw unusable(address, "it does not exist");
      return createLocalReranker({
        address,
        llama: overrides.llama ?? llamaOf(context),
        token: context.environment("HF_TOKEN"),
        options,
        times: { ...defaultTimes, ...overrides.times },
      });
    },
  });
}

function addressOf({ settings, stateDir, environment }: RerankPluginContext): ModelAddress {
  const { modelPath } = settings.query.rerank;
  if (modelPath === undefined)
    throw new MemoryError(
      "CONFIG",
      `${modelPathKey} is not set: write a GGUF file of a reranker, hf:user/repository/file.gguf or an https address`,
    );
  const cacheDir = settings.local.modelCacheDir ?? join(stateDir, "models");
  try {
    return parseModelAddress(modelPath, { cacheDir, hubEndpoint: environment("HF_ENDPOINT") });
  } catch (error) {
    // The other plugin names its own key.
    const words = messageOf(error).replace("memorySearch.local.modelPath", "memorySearch.query.rerank.modelPath");
    throw new MemoryError("CONFIG", words, { cause: error });
  }
}

function llamaOf({ stateDir }: RerankPluginContext): string {
  const llama = findLlama({ stateDir });
  if ("missing" in llama) throw new MemoryError("UNAVAILABLE", `${llama.missing}; ${llama.action}`);
  return llama.url;
}

function unusable({ path }: ModelAddress, why: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `the model file ${path} cannot be used: ${why}; set ${modelPathKey} to another`,
    { cause },
  );
}

interface LocalRerankerInput {
  address: ModelAddress;
  llama: string;
  /** `HF_TOKEN`, for a model hub alone. */
  token: string | undefined;
  options: ReturnType<typeof readOptions>;
  times: RunnerTimes;
}

/** Ranks with a model in its own process. Searches do not wait for the download or the start. */
function createLocalReranker({ address, llama, token, options, times }: LocalRerankerInput): Reranker {
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
  /** Runs while the reranker is open, independent of callers. */
  const getReady = (): Promise<void> =>
    run({ signal: closing.signal, progress: (update) => (fetched = update) }).finally(() => (fetched = undefined));

  async function assertHere(): Promise<void> {
    if (await isFile(path)) return;
    if (failure !== undefined) {
      const told = failure;
      failure = undefined;
      throw told;
    }
    getReady().catch((error: unknown) => (failure = error)); // The next call reports it.
    // This kind is not retried, and does not stop later calls.
    const how = fetched === undefined ? "" : `, ${fetched.completed} of ${fetched.total} MB are downloaded`;
    throw new ProviderError("input", `rerank-local: its model ${fileName} is being downloaded${how}`);
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
