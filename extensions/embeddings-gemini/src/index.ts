import {
  type EmbeddingCallOptions,
  type EmbeddingFailure,
  type EmbeddingPlugin,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  MemoryError,
  type MemorySearchSettings,
  ProviderError,
  defineEmbeddingPlugin,
} from "@memslot/core";
import { sentence } from "@memslot/core/host";
import {
  type BatchApi,
  HttpClient,
  checkKey,
  createBatches,
  recordOf,
  textOf,
  vectorAnswerBytes,
} from "@memslot/core/providers";
import { findKey, googleHost, resolveApi } from "./endpoint.ts";
import table from "./gemini.json" with { type: "json" };

const plugin: EmbeddingPlugin = defineEmbeddingPlugin({
  id: "gemini",
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async available(context) {
    const key = findKey(context);
    if (key === undefined)
      return { ok: false, reason: "no Gemini key: GEMINI_API_KEY and models.providers.google.apiKey are not set" };
    try {
      checkKey(key);
    } catch (error) {
      if (MemoryError.is(error)) return { ok: false, reason: error.message };
      throw error;
    }
    return { ok: true, ...sentence("embedding.key", { name: key.source }) };
  },
  open: async (context) => openProvider(context),
});

export default plugin;

/** Opens the provider and sends nothing. Throws `CONFIG` for settings that cannot work. */
function openProvider(context: EmbeddingPluginContext): EmbeddingProvider {
  const { settings } = context;
  const { name, dimensions, maxInputTokens, readsPrefixes, price } = resolveModel(
    context.model ?? settings.model,
    settings.outputDimensionality,
  );
  const api = resolveApi(context, name);
  const client = new HttpClient(api);
  const queries = taskOf(settings, "queryInputType", readsPrefixes);
  const notes = taskOf(settings, "documentInputType", readsPrefixes);
  const requestOf = (text: string, { type, prefix }: Task): Record<string, unknown> => ({
    model: `models/${name}`,
    content: { parts: [{ text: prefix + text }] },
    taskType: type,
    outputDimensionality: settings.outputDimensionality,
  });
  const path = `/models/${name}:batchEmbedContents`;

  async function embed(
    texts: readonly string[],
    task: Task,
    { signal, onUsage }: EmbeddingCallOptions = {},
  ): Promise<ArrayLike<number>[]> {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const limitBytes = vectorAnswerBytes({ texts: texts.length, dimensions });
    const body = { requests: texts.map((text) => requestOf(text, task)) };
    const answer = await client.json(path, { signal, limitBytes, body });
    const { embeddings, usageMetadata } = recordOf(answer);
    if (!Array.isArray(embeddings)) throw client.unusable(path, "without vectors");
    if (embeddings.length !== texts.length)
      throw client.unusable(path, `with ${embeddings.length} vectors for ${texts.length} texts`);
    const vectors = embeddings.map((each: unknown) => {
      const { values } = recordOf(each);
      if (!Array.isArray(values)) throw client.unusable(path, "with a vector without numbers");
      return values as number[];
    });
    const { totalTokenCount, promptTokenCount: tokens = totalTokenCount } = recordOf(usageMetadata);
    if (typeof tokens === "number") onUsage?.({ tokens });
    return vectors;
  }

  return {
    id: "gemini",
    model: name,
    dimensions,
    maxInputTokens,
    // More texts are refused. Google states no limit of tokens here, and 20,000 for the same models in its cloud; it
    // also keeps a request below the allowance of a minute without billing.
    maxBatchItems: 100,
    maxBatchTokens: 20_000,
    cacheKey: notes.type ?? notes.prefix,
    endpoint: {
      host: api.baseUrl.host,
      keySource: api.keySource,
      fingerprint: client.fingerprint(name),
    },
    price: api.baseUrl.hostname === googleHost ? price : undefined,
    warm: () => client.warm(),
    async embedQuery(text, call) {
      const [vector = []] = await embed([text], queries, call);
      return vector;
    },
    embedBatch: (texts, call) => embed(texts, notes, call),
    batches: settings.remote.batch.enabled
      ? createBatches(client, {
          ...batchApi(client, name),
          dimensions,
          line: (text, index) => ({ key: String(index), request: requestOf(text, notes) }),
        })
      : undefined,
  };
}

/** Throws `CONFIG` for an invalid name, and for a vector length that the model does not offer. */
function resolveModel(written: string | undefined, length: number | undefined) {
  const { defaultModel } = table;
  const name = (written?.trim() || defaultModel).replace(/^models\//, "").replace(/^(?:google|gemini)\//, "");
  if (!/^[\w-][\w.-]*$/.test(name) || name.includes(".."))
    throw new MemoryError(
      "CONFIG",
      `model is "${written}", which is not the name of a Gemini model such as "${defaultModel}"`,
    );
  const known = table.models.find(({ match }) => new RegExp(match).test(name));
  if (known !== undefined && length !== undefined && (length < 128 || length > 3072))
    throw new MemoryError(
      "CONFIG",
      `outputDimensionality is ${length}, but ${name} makes vectors of 128 to 3072 numbers`,
    );
  return {
    name,
    // Unknown for an unknown model.
    dimensions: length ?? (known && 3072),
    // Every embedding model of this API accepts 2048.
    maxInputTokens: known?.maxInputTokens ?? 2048,
    // Without task types: the model reads the task in words before the text.
    readsPrefixes: known?.readsPrefixes === true,
    // Batch jobs cost half.
    price: known && { usdPerMillionTokens: known.usd, batchUsdPerMillionTokens: known.usd / 2, ...table.price },
  };
}

interface Task {
  type: string | undefined;
  prefix: string;
}

const unspecified = "TASK_TYPE_UNSPECIFIED";
const prefixes: Readonly<Record<string, string>> = table.prefixes;

/** Throws `CONFIG` for an unknown task type: Google would refuse each text. */
function taskOf(
  settings: MemorySearchSettings,
  ownKey: "queryInputType" | "documentInputType",
  readsPrefixes: boolean,
): Task {
  const key = settings[ownKey] === undefined ? "inputType" : ownKey;
  const usual = ownKey === "queryInputType" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT";
  const type = settings[key]?.trim().toUpperCase() ?? usual;
  if (type === unspecified) return { type: undefined, prefix: "" };
  if (!Object.hasOwn(prefixes, type)) {
    const known = [...Object.keys(prefixes), unspecified].join(", ");
    throw new MemoryError("CONFIG", `${key} is "${settings[key]}", which is not a task type of Gemini: ${known}`);
  }
  if (!readsPrefixes) return { type, prefix: "" };
  // Texts for these types of queries are marked as documents.
  const isDocument = ownKey === "documentInputType" && table.queryTypes.includes(type);
  return { type: undefined, prefix: prefixes[isDocument ? "RETRIEVAL_DOCUMENT" : type] ?? "" };
}

/**
 * Batch jobs with uploaded files, whose results are lines to be read one by one. Google deletes files after two days.
 */
function batchApi(client: HttpClient, model: string): Omit<BatchApi, "dimensions" | "line"> {
  const uploadUrl = new URL(client.api.baseUrl);
  uploadUrl.pathname = uploadUrl.pathname.replace(/(?=\/[^/]+$)/, "/upload");
  const uploads = new HttpClient({ ...client.api, baseUrl: uploadUrl });
  return {
    // About 125,000 tokens. The limit of an account is not published: new paid accounts were accepted with this number of
    // texts and refused with twice as many.
    maxItems: 300,
    maxBytes: 500_000,
    async upload(file, signal) {
      const headers = {
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": String(file.size),
        "x-goog-upload-header-content-type": file.type,
      };
      const body = { file: { displayName: file.name } };
      const location = await uploads.send("/files", { signal, headers, body }, async (response) => {
        await response.body?.cancel();
        return URL.parse(response.headers.get("x-goog-upload-url") ?? "");
      });
      if (location === null) throw uploads.unusable("/files", "without an upload address");
      // The file goes to the configured host, whatever host the address names.
      const answer = await uploads.json(`/files${location.search}`, {
        signal,
        headers: { "x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0" },
        body: file,
      });
      const name = textOf(recordOf(recordOf(answer)["file"])["name"]);
      if (name === undefined) throw uploads.unusable("/files", "without the name of the file");
      return name;
    },
    start: (file) => ({
      path: `/models/${model}:asyncBatchEmbedContent`,
      body: { batch: { displayName: "memslot", inputConfig: { file_name: file } } },
    }),
    paths: { job: "/ID", cancel: "/ID:cancel", file: "/ID", content: "/ID:download?alt=media" },
    readJob({ name: id, done, error, metadata, response }) {
      const { state = "", output, batchStats } = recordOf(metadata);
      const { successfulRequestCount = 0, failedRequestCount = 0 } = recordOf(batchStats);
      const isOver = done === true && !/EXPIRED|CANCELLED/.test(String(state));
      return {
        id,
        status: isOver ? (error === undefined ? "succeeded" : "failed") : state,
        reason: recordOf(error)["message"],
        completed: Number(successfulRequestCount) + Number(failedRequestCount),
        results: [recordOf(output)["responsesFile"] ?? recordOf(response)["responsesFile"]],
      };
    },
    readLine({ key: index, response, error }) {
      const { embedding, tokenCount, usageMetadata } = recordOf(response);
      const { promptTokenCount: tokens = tokenCount } = recordOf(usageMetadata);
      const { values } = recordOf(embedding);
      if (Array.isArray(values)) return { index, result: Float32Array.from(values as number[]), tokens };
      if (error === undefined) return { index, result: undefined };
      const { code, message } = recordOf(error);
      const kinds: Readonly<Record<string, string>> = table.lineFailures; // By the numbers of gRPC.
      const kind = (kinds[String(code)] ?? "transient") as EmbeddingFailure;
      const words = client.hideSecrets(textOf(message) ?? "no reason given");
      return { index, result: new ProviderError(kind, `the batch job failed for this text: ${words}`) };
    },
  };
}
