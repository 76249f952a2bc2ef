import { type RerankApi, startRerankApi } from "@memslot/fakes/rerank-api";
import plugin from "@memslot/rerank-http";
import { rerankConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";

describe.each([
  ["Cohere", "/v2", "documents"],
  ["Jina, vLLM and llama-server", "/v1", "documents"],
  ["text-embeddings-inference", "", "texts"],
])("against an API that speaks as %s does", (_, base, format) => {
  let api: RerankApi;
  beforeAll(async () => {
    api = await startRerankApi({ apiKey: "sk-right" });
  });
  afterAll(() => api.close());

  rerankConformance(
    { describe, test },
    {
      plugin,
      options: { format },
      get settings() {
        return { model: "m", baseUrl: `${api.url}${base}`, apiKey: "sk-right" };
      },
    },
  );
});
