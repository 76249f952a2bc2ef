// A reranker of your own: `docs/writing-a-memory-plugin.md` explains it.
import { ProviderError, type RerankPlugin, defineRerankPlugin, httpEmbeddingError } from "@memslot/core";
import { checkKey } from "@memslot/core/providers";

const plugin: RerankPlugin = defineRerankPlugin({
  id: "acme-rerank",
  configSchema: { type: "object", additionalProperties: false },
  async open({ settings, environment }) {
    const key = { value: environment("ACME_API_KEY") ?? "", source: "ACME_API_KEY" };
    checkKey(key);
    const model = settings.query.rerank.model ?? "acme-rerank-1";
    return {
      id: "acme-rerank",
      model,
      async rerank(query, texts, { signal }) {
        signal.throwIfAborted();
        const response = await fetch("https://api.acme.example/rerank", {
          method: "POST",
          headers: { authorization: `Bearer ${key.value}`, "content-type": "application/json" },
          body: JSON.stringify({ model, query, texts }),
          redirect: "error",
          signal,
        });
        const { status, headers } = response;
        if (!response.ok)
          throw httpEmbeddingError({ provider: "acme", status, headers, message: await response.text() });
        const scores: unknown = await response.json();
        if (!Array.isArray(scores)) throw new ProviderError("transient", "acme answered with no list of scores");
        return scores as number[];
      },
    };
  },
});

export default plugin;
