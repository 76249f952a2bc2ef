import { defineEmbeddingPlugin, type EmbeddingPlugin, MemoryError, messageOf } from "@memslot/core";
import type { DownloadLimits } from "./download/download.ts";
import { findLlama } from "./find-llama.ts";
import { bytesOfModel, findModel, missingModel } from "./local-model.ts";
import { configSchema, type RunnerTimes } from "./model-runner.ts";

/** For tests: replaces slow or unavailable parts. */
export interface LocalPluginOverrides {
  times?: Partial<RunnerTimes> | undefined;
  downloadLimits?: Partial<DownloadLimits> | undefined;
  /** Searched first for node-llama-cpp, instead of the folder of this package. */
  beside?: string | undefined;
}

const defaultTimes: RunnerTimes = { idleMs: 10 * 60_000, loadMs: 120_000, silenceMs: 120_000 };

export function createLocalPlugin(overrides: LocalPluginOverrides = {}): EmbeddingPlugin {
  return defineEmbeddingPlugin({
    id: "local",
    configSchema,
    async available(context) {
      const llama = findLlama({ stateDir: context.stateDir, beside: overrides.beside });
      if ("missing" in llama) return { ok: false, reason: llama.missing };
      try {
        const model = await findModel(context);
        if (model.info === undefined) return { ok: false, reason: missingModel(model) };
        return { ok: true, reason: `the model ${model.address.fileName} is here` };
      } catch (error) {
        return { ok: false, reason: messageOf(error) };
      }
    },
    async setup(context) {
      const llama = findLlama({ stateDir: context.stateDir, beside: overrides.beside });
      const model = await findModel(context);
      return {
        modelFile: model.address.path,
        isModelThere: model.info !== undefined,
        modelBytes: await bytesOfModel(model),
        missing: "missing" in llama ? { reason: `${llama.missing}; ${llama.action}`, npm: llama.npm } : undefined,
      };
    },
    async open(context) {
      const llama = findLlama({ stateDir: context.stateDir, beside: overrides.beside });
      if ("missing" in llama) throw new MemoryError("UNAVAILABLE", `${llama.missing}; ${llama.action}`);
      const model = await findModel(context);
      if (model.info === undefined && !model.mayFetch) throw new MemoryError("UNAVAILABLE", missingModel(model));
      // Finding an available provider loads neither the download nor the model's process.
      const { createLocalProvider } = await import("./local-provider.ts");
      const times = { ...defaultTimes, ...overrides.times };
      return createLocalProvider({ context, model, llama: llama.url, times, downloadLimits: overrides.downloadLimits });
    },
  });
}
