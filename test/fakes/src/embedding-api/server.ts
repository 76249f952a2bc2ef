import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, type Call, geminiError, openaiError, encode } from "./answer.ts";
import { isGeminiCall, refusal } from "./auth.ts";
import { type ApiFault, createFaultQueue, faultyAnswer, vectorFaultOf, type FaultBehaviour } from "./faults.ts";
import { createGeminiRoutes } from "./gemini/routes.ts";
import { createJobClock } from "./jobs.ts";
import { createOpenaiRoutes } from "./openai/routes.ts";
import type { ApiRequest, EmbeddingApi, EmbeddingApiOptions } from "./options.ts";
import { createVectorSource } from "./vectors.ts";
import { gzipSync } from "node:zlib";

/**
 * A fake: an HTTP server on 127.0.0.1 that speaks the embedding APIs of OpenAI and of Gemini, batch jobs too, with the
 * deterministic embeddings in place of a model, and with faults to order. It remembers every request.
 */
export async function startEmbeddingApi(options: EmbeddingApiOptions = {}): Promise<EmbeddingApi> {
  const vectors = createVectorSource(options);
  const jobs = createJobClock(options.jobMs ?? 50);
  const context = { vectors, jobs, limits: options.limits ?? {} };
  const openai = createOpenaiRoutes(context);
  const gemini = createGeminiRoutes(context);
  const faults = createFaultQueue();
  const closing = new AbortController();
  const log: ApiRequest[] = [];
  let inFlight = 0;
  let maxInFlight = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    response.on("close", () => inFlight--);
    const call = await readCall(request);
    log.push(recordOf(call));
    const path = call.url.pathname;
    const fault = faults.take(call, log.length);
    if (options.latencyMs) await sleep(options.latencyMs, undefined, { signal: closing.signal });
    if (fault?.behaviour === "hang") return;
    if (fault?.behaviour === "drop") return void response.destroy();
    const answer = (fault && faultyAnswer(fault, path)) ?? (await routed(call, fault));
    const [pattern, text = ""] = fault?.replace ?? [];
    if (pattern !== undefined) {
      answer.body = encode(answer).bytes.toString().replaceAll(new RegExp(pattern, "gu"), text);
      answer.headers = { "content-type": "application/json" };
    }
    send(response, { ...answer, headers: { ...answer.headers, ...fault?.headers } }, fault?.behaviour);
  }

  async function routed(call: Call, fault: ApiFault | undefined): Promise<Answer> {
    const isGemini = isGeminiCall(call);
    const refused = refusal(call, options.apiKey);
    if (refused !== undefined) return refused;
    if (call.json === unreadable) {
      const message = "We could not parse the JSON body of your request.";
      return isGemini ? geminiError(400, "Invalid JSON payload received.") : openaiError(400, message);
    }
    return isGemini ? gemini(call, vectorFaultOf(fault)) : openai(call, fault);
  }

  const server = createServer((request, response) => {
    // A client that goes away in mid-request, or a server that is closing, leaves nobody to answer.
    serve(request, response).catch(() => response.destroy());
  });
  // Longer than any test: a client must not meet a connection that is just being given up.
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
      embeddingRequests: log.filter(({ path }) => /\/embeddings$|:(?:batchEmbedContents|embedContent)\b/.test(path))
        .length,
      ...vectors.counts,
      maxInFlight,
    }),
    fail: (fault) => faults.add(fault),
    setJobs: (behaviour) => jobs.set(behaviour),
    reset() {
      log.length = 0;
      faults.clear();
      vectors.counts.texts = 0;
      vectors.counts.tokens = 0;
      maxInFlight = inFlight;
    },
    async close() {
      closing.abort();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}

const unreadable = Symbol("unreadable");

async function readCall(request: IncomingMessage): Promise<Call> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const raw = Buffer.concat(parts);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
  // A piece of an upload is called JSON by Google's own client, whatever it is.
  const isPiece = (headers["x-goog-upload-command"] ?? "").includes("upload");
  const isJson = raw.length > 0 && !isPiece && (headers["content-type"] ?? "").includes("json");
  return {
    method: request.method ?? "",
    url: new URL(request.url ?? "/", `http://${headers.host ?? "127.0.0.1"}`),
    headers,
    raw,
    json: isJson ? parsed(raw) : undefined,
  };
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch {
    return unreadable;
  }
}

function recordOf({ method, url, headers, raw }: Call): ApiRequest {
  return { method, path: `${url.pathname}${url.search}`, headers, body: raw.toString("utf8"), at: Date.now() };
}

const dripMs = 200;
const blanks = 1 << 24;
const bombParts = 64;

/** Sends an answer, in the way that the fault says. */
function send(response: ServerResponse, answer: Answer, behaviour: FaultBehaviour | undefined): void {
  const { bytes, type } = encode(answer);
  if (behaviour === "bomb" || behaviour === "endless") return flood(response, behaviour);
  response.writeHead(answer.status, { "content-type": type, "content-length": bytes.length, ...answer.headers });
  if (behaviour === "drip") drip(response, bytes);
  else if (behaviour === "disconnect") {
    // Broken only when the half is out: a client that sees no byte takes it for a connection that was never made.
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  } else response.end(bytes);
}

/** More than anybody asked for: at once in a small space, or without end. */
function flood(response: ServerResponse, behaviour: "bomb" | "endless"): void {
  const type = { "content-type": "application/json" };
  if (behaviour === "bomb") {
    const part = gzipSync(Buffer.alloc(blanks, " "));
    response.writeHead(200, { ...type, "content-encoding": "gzip", "content-length": part.length * bombParts });
    response.end(Buffer.concat(Array.from({ length: bombParts }, () => part)));
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
  }, dripMs);
  response.on("close", () => clearInterval(timer));
}
