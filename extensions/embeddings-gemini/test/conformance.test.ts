import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openAt } from "./support/open-gemini.ts";

const key = "test-key";

describe.each([
  { model: undefined, outputDimensionality: undefined, dimensions: 3072 },
  { model: "gemini-embedding-001", outputDimensionality: 256, dimensions: 3072 },
  { model: "gemini-embedding-2", outputDimensionality: undefined, dimensions: 3072 },
  { model: "text-embedding-of-later", outputDimensionality: undefined, dimensions: 300 },
])("$model with $outputDimensionality", ({ model, outputDimensionality, dimensions }) => {
  let api: Awaited<ReturnType<typeof startEmbeddingApi>>;
  beforeAll(async () => {
    api = await startEmbeddingApi({ dimensions, apiKey: key, limits: { items: 100 } });
  });
  afterAll(() => api.close());

  embeddingConformance({ describe, test }, { open: () => openAt(api.url, { model, outputDimensionality }) });
});
