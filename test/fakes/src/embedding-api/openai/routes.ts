import { type Answer, type Call, openaiError } from "../answer.ts";
import type { ApiFault } from "../faults.ts";
import type { JobClock } from "../jobs.ts";
import { createOpenaiBatches } from "./batches.ts";
import { openaiEmbeddings } from "./embeddings.ts";
import { createOpenaiFiles } from "./files.ts";
import type { EmbeddingApiLimits } from "../options.ts";
import type { VectorSource } from "../vectors.ts";

/** Answers a call; `fault` is what is to be wrong with the vectors. */
export type Routes<Fault = ApiFault> = (call: Call, fault: Fault | undefined) => Promise<Answer>;

/** The paths of OpenAI: embeddings, models, files, batches. */
export function createOpenaiRoutes(context: {
  vectors: VectorSource;
  jobs: JobClock;
  limits: EmbeddingApiLimits;
}): Routes {
  const { vectors, jobs, limits } = context;
  const files = createOpenaiFiles();
  const batches = createOpenaiBatches({ files, jobs, embed: (body) => openaiEmbeddings(body, { vectors, limits }) });
  return async (call, fault) => {
    const path = call.url.pathname;
    if (path === "/v1/embeddings" && call.method === "POST")
      return openaiEmbeddings(call.json, { vectors, limits, fault });
    return (
      (await files.answer(call)) ??
      (await batches.answer(call)) ??
      openaiError(404, `Invalid URL (${call.method} ${path})`)
    );
  };
}
