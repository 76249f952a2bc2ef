import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { open } from "./support/open.ts";

describe.each(["some-model", "nomic-embed-text"])("against an API that speaks OpenAI's language, model %s", (model) => {
  let api: EmbeddingApi;
  beforeAll(async () => {
    api = await startEmbeddingApi({ apiKey: "sk-right" });
  });
  afterAll(() => api.close());

  embeddingConformance(
    { describe, test },
    {
      open: () => open({ memorySearch: { model, remote: { baseUrl: `${api.url}/v1`, apiKey: "sk-right" } } }),
    },
  );
});
