import { EmbeddingError, type EmbeddingFailure, MemoryError, type Reranker, httpEmbeddingError } from "@memslot/core";
import { limitAnswer, networkFailure, request, smallAnswerBytes } from "@memslot/core/providers";
import type { Endpoint } from "./endpoint.ts";
import { readScores } from "./read-scores.ts";

export interface RerankerInput {
  endpoint: Endpoint;
  /** Absent: that of the service, or none is named to the server. */
  model: string | undefined;
  /** What a request calls its texts: `texts` at text-embeddings-inference. */
  format: "documents" | "texts";
}

/** Asks a server. One request for each call, to the configured address and nowhere else. */
export function createReranker({ endpoint, model: written, format }: RerankerInput): Reranker {
  const { url, key, service, fingerprint } = endpoint;
  const model = written ?? service?.model;
  const who = service?.name ?? url.host;
  const closing = new AbortController();

  async function post(body: unknown, signal: AbortSignal): Promise<unknown> {
    const headers = {
      "content-type": "application/json",
      "user-agent": "memslot",
      ...(key === undefined ? {} : { authorization: `Bearer ${key.value}` }),
    };
    const sent = await request(url, { method: "POST", headers, body: JSON.stringify(body), signal });
    const response = await limitAnswer(sent, { who, limitBytes: smallAnswerBytes });
    const text = await response.text();
    if (!response.ok) throw refused(response, text);
    try {
      return JSON.parse(text);
    } catch {
      throw failure("transient", `${who} answered with a text that is no JSON; is ${shown(url)} right?`);
    }
  }

  function refused({ status, headers }: Response, text: string): EmbeddingError {
    if (status >= 300 && status < 400)
      return failure("auth", `${who} answered ${status}, which leads elsewhere and is not followed: correct ${place}`);
    const said = httpEmbeddingError({ provider: who, status, message: withoutKey(wordsOf(text)), headers });
    const advice =
      status === 404 || status === 405
        ? `; correct ${place}`
        : said.kind === "input" && format === "documents"
          ? '; if it is text-embeddings-inference, set plugins.entries["rerank-http"].config.format to "texts"'
          : "";
    return new EmbeddingError(said.kind, `${said.message}${advice}`, { retryAfterMs: said.retryAfterMs });
  }

  function withoutKey(text: string): string {
    return key === undefined ? text : text.replaceAll(key.value, "[key]");
  }

  return {
    id: "rerank-http",
    model: model ?? "the server's own",
    endpoint: { host: url.host, keySource: key?.source, fingerprint },
    async rerank(query, texts, { signal }) {
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      if (texts.length === 0) return [];
      const named = model === undefined ? {} : { model };
      const body =
        format === "texts"
          ? { query, texts, truncate: true }
          : { ...named, query, documents: texts, top_n: texts.length };
      let answer: unknown;
      try {
        answer = await post(body, AbortSignal.any([signal, closing.signal]));
      } catch (error) {
        signal.throwIfAborted();
        closing.signal.throwIfAborted();
        throw networkFailure(error, { url, hide: withoutKey });
      }
      const scores = readScores(answer, texts.length);
      if (Array.isArray(scores)) return scores;
      throw failure("transient", `${who} gave no usable answer: ${scores.problem}; is ${shown(url)} a reranker?`);
    },
    async close() {
      closing.abort(new MemoryError("CLOSED", "the reranker is closed"));
    },
  };
}

const place = "memorySearch.query.rerank.baseUrl";

function failure(kind: EmbeddingFailure, message: string): EmbeddingError {
  return new EmbeddingError(kind, message);
}

/** Without its query, which may hold a key. */
function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** An answer's own words: those of its JSON where it has any. */
function wordsOf(text: string): string {
  try {
    const body = JSON.parse(text) as Record<string, unknown> | null;
    const inner = body?.["error"] ?? body?.["message"] ?? body?.["detail"];
    const words = typeof inner === "object" && inner !== null && "message" in inner ? inner.message : inner;
    return typeof words === "string" ? words : text;
  } catch {
    return text;
  }
}
