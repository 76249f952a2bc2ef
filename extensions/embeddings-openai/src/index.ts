import { type EmbeddingPlugin, defineEmbeddingPlugin } from "@memslot/core";
import { providerId, whatIsSet } from "./endpoint.ts";

const plugin: EmbeddingPlugin = defineEmbeddingPlugin({
  id: providerId,
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async available(context) {
    const set = whatIsSet(context);
    if (set !== undefined) return { ok: true, reason: `${set} is set` };
    const places = `OPENAI_API_KEY, remote.apiKey and models.providers.${providerId}.apiKey`;
    return { ok: false, reason: `no OpenAI key: ${places} are not set` };
  },
  // A start that only asks which provider is available loads no client.
  open: async (context) => (await import("./provider.ts")).openProvider(context),
});

export default plugin;
