import {
  type EmbeddingCallOptions,
  EmbeddingError,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
} from "@memslot/core";
import { vectorAnswerBytes } from "@memslot/core/providers";
import { createBatches } from "./batches.ts";
import type { Connection } from "./connection.ts";
import { Encoding } from "./encoding.ts";
import { fingerprintOf, providerId, resolveEndpoint } from "./endpoint.ts";
import { nameOf, noVectorsFailure } from "./http-failures.ts";
import { defaultModel, limitsOf, priceOf } from "./models.ts";
import { readVectors } from "./read-vectors.ts";
import { createTextRules, type EncodingFormat } from "./texts.ts";

/** Opens the provider. Nothing is sent and the SDK is not loaded. Throws `CONFIG` for settings that cannot work. */
export function openProvider(context: EmbeddingPluginContext): EmbeddingProvider {
  const { settings } = context;
  const model = context.model ?? settings.model ?? defaultModel;
  const endpoint = resolveEndpoint(context);
  const { isOpenAi, base, keySource } = endpoint;
  const rules = createTextRules(model, settings, endpoint);
  const limits = limitsOf(model, {
    ...endpoint,
    dimensions: settings.outputDimensionality,
    prefix: rules.documentPrefix,
  });
  const { dimensions } = limits;
  const encoding = new Encoding(context, base.href, model);
  const path = "/embeddings";
  let connection: Promise<Connection> | undefined;

  const connect = (): Promise<Connection> =>
    (connection ??= import("./connection.ts").then((module) => module.connect(endpoint, model)));

  async function embed(
    kind: "query" | "document",
    texts: readonly string[],
    { signal, onUsage }: EmbeddingCallOptions = {},
  ): Promise<ArrayLike<number>[]> {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const { client, failure } = await connect();
    const limitBytes = vectorAnswerBytes({ texts: texts.length, dimensions });
    const send = async (format: EncodingFormat): Promise<ReturnType<typeof readVectors>> => {
      // Not by the SDK's own method for it, which always sends a form.
      const body = await client(limitBytes).post<unknown>(path, { body: rules.body(kind, texts, format), signal });
      const answer = readVectors(body);
      if (!answer) throw noVectorsFailure(body, { endpoint, model, path });
      if (answer.tokens !== undefined) onUsage?.({ tokens: answer.tokens });
      return answer;
    };
    try {
      const answer = await encoding.ask(send, (given) => given?.vectors.every(({ length }) => length === 0) ?? true);
      return answer?.vectors ?? [];
    } catch (error) {
      throw failure(error, { path, signal });
    }
  }

  return {
    id: providerId,
    model,
    ...limits,
    cacheKey: rules.cacheKey,
    endpoint: { host: base.host, keySource, fingerprint: fingerprintOf(endpoint, model) },
    price: base.hostname === "api.openai.com" ? priceOf(model) : undefined,
    async warm() {
      await connect();
      // The first fetch of a process loads its client; this one reaches no network.
      await fetch("data:,");
    },
    async embedQuery(text, options) {
      const [vector] = await embed("query", [text], options);
      if (!vector) throw new EmbeddingError("transient", `${nameOf(endpoint)} answered a query with no vector`);
      return vector;
    },
    embedBatch: (texts, options) => embed("document", texts, options),
    batches:
      isOpenAi || settings.remote.batch.enabled
        ? createBatches({ connect, rules, format: () => encoding.format, endpoint, dimensions })
        : undefined,
  };
}
