import { type RerankPlugin, defineRerankPlugin } from "@memslot/core";
import { resolveEndpoint } from "./endpoint.ts";
import { createReranker } from "./reranker.ts";

const plugin: RerankPlugin = defineRerankPlugin({
  id: "rerank-http",
  configSchema: {
    type: "object",
    properties: { format: { enum: ["documents", "texts"] } },
    additionalProperties: false,
  },
  async open(context) {
    const format = context.options["format"] === "texts" ? "texts" : "documents";
    return createReranker({ endpoint: resolveEndpoint(context), model: context.settings.query.rerank.model, format });
  },
});

export default plugin;
