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
  type RunnerSetup,
  configSchema,
  findLlama,
  isFile,
  parseModelAddress,
  readGguf,
  readOptions,
} from "@memslot/embeddings-local/model";

/** For tests: replaces slow or unavailable parts. */
export interface RerankPluginOverrides {
  times?: RunnerSetup["times"];
  /** The entry of node-llama-cpp, as a URL. */
  llama?: string | undefined;
}

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
        times: overrides.times,
        ranks: true,
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
  if ("missing" in llama) throw new MemoryError("UNAVAILABLE", llama.why);
  return llama.url;
}

function unusable({ path }: ModelAddress, why: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `the model file ${path} cannot be used: ${why}; set ${modelPathKey} to another`,
    { cause },
  );
}

/** Ranks with a model in its own process. Searches do not wait for the download or the start. */
function createLocalReranker(setup: RunnerSetup): Reranker {
  const { address, options } = setup;
  const { path, fileName } = address;
  const runner = new ModelRunner(setup);
  const closing = new AbortController();
  let fetched: SyncProgress | undefined;
  let failure: unknown;

  /** Runs while the reranker is open, independent of callers. */
  const getReady = async (): Promise<void> => {
    const progress = (update: SyncProgress): void => void (fetched = update);
    await runner.prepare({ signal: closing.signal, progress }).finally(() => (fetched = undefined));
  };

  async function assertHere(): Promise<void> {
    if (await isFile(path)) return;
    if (failure !== undefined) {
      const last = failure;
      failure = undefined;
      throw last;
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
