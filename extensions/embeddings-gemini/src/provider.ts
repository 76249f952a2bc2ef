import { type EmbeddingCallOptions, type EmbeddingProvider, type MemorySearchSettings } from "@memslot/core";
import { vectorAnswerBytes } from "@memslot/core/providers";
import { createBatches } from "./batches.ts";
import { createClient } from "./client.ts";
import { type Endpoint, fingerprintOf } from "./endpoint.ts";
import { oddAnswer } from "./failure.ts";
import type { GeminiModel } from "./models.ts";
import { documentTask, queryTask, type Task, taskKey } from "./task.ts";

// More are refused.
const maxBatchItems = 100;
// Google states no sum for a request here, and 20,000 for the same models in its cloud. It also keeps a request below
// what an account without billing may send in a minute.
const maxBatchTokens = 20_000;

/** Vectors from the Gemini API. Throws `CONFIG` for task types that do not exist. */
export function createProvider(options: {
  endpoint: Endpoint;
  model: GeminiModel;
  settings: MemorySearchSettings;
}): EmbeddingProvider {
  const { endpoint, model, settings } = options;
  const client = createClient(endpoint);
  const forQueries = queryTask(settings, model);
  const forNotes = documentTask(settings, model);

  async function embed(
    texts: readonly string[],
    task: Task,
    { signal, onUsage }: EmbeddingCallOptions = {},
  ): Promise<number[][]> {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const limitBytes = vectorAnswerBytes({ texts: texts.length, dimensions: model.dimensions });
    const answer = await client.withSdk({ signal, limitBytes }, (sdk) =>
      sdk.models.embedContent({
        model: model.name,
        // Each text a content of its own: of plain texts the SDK makes one content for some models.
        contents: texts.map((text) => ({ parts: [{ text: task.prefix + text }] })),
        config: {
          ...(task.type !== undefined && { taskType: task.type }),
          ...(model.outputDimensionality !== undefined && { outputDimensionality: model.outputDimensionality }),
        },
      }),
    );
    const { embeddings, usageMetadata } = answer;
    if (!Array.isArray(embeddings)) throw oddAnswer(endpoint, "something that holds no vectors");
    if (embeddings.length !== texts.length)
      throw oddAnswer(endpoint, `${embeddings.length} vectors for ${texts.length} texts`);
    const vectors = embeddings.map((embedding) => {
      if (!Array.isArray(embedding?.values)) throw oddAnswer(endpoint, "a vector without numbers");
      return embedding.values;
    });
    const tokens = usageMetadata?.promptTokenCount ?? usageMetadata?.totalTokenCount;
    if (tokens !== undefined) onUsage?.({ tokens });
    return vectors;
  }

  return {
    id: "gemini",
    model: model.name,
    dimensions: model.dimensions,
    maxInputTokens: model.maxInputTokens,
    maxBatchItems,
    maxBatchTokens,
    cacheKey: taskKey(forNotes),
    endpoint: {
      host: endpoint.base.host,
      keySource: endpoint.keySource,
      fingerprint: fingerprintOf(endpoint, model.name),
    },
    price: endpoint.isGoogle ? model.price : undefined,
    batches: settings.remote.batch.enabled ? createBatches({ client, endpoint, model, task: forNotes }) : undefined,
    async embedQuery(text, call) {
      const [vector = []] = await embed([text], forQueries, call);
      return vector;
    },
    embedBatch: (texts, call) => embed(texts, forNotes, call),
  };
}
