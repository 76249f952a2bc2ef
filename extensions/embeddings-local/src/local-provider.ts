import { createHash } from "node:crypto";
import {
  type EmbeddingCallOptions,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  ProviderError,
} from "@memslot/core";
import { modelPrefixes } from "@memslot/core/providers";
import { type LocalModel, missingModel } from "./model-file.ts";
import { ModelRunner, readOptions, type RunnerSetup } from "./model-runner.ts";

const maxBatchItems = 32;

export function createLocalProvider(
  context: EmbeddingPluginContext,
  model: LocalModel,
  setup: Pick<RunnerSetup, "llama" | "times" | "downloadLimits">,
): EmbeddingProvider {
  const { address, info, known } = model;
  const options = readOptions(context.options);
  const prefixes = modelPrefixes(address.model) ?? modelPrefixes(info?.name ?? "");
  const token = context.environment("HF_TOKEN");
  const refusal = model.mayFetch ? undefined : missingModel(model).reason;
  const runner = new ModelRunner({ ...setup, address, options, token, refusal });

  async function embed(
    texts: readonly string[],
    urgent: boolean,
    { signal, onUsage }: EmbeddingCallOptions = {},
  ): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    if (!runner.isRunning()) await runner.prepare({ signal });
    const { vectors, tokens } = await runner.embed(texts, { urgent, signal });
    onUsage?.({ tokens });
    return vectors;
  }

  const fingerprint = createHash("sha256").update(`local\n${address.path}\n${model.stamp}`).digest("hex");
  return {
    id: "local",
    model: address.model,
    get dimensions() {
      return runner.model?.dimensions ?? info?.dimensions ?? known?.dimensions;
    },
    get maxInputTokens() {
      const limit = info?.contextLength ?? known?.contextLength;
      return runner.model?.maxInputTokens ?? (limit === undefined ? undefined : Math.min(limit, options.contextSize));
    },
    maxBatchItems,
    maxConcurrency: options.contexts,
    cacheKey: prefixes?.key,
    isLocal: true,
    price: { usdPerMillionTokens: 0, asOf: "2026-11-21", source: "it runs on this machine" },
    endpoint: { host: "this machine", fingerprint: fingerprint.slice(0, 16) },
    prepare: (caller) => runner.prepare(caller),
    embedQuery: async (text, call) => {
      const [vector] = await embed([`${prefixes?.query ?? ""}${text}`], true, call);
      if (vector === undefined) throw new ProviderError("transient", "local: no vector came for the query");
      return vector;
    },
    embedBatch: (texts, call) => {
      const prefix = prefixes?.document ?? "";
      return embed(
        texts.map((text) => prefix + text),
        false,
        call,
      );
    },
    close: () => runner.close(),
  };
}
