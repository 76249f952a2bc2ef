import { type Answer, type Call, geminiError, ok, openaiError } from "./answer.ts";
import type { VectorFault } from "./faults.ts";
import { createGeminiBatches } from "./gemini-batches.ts";
import { createGeminiEmbeddings } from "./gemini-embeddings.ts";
import { createGeminiFiles } from "./gemini-files.ts";
import type { JobClock } from "./jobs.ts";
import { createOpenaiBatches } from "./openai-batches.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { createOpenaiFiles } from "./openai-files.ts";
import type { EmbeddingApiLimits } from "./options.ts";
import type { VectorSource } from "./vectors.ts";

/** Answers a call; `fault` is what is to be wrong with the vectors. */
type Routes = (call: Call, fault: VectorFault | undefined) => Promise<Answer>;

interface RouteContext {
  vectors: VectorSource;
  jobs: JobClock;
  limits: EmbeddingApiLimits;
}

/** The paths of OpenAI: embeddings, models, files, batches. */
export function createOpenaiRoutes(context: RouteContext): Routes {
  const { vectors, jobs, limits } = context;
  const files = createOpenaiFiles();
  const batches = createOpenaiBatches({ files, jobs, embed: (body) => openaiEmbeddings(body, { vectors, limits }) });
  return async (call, fault) => {
    const path = call.url.pathname;
    if (path === "/v1/embeddings" && call.method === "POST")
      return openaiEmbeddings(call.json, { vectors, limits, fault });
    if (path === "/v1/models" && call.method === "GET")
      return ok({ object: "list", data: ["text-embedding-3-small", "text-embedding-3-large"].map(openaiModel) });
    const [, model] = /^\/v1\/models\/([^/:]+)$/.exec(path) ?? [];
    if (model !== undefined && call.method === "GET") return ok(openaiModel(decodeURIComponent(model)));
    return (
      (await files.answer(call)) ??
      (await batches.answer(call)) ??
      openaiError(404, `Invalid URL (${call.method} ${path})`)
    );
  };
}

function openaiModel(id: string): Record<string, unknown> {
  return { id, object: "model", created: 1_705_953_180, owned_by: "system" };
}

/** The paths of Gemini, in `v1`, `v1beta` and `v1alpha`: models with their verbs, batches, uploads, downloads. */
export function createGeminiRoutes(context: RouteContext): Routes {
  const embeddings = createGeminiEmbeddings(context);
  const files = createGeminiFiles();
  const batches = createGeminiBatches({
    files,
    jobs: context.jobs,
    embed: (model, body) => embeddings.one(model, body),
  });
  return async (call, fault) => {
    const path = call.url.pathname;
    const [, model, verb] = /^\/v1(?:beta|alpha)?\/models\/([^/:]+)(?::(\w+))?$/.exec(path) ?? [];
    if (model !== undefined) {
      if (verb === undefined) return ok(geminiModel(model));
      if (verb === "embedContent") return embeddings.one(model, call.json, fault);
      if (verb === "batchEmbedContents") return embeddings.many(model, call.json, fault);
      if (verb === "countTokens") return embeddings.count(call.json);
      if (verb === "asyncBatchEmbedContent") return batches.create(model, call.json);
    }
    if (/^\/v1(?:beta|alpha)?\/models$/.test(path)) return ok({ models: [geminiModel("gemini-embedding-001")] });
    return files.answer(call) ?? (await batches.answer(call)) ?? notFound(call);
  };
}

function geminiModel(name: string): Record<string, unknown> {
  const supportedGenerationMethods = ["embedContent", "countTokens", "asyncBatchEmbedContent"];
  return { name: `models/${name}`, displayName: name, inputTokenLimit: 2048, supportedGenerationMethods };
}

/** A path that does not exist is answered with a page, not with JSON. */
function notFound({ method, url }: Call): Answer {
  if (/:\w+$/.test(url.pathname)) return geminiError(404, `${method} ${url.pathname} is not found.`);
  return {
    status: 404,
    body: `<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n  <p><b>404.</b> <ins>That’s an error.</ins>\n  <p>The requested URL was not found on this server. <ins>That’s all we know.</ins>\n`,
  };
}
