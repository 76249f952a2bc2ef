import { createHash } from "node:crypto";
import {
  type EmbeddingCallOptions,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  EmbeddingError,
} from "@memslot/core";
import { type ModelPrefixes, modelPrefixes } from "@memslot/core/providers";
import { download, type DownloadLimits } from "./download/download.ts";
import { isFile, type LocalModel, missingModel } from "./local-model.ts";
import { ModelRunner, closedError, readOptions, type RunnerTimes } from "./model-runner.ts";
import type { LoadedModel } from "./protocol.ts";
import { createSharedRun } from "./shared-run.ts";

export interface LocalProviderInput {
  context: EmbeddingPluginContext;
  model: LocalModel;
  llama: string;
  times: RunnerTimes;
  downloadLimits?: Partial<DownloadLimits> | undefined;
}

const maxBatchItems = 32;

export function createLocalProvider(input: LocalProviderInput): EmbeddingProvider {
  const { context, model, llama, times } = input;
  const { address, info, known } = model;
  const options = readOptions(context.options);
  const prefixes: ModelPrefixes | undefined = modelPrefixes(address.model) ?? modelPrefixes(info?.name ?? "");
  const runner = new ModelRunner({ llama, modelPath: address.path, ...options }, times);
  const closing = new AbortController();
  let loaded: LoadedModel | undefined;

  const getReady = createSharedRun(async ({ signal, progress }) => {
    if (!(await isFile(address.path))) await fetchModel(AbortSignal.any([signal, closing.signal]), progress);
    const label = `loading ${address.fileName}`;
    progress({ completed: 0, total: 1, label });
    loaded = await runner.start();
    progress({ completed: 1, total: 1, label });
  });

  async function fetchModel(signal: AbortSignal, progress: Parameters<typeof download>[0]["progress"]): Promise<void> {
    const { source, path, fileName } = address;
    if (!model.mayFetch || source === undefined) throw new EmbeddingError("auth", `local: ${missingModel(model)}`);
    const token = source.isHub ? context.environment("HF_TOKEN") : undefined;
    await download({ url: source.url, token, path, fileName, signal, progress, limits: input.downloadLimits });
  }

  async function embed(
    texts: readonly string[],
    urgent: boolean,
    { signal, onUsage }: EmbeddingCallOptions = {},
  ): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    if (!runner.isLoaded()) await getReady({ signal });
    const { vectors, tokens } = await runner.embed(texts, { urgent, signal });
    onUsage?.({ tokens });
    return vectors;
  }

  return {
    id: "local",
    model: address.model,
    get dimensions() {
      return loaded?.dimensions ?? info?.dimensions ?? known?.dimensions;
    },
    get maxInputTokens() {
      const limit = info?.contextLength ?? known?.contextLength;
      return loaded?.maxInputTokens ?? (limit === undefined ? undefined : Math.min(limit, options.contextSize));
    },
    maxBatchItems,
    maxConcurrency: options.contexts,
    cacheKey: prefixes?.key,
    isLocal: true,
    price: { usdPerMillionTokens: 0, asOf: "2026-11-21", source: "it runs on this machine" },
    endpoint: { host: "this machine", fingerprint: fingerprintOf(`local\n${address.path}\n${model.stamp}`) },
    prepare: (caller) => getReady(caller),
    embedQuery: async (text, call) => {
      const [vector] = await embed([`${prefixes?.query ?? ""}${text}`], true, call);
      if (vector === undefined) throw new EmbeddingError("transient", "local: no vector came for the query");
      return vector;
    },
    embedBatch: (texts, call) =>
      embed(
        texts.map((text) => `${prefixes?.document ?? ""}${text}`),
        false,
        call,
      ),
    async close() {
      closing.abort(closedError());
      await runner.close();
    },
  };
}

function fingerprintOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
