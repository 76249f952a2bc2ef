import {
  type EmbeddingCallOptions,
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  type EmbeddingPrice,
  type EmbeddingProvider,
  ProviderError,
  defineEmbeddingPlugin,
} from "@memslot/core";
import { sentence } from "@memslot/core/host";
import {
  HttpClient,
  type BatchApi,
  createBatches,
  modelPrefixes,
  recordOf,
  textOf,
  vectorAnswerBytes,
} from "@memslot/core/providers";
import { providerId, resolveApi, usableSetting } from "./endpoint.ts";
import table from "./openai.json" with { type: "json" };
import { type VectorFormat, VectorFormats, noVectors, readVectors } from "./vector-formats.ts";

const path = "/embeddings";

const plugin: EmbeddingPlugin = defineEmbeddingPlugin({
  id: providerId,
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async available(context) {
    const set = usableSetting(context);
    if (set !== undefined) return { ok: true, ...sentence("embedding.key", { name: set }) };
    const places = `OPENAI_API_KEY, remote.apiKey and models.providers.${providerId}.apiKey`;
    return { ok: false, reason: `no OpenAI key: ${places} are not set` };
  },
  open: async (context) => openProvider(context),
});

export default plugin;

/** Opens the provider and sends nothing. Throws `CONFIG` for settings that cannot work. */
function openProvider(context: EmbeddingPluginContext): EmbeddingProvider {
  const { settings, stateDir } = context;
  const model = context.model ?? settings.model ?? table.defaultModel;
  const api = resolveApi(context, model);
  const { isOpenAi, baseUrl, keySource } = api;
  const client = new HttpClient(api);
  const { bodyOf, documentPrefix, cacheKey } = textRules(model, settings, isOpenAi);
  const limits = limitsOf(model, { isOpenAi, dimensions: settings.outputDimensionality, prefix: documentPrefix });
  const { dimensions } = limits;
  const formats = new VectorFormats(settings.remote.encodingFormat, { stateDir, name: `${baseUrl.href} ${model}` });

  async function embed(
    kind: "query" | "document",
    texts: readonly string[],
    { signal, onUsage }: EmbeddingCallOptions = {},
  ): Promise<ArrayLike<number>[]> {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const limitBytes = vectorAnswerBytes({ texts: texts.length, dimensions });
    return await formats.request(async (format) => {
      const body = await client.json(path, { signal, limitBytes, body: bodyOf(kind, texts, format) });
      const answer = readVectors(body);
      if (answer === undefined) throw noVectors(client, path, body);
      if (answer.tokens !== undefined) onUsage?.({ tokens: answer.tokens });
      return answer.vectors;
    });
  }

  return {
    id: providerId,
    model,
    ...limits,
    cacheKey,
    endpoint: { host: baseUrl.host, keySource, fingerprint: client.fingerprint(model) },
    price: baseUrl.hostname === "api.openai.com" ? priceOf(model) : undefined,
    warm: () => client.warm(),
    async embedQuery(text, options) {
      const [vector] = await embed("query", [text], options);
      if (!vector) throw client.unusable(path, "with no vector for a query");
      return vector;
    },
    embedBatch: (texts, options) => embed("document", texts, options),
    batches:
      isOpenAi || settings.remote.batch.enabled
        ? createBatches(client, {
            ...batchApi(client),
            dimensions,
            line: (text, index) => ({
              custom_id: String(index),
              method: "POST",
              url: "/v1/embeddings",
              body: bodyOf("document", [text], formats.current),
            }),
          })
        : undefined,
  };
}

/** Input types are sent unchanged. Without them each text gets the prefix that the model was trained with. */
function textRules(model: string, settings: EmbeddingPluginContext["settings"], isOpenAi: boolean) {
  const { inputType, queryInputType = inputType, documentInputType = inputType, outputDimensionality } = settings;
  const inputTypes = { query: queryInputType, document: documentInputType };
  const hasTypes = queryInputType !== undefined || documentInputType !== undefined;
  const prefixes = hasTypes || isOpenAi ? undefined : modelPrefixes(model);
  const prefixKey = prefixes?.document ? `prefix=${prefixes.key}` : undefined;
  return {
    documentPrefix: prefixes?.document ?? "",
    cacheKey: documentInputType === undefined ? prefixKey : `input_type=${documentInputType}`,
    bodyOf: (kind: "query" | "document", texts: readonly string[], format: VectorFormat) => ({
      model,
      input: texts.map((text) => (prefixes?.[kind] ?? "") + text),
      ...(format === "none" ? {} : { encoding_format: format }),
      ...(outputDimensionality === undefined ? {} : { dimensions: outputDimensionality }),
      ...(inputTypes[kind] === undefined ? {} : { input_type: inputTypes[kind] }),
    }),
  };
}

/** OpenAI finishes a job within 24 hours and deletes its files after 30 days. */
function batchApi(client: HttpClient): Omit<BatchApi, "dimensions" | "line"> {
  const missing = "It seems to have no batch interface: set agents.defaults.memorySearch.remote.batch.enabled to false";
  return {
    maxItems: 50_000,
    // About two million tokens. A new account may have three million in waiting jobs.
    maxBytes: 8_000_000,
    missing,
    async upload(file, signal) {
      const body = new FormData();
      body.set("purpose", "batch");
      body.set("file", file);
      const answer = await client.json("/files", { signal, body, missing });
      const id = textOf(recordOf(answer)["id"]);
      if (id === undefined) throw client.unusable("/files", `without an id. ${missing}`, "auth");
      return id;
    },
    start: (file) => ({
      path: "/batches",
      body: { input_file_id: file, endpoint: "/v1/embeddings", completion_window: "24h" },
    }),
    paths: { job: "/batches/ID", cancel: "/batches/ID/cancel", file: "/files/ID", content: "/files/ID/content" },
    readJob({ id, status, errors, request_counts: counts, input_file_id, output_file_id, error_file_id }) {
      const [first]: unknown[] = [recordOf(errors)["data"]].flat();
      return {
        id,
        status,
        reason: recordOf(first)["message"],
        completed: recordOf(counts)["completed"],
        results: [output_file_id, error_file_id],
        files: [input_file_id, output_file_id, error_file_id],
      };
    },
    readLine({ custom_id: index = "none", response, error }) {
      const { status_code: status, body } = recordOf(response);
      const answer = readVectors(body);
      if (typeof status === "number" && (status < 200 || status > 299))
        return { index, result: client.failure({ status, body }, path) };
      if (body !== undefined)
        return { index, result: answer?.vectors[0] ?? noVectors(client, path, body), tokens: answer?.tokens };
      const { code, message } = recordOf(error);
      // Texts of an expired or cancelled job were not processed.
      if (code === undefined || /^batch_(?:expired|cancelled)$/.test(String(code))) return { index, result: undefined };
      const words = client.hideSecrets(`${String(code)}: ${String(message)}`);
      return { index, result: new ProviderError("transient", `the batch job failed for this text with ${words}`) };
    },
  };
}

type Limits = Pick<EmbeddingProvider, "dimensions" | "maxInputTokens" | "maxBatchItems" | "maxBatchTokens">;

const openAiModels: Readonly<Record<string, { dimensions: number; usd: number }>> = table.openai;

// Matched against the lower-case name with words separated by `-`; the first match counts. From the model cards, or less
// where servers load the model with a smaller context by default.
const inputTokens = table.inputTokens as [name: string, tokens: number][];

/** The limits of one request: OpenAI accepts 2048 texts and 300,000 tokens; smaller ones lose less. */
function limitsOf(
  model: string,
  options: { isOpenAi: boolean; dimensions: number | undefined; prefix: string },
): Limits {
  const { isOpenAi, prefix } = options;
  const plain = model.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const known = inputTokens.find(([name]) => new RegExp(name).test(plain))?.[1] ?? (isOpenAi ? 8191 : undefined);
  // A prefix counts as one token for three characters, to be safe.
  const maxInputTokens = known === undefined ? undefined : known - Math.ceil(prefix.length / 3);
  const dimensions = options.dimensions ?? (isOpenAi ? openAiModels[model]?.dimensions : undefined);
  return { dimensions, maxInputTokens, ...(isOpenAi ? table.limits.openai : table.limits.others) };
}

function priceOf(model: string): EmbeddingPrice | undefined {
  const usd = openAiModels[model]?.usd;
  return usd === undefined
    ? undefined
    : { usdPerMillionTokens: usd, batchUsdPerMillionTokens: usd / 2, ...table.price };
}
