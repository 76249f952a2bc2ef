import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { deterministicReranker } from "@memslot/testkit";
import { text as readText } from "node:stream/consumers";

/** What a request to the fake held. */
export interface RerankRequest {
  path: string;
  headers: Record<string, string>;
  body: { model?: string; query?: string; documents?: string[]; texts?: string[] } & Record<string, unknown>;
}

/** In place of the next answer. */
export interface RerankFault {
  status?: number | undefined;
  headers?: Record<string, string> | undefined;
  /** Sent as JSON, or as it is where it is a text. */
  body?: unknown;
  /** The request is never answered. */
  hang?: boolean | undefined;
}

export interface RerankApi {
  url: string;
  log: RerankRequest[];
  /** Orders a fault for one request; the faults are taken in their order. */
  fail(fault: RerankFault): void;
  close(): Promise<void>;
}

export interface RerankApiOptions {
  /** The key that is wanted; others are refused with 401. */
  apiKey?: string | undefined;
}

/**
 * A fake: an HTTP server on 127.0.0.1 that speaks `/v2/rerank` (Cohere), `/v1/rerank` (Jina, vLLM, llama-server) and
 * `/rerank` (text-embeddings-inference), with shared terms in place of a model. Results come best first, as from the real ones.
 */
export async function startRerankApi(options: RerankApiOptions = {}): Promise<RerankApi> {
  const { apiKey } = options;
  const model = deterministicReranker();
  const log: RerankRequest[] = [];
  const faults: RerankFault[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    const body = JSON.parse(await readText(request)) as RerankRequest["body"];
    log.push({ path, headers: request.headers as Record<string, string>, body });
    const fault = faults.shift();
    if (fault?.hang === true) return;
    if (fault !== undefined) return send(response, fault.status ?? 200, fault.body ?? {}, fault.headers);
    if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`)
      return send(response, 401, { message: `invalid api token: ${request.headers.authorization ?? ""}` });
    const isTei = path === "/rerank";
    const texts = isTei ? body.texts : body.documents;
    if (!["/rerank", "/v1/rerank", "/v2/rerank"].includes(path)) return send(response, 404, { message: "not found" });
    if (texts === undefined || typeof body.query !== "string")
      return send(response, 422, { error: `missing field ${isTei ? "texts" : "documents"}` });
    const scores = await model.rerank(body.query, texts, { signal: new AbortController().signal });
    const rows = scores.map((score, index) => ({ index, score })).toSorted((a, b) => b.score - a.score);
    const results = rows.map(({ index, score: relevance }) => ({ index, relevance_score: relevance }));
    send(response, 200, isTei ? rows : { id: "1", results, meta: {} });
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    fail: (fault) => faults.push(fault),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
