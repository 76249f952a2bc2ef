import { defineEmbeddingPlugin, type EmbeddingPlugin, MemoryError, messageOf } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { partOf, sizeOf } from "./download.ts";
import { findLlama } from "./find-llama.ts";
import { findModel, missingModel } from "./model-file.ts";
import { configSchema, type RunnerSetup } from "./model-runner.ts";

/** For tests: replaces slow or unavailable parts. */
export interface LocalPluginOverrides extends Pick<RunnerSetup, "times" | "downloadLimits"> {
  /** Searched first for node-llama-cpp, instead of the folder of this package. */
  beside?: string | undefined;
}

export function createLocalPlugin({ beside, ...overrides }: LocalPluginOverrides = {}): EmbeddingPlugin {
  return defineEmbeddingPlugin({
    id: "local",
    configSchema,
    async available(context) {
      const llama = findLlama({ stateDir: context.stateDir, beside });
      if ("missing" in llama) return { ok: false, ...llama.missing };
      try {
        const model = await findModel(context);
        if (model.info === undefined) return { ok: false, ...missingModel(model) };
        return { ok: true, ...sentence("embedding.modelHere", { file: model.address.fileName }) };
      } catch (error) {
        return { ok: false, reason: messageOf(error) };
      }
    },
    async setup(context) {
      const llama = findLlama({ stateDir: context.stateDir, beside });
      const { address, info } = await findModel(context);
      return {
        modelFile: address.path,
        isModelThere: info !== undefined,
        modelBytes: await sizeOf(info === undefined ? partOf(address.path) : address.path),
        missing: "missing" in llama ? { reason: llama.why.reason, npm: llama.npm } : undefined,
      };
    },
    async open(context) {
      const llama = findLlama({ stateDir: context.stateDir, beside });
      if ("missing" in llama) throw new MemoryError("UNAVAILABLE", llama.why);
      const model = await findModel(context);
      if (model.info === undefined && !model.mayFetch) throw new MemoryError("UNAVAILABLE", missingModel(model));
      // Not loaded to find an available provider.
      const { createLocalProvider } = await import("./local-provider.ts");
      return createLocalProvider(context, model, { ...overrides, llama: llama.url });
    },
  });
}
