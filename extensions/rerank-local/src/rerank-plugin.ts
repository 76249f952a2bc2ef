import { join } from "node:path";
import { type RerankPlugin, type RerankPluginContext, MemoryError, defineRerankPlugin, messageOf } from "@memslot/core";
import {
  type ModelAddress,
  type RunnerTimes,
  configSchema,
  findLlama,
  isFile,
  parseModelAddress,
  readGguf,
  readOptions,
} from "@memslot/embeddings-local/model";
import { createLocalReranker } from "./local-reranker.ts";

/** For tests: what would take minutes, or is not at hand. */
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
    {
      cause,
    },
  );
}
