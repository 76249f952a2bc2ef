import { type Answer, type Call, geminiError } from "../answer.ts";
import { createGeminiBatches } from "./batches.ts";
import { createGeminiEmbeddings } from "./embeddings.ts";
import { createGeminiFiles } from "./files.ts";
import type { JobClock } from "../jobs.ts";
import type { VectorFault } from "../faults.ts";
import type { Routes } from "../openai/routes.ts";
import type { EmbeddingApiLimits } from "../options.ts";
import type { VectorSource } from "../vectors.ts";

/** The paths of Gemini, in `v1`, `v1beta` and `v1alpha`: models with their verbs, batches, uploads, downloads. */
export function createGeminiRoutes(context: {
  vectors: VectorSource;
  jobs: JobClock;
  limits: EmbeddingApiLimits;
}): Routes<VectorFault> {
  const embeddings = createGeminiEmbeddings(context);
  const files = createGeminiFiles();
  const batches = createGeminiBatches({
    files,
    jobs: context.jobs,
    embed: (model, body) => embeddings.one(model, body),
  });
  return async (call, fault) => {
    const path = call.url.pathname;
    const [, model, verb] = /^\/v1(?:beta|alpha)?\/models\/([^/:]+)(?::(\w+))$/.exec(path) ?? [];
    if (model !== undefined) {
      if (verb === "embedContent") return embeddings.one(model, call.json, fault);
      if (verb === "batchEmbedContents") return embeddings.many(model, call.json, fault);
      if (verb === "asyncBatchEmbedContent") return batches.create(model, call.json);
    }
    return files.answer(call) ?? (await batches.answer(call)) ?? notFound(call);
  };
}

/** A path that does not exist is answered with a page, not with JSON. */
function notFound({ method, url }: Call): Answer {
  if (/:\w+$/.test(url.pathname)) return geminiError(404, `${method} ${url.pathname} is not found.`);
  return {
    status: 404,
    body: `<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n  <p><b>404.</b> <ins>That’s an error.</ins>\n  <p>The requested URL was not found on this server. <ins>That’s all we know.</ins>\n`,
  };
}
