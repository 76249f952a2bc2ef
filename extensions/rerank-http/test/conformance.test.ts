import { type RerankApi, startRerankApi } from "@memslot/fakes/rerank-api";
import { rerankConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { open } from "./support/open.ts";

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
      open: () =>
        open({ rerank: { model: "m", baseUrl: `${api.url}${base}`, apiKey: "sk-right" }, options: { format } }),
    },
  );
});
