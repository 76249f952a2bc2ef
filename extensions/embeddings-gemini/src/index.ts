import { defineEmbeddingPlugin, type EmbeddingPlugin, MemoryError } from "@memslot/core";
import { checkKey } from "@memslot/core/providers";
import { findKey } from "./credentials.ts";
import { resolveEndpoint } from "./endpoint.ts";
import { resolveModel } from "./models.ts";

const plugin: EmbeddingPlugin = defineEmbeddingPlugin({
  id: "gemini",
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async available(context) {
    const key = findKey(context);
    if (key === undefined)
      return { ok: false, reason: "no Gemini key: GEMINI_API_KEY and models.providers.google.apiKey are not set" };
    try {
      checkKey(key);
    } catch (error) {
      if (MemoryError.is(error)) return { ok: false, reason: error.message };
      throw error;
    }
    return { ok: true, reason: `${key.source} is set` };
  },
  async open(context) {
    // A start that only asks which provider is available loads no client.
    const { createProvider } = await import("./provider.ts");
    const { settings } = context;
    const model = resolveModel(context.model ?? settings.model, settings.outputDimensionality);
    return createProvider({ endpoint: resolveEndpoint(context), model, settings });
  },
});

export default plugin;
