import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import {
  type Answer,
  type ApiLimits,
  type Call,
  encode,
  isGeminiCall,
  JobQueue,
  type JobBehaviour,
  VectorSource,
} from "./shared-api.ts";
import { type ApiFault, FaultQueue, type FaultBehaviour, faultyAnswer, vectorFaultOf } from "./faults.ts";
import { createGemini } from "./gemini-routes.ts";
import { createOpenAi } from "./openai-routes.ts";

export { type ApiFault, type Quirk, quirks } from "./faults.ts";

export interface EmbeddingApiOptions {
  /** Length of the vectors if a request asks for none; 768 by default. */
  dimensions?: number | undefined;
  /** Milliseconds before each answer. */
  latencyMs?: number | undefined;
  /** Milliseconds of a batch job; 50 by default. */
  jobMs?: number | undefined;
  /** Any other key is answered with 401. By default every key is right, and OpenAI's paths need none. */
  apiKey?: string | undefined;
  /** Larger requests are answered with 400. By default those of OpenAI, and 100 texts for Gemini. */
  limits?: ApiLimits | undefined;
  /** Makes the vectors in place of the deterministic embeddings. */
  embed?: ((text: string, identity: { model: string; dimensions: number }) => Float32Array) | undefined;
}

export interface ApiRequest {
  method: string;
  /** With the query, as sent. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** Milliseconds since 1970. */
  at: number;
}

export interface EmbeddingApi {
  /** `http://127.0.0.1:PORT`: the base URL of Gemini; with `/v1` that of OpenAI. */
  url: string;
  /** Every request since the start or the last reset, oldest first. */
  log: ApiRequest[];
  /** `embeddingRequests`: without uploads and batch jobs. `texts`: with a vector, those of batch jobs included. */
  stats(): { requests: number; embeddingRequests: number; texts: number; tokens: number; maxInFlight: number };
  /** Applies to the next matching requests, after faults that were added before. */
  fail(fault: ApiFault): void;
  /** For jobs submitted from now on. */
  setJobs(behaviour: JobBehaviour): void;
  /** Clears log, counts and faults, and keeps files and jobs. */
  reset(): void;
  /** Ends every connection, hanging ones too. */
  close(): Promise<void>;
}

/**
 * Starts an HTTP server on 127.0.0.1 with the embedding APIs of OpenAI (under `/v1`) and Gemini, batch jobs included. It
 * has deterministic embeddings in place of a model, delivers faults on request, and logs every request.
 */
export async function startEmbeddingApi(options: EmbeddingApiOptions = {}): Promise<EmbeddingApi> {
  const vectors = new VectorSource(options);
  const jobs = new JobQueue(options.jobMs ?? 50);
  const { apiKey, limits = {} } = options;
  const openai = createOpenAi({ vectors, jobs, limits, apiKey });
  const gemini = createGemini({ vectors, jobs, limits, apiKey });
  const faults = new FaultQueue();
  const closing = new AbortController();
  const log: ApiRequest[] = [];
  let [inFlight, maxInFlight] = [0, 0];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    response.on("close", () => inFlight--);
    const call = await readCall(request);
    const { method, url, headers, raw } = call;
    log.push({ method, path: `${url.pathname}${url.search}`, headers, body: raw.toString("utf8"), at: Date.now() });
    const fault = faults.take(call, log.length);
    if (options.latencyMs) await sleep(options.latencyMs, undefined, { signal: closing.signal });
    if (fault?.behaviour === "hang") return;
    if (fault?.behaviour === "drop") return void response.destroy();
    const routed = isGeminiCall(call) ? gemini : openai;
    const answer = (fault && faultyAnswer(fault, call)) ?? (await routed(call, vectorFaultOf(fault), fault?.format));
    const [pattern, text = ""] = fault?.replace ?? [];
    if (pattern !== undefined) {
      answer.body = encode(answer).bytes.toString().replaceAll(new RegExp(pattern, "gu"), text);
      answer.headers = { "content-type": "application/json" };
    }
    send(response, { ...answer, headers: { ...answer.headers, ...fault?.headers } }, fault?.behaviour);
  }

  const server = createServer((request, response) => {
    // The client has gone away, or the server is closing.
    serve(request, response).catch(() => response.destroy());
  });
  // Longer than any test: no client meets a connection that is being closed.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    stats: () => ({
      requests: log.length,
      embeddingRequests: log.filter(({ path }) => /\/embeddings$|:batchEmbedContents\b/.test(path)).length,
      ...vectors.counts,
      maxInFlight,
    }),
    fail: (fault) => faults.add(fault),
    setJobs: (behaviour) => jobs.set(behaviour),
    reset() {
      log.length = 0;
      faults.clear();
      vectors.counts = { texts: 0, tokens: 0 };
      maxInFlight = inFlight;
    },
    async close() {
      closing.abort();
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const raw = Buffer.concat(await request.toArray());
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const isJson = headers["content-type"]?.includes("json") && !headers["x-goog-upload-command"]?.includes("upload");
  return {
    method: request.method ?? "",
    url: new URL(request.url ?? "/", `http://${headers["host"]}`),
    headers,
    raw,
    json: isJson && raw.length > 0 ? (JSON.parse(raw.toString("utf8")) as unknown) : undefined,
  };
}

function send(response: ServerResponse, answer: Answer, behaviour: FaultBehaviour | undefined): void {
  const { bytes, type } = encode(answer);
  if (behaviour === "bomb" || behaviour === "endless") return flood(response, behaviour);
  response.writeHead(answer.status, { "content-type": type, "content-length": bytes.length, ...answer.headers });
  if (behaviour === "drip") drip(response, bytes);
  else if (behaviour === "disconnect") {
    // After the first half is sent: a client without any byte takes it for a connection that was never made.
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  } else response.end(bytes);
}

function flood(response: ServerResponse, behaviour: "bomb" | "endless"): void {
  const type = { "content-type": "application/json" };
  if (behaviour === "bomb") {
    const part = gzipSync(Buffer.alloc(1 << 24, " "));
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => part));
    response.writeHead(200, { ...type, "content-encoding": "gzip", "content-length": bomb.length }).end(bomb);
    return;
  }
  response.writeHead(200, type);
  const part = Buffer.alloc(1 << 16, " ");
  const writeOn = (): void => {
    while (!response.destroyed && response.write(part));
  };
  response.on("drain", writeOn);
  writeOn();
}

function drip(response: ServerResponse, bytes: Buffer): void {
  response.flushHeaders();
  let sent = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, ++sent));
    if (sent >= bytes.length) response.end();
  }, 200);
  response.on("close", () => clearInterval(timer));
}
