import {
  MemoryError,
  type RerankPlugin,
  type RerankPluginContext,
  type Reranker,
  defineRerankPlugin,
} from "@memslot/core";
import {
  type FailureRow,
  type FoundKey,
  type HttpApi,
  HttpClient,
  checkKey,
  displayedUrl,
  readBaseUrl,
  recordOf,
} from "@memslot/core/providers";
import table from "./services.json" with { type: "json" };

const plugin: RerankPlugin = defineRerankPlugin({
  id: "rerank-http",
  configSchema: {
    type: "object",
    properties: { format: { enum: ["documents", "texts"] } },
    additionalProperties: false,
  },
  open: async (context) => openReranker(context),
});

export default plugin;

type Service = (typeof table.services)["api.jina.ai"];
const services: Readonly<Record<string, Service>> = table.services;
const baseUrlKey = "memorySearch.query.rerank.baseUrl";
const path = "/rerank";
const apiKeyKey = "memorySearch.query.rerank.apiKey";
/** Sends one request for each call, to the configured URL. Throws `CONFIG` for settings that cannot work. */
function openReranker({ settings, environment, options }: RerankPluginContext): Reranker {
  const { baseUrl: written, apiKey, model: configured } = settings.query.rerank;
  const isTexts = options["format"] === "texts";
  const baseUrl = readUrl(written);
  const { hostname, host } = baseUrl;
  const service = services[hostname];
  const key = keyFor(service, apiKey, environment);
  if (key !== undefined) checkKey(key);
  const model = configured ?? service?.model;
  const api: HttpApi = {
    name: service?.name ?? host,
    baseUrl,
    urlSource: baseUrlKey,
    headers: key === undefined ? {} : { authorization: `Bearer ${key.value}` },
    keySource: key?.source,
    keyAdvice: `No key was sent; set ${apiKeyKey}`,
    failures: isTexts ? [] : (table.failures as FailureRow[]),
  };
  const client = new HttpClient(api);
  const closing = new AbortController();
  return {
    id: "rerank-http",
    model: model ?? "the server's own",
    endpoint: { host, keySource: key?.source, fingerprint: client.fingerprint("") },
    async rerank(query, texts, { signal }) {
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      if (texts.length === 0) return [];
      const named = model === undefined ? {} : { model };
      const answer = await client.json(path, {
        signal: AbortSignal.any([signal, closing.signal]),
        body: isTexts ? { query, texts, truncate: true } : { ...named, query, documents: texts, top_n: texts.length },
      });
      const scores = readScores(answer, texts.length);
      if (Array.isArray(scores)) return scores;
      throw client.unusable(path, `without usable scores: ${scores.problem}; is ${displayedUrl(baseUrl)} a reranker?`);
    },
    async close() {
      closing.abort(new MemoryError("CLOSED", "the reranker is closed"));
    },
  };
}

/** Returns the base URL; `/rerank` at its end is optional. */
function readUrl(written: string | undefined): URL {
  if (written === undefined) {
    const known = Object.values(services).map(({ name, baseUrl }) => `${baseUrl} (${name})`);
    throw new MemoryError(
      "CONFIG",
      `${baseUrlKey} is not set: write ${known.join(", ")} or the URL of your own server`,
    );
  }
  const vendors = Object.fromEntries(Object.entries(services).map(([host, { name }]) => [host, name]));
  const url = readBaseUrl(written, baseUrlKey, vendors);
  url.pathname = url.pathname.replace(/\/rerank$/, "");
  return url;
}

/** `query.rerank.apiKey` goes to the configured URL; a key of the environment goes to the host of its service alone. */
function keyFor(
  service: Service | undefined,
  written: string | undefined,
  environment: (name: string) => string | undefined,
): FoundKey | undefined {
  if (written !== undefined) return { value: written, source: "query.rerank.apiKey" };
  if (service === undefined) return undefined;
  const value = environment(service.keyVariable);
  if (value !== undefined) return { value, source: service.keyVariable };
  throw new MemoryError("CONFIG", `no key for ${service.name}: set ${service.keyVariable} or ${apiKeyKey}`);
}

/** One score for each text, from `{results: [{index, relevance_score}]}`, `{data: […]}` or `[{index, score}]`. */
function readScores(answer: unknown, count: number): number[] | { problem: string } {
  const { results, data = results } = recordOf(answer);
  const rows = Array.isArray(answer) ? answer : data;
  if (!Array.isArray(rows)) return { problem: "there is no list of results in it" };
  const scores = new Map<number, number>();
  for (const row of rows) {
    const { index, relevance_score: relevance, score = relevance } = recordOf(row);
    if (!Number.isInteger(index) || Number(index) < 0 || Number(index) >= count)
      return { problem: `a result has an index that is none of 0 to ${count - 1}` };
    if (typeof score !== "number" || !Number.isFinite(score)) return { problem: "a result has no score" };
    if (scores.has(Number(index))) return { problem: `text ${Number(index)} has two scores` };
    scores.set(Number(index), score);
  }
  if (scores.size !== count) return { problem: `${scores.size} of ${count} texts have a score` };
  return Array.from({ length: count }, (_, index) => scores.get(index) ?? 0);
}
