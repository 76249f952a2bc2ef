import { type EmbeddingBatches, EmbeddingError, type EmbeddingJobState } from "@memslot/core";
import { isGone, oddAnswer, statusOf } from "./failure.ts";
import { type JobContext, JobFiles, type JobResult, drain } from "./job-files.ts";

// Some 125,000 tokens. How many an account may have waiting is not published: new paid ones were let in with this many,
// and refused with twice as many.
const maxItems = 300;
const maxBytes = 500_000;

/** The long-running operation that a job is, as far as it is used here. */
interface Operation {
  name?: unknown;
  done?: unknown;
  error?: { message?: unknown };
  response?: { responsesFile?: unknown };
  metadata?: {
    state?: unknown;
    output?: { responsesFile?: unknown };
    batchStats?: { successfulRequestCount?: unknown; failedRequestCount?: unknown };
  };
}

/**
 * Jobs of `asyncBatchEmbedContent`, with the texts in a file that is uploaded before and deleted after: results then
 * come as lines that can be read one by one, where a job with its texts inside answers with all vectors at once. The
 * name of a job is that of the operation, a space, and that of the file.
 */
export function createBatches(context: JobContext): EmbeddingBatches {
  const { client, endpoint, model } = context;
  const files = new JobFiles(context);

  /** Undefined for a job that Google does not know. */
  async function look(operation: string, signal: AbortSignal | undefined): Promise<Operation | undefined> {
    try {
      return await client.request("GET", operation, { signal, read: readOperation });
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async function readOperation(response: Response): Promise<Operation> {
    const operation = (await response.json()) as Operation | null;
    if (typeof operation?.name !== "string") throw oddAnswer(endpoint, "something that is no job");
    return operation;
  }

  return {
    maxItems,
    maxBytes,
    async submit(texts, { signal }) {
      const file = await files.upload(texts, signal);
      try {
        // Not by the SDK: it writes a warning to the console for each job.
        const { name } = await client.request("POST", `models/${model.name}:asyncBatchEmbedContent`, {
          signal,
          body: { batch: { displayName: "memslot", inputConfig: { file_name: file } } },
          read: readOperation,
        });
        return `${String(name)} ${file}`;
      } catch (error) {
        await files.discard(file);
        throw error;
      }
    },
    async state(job, { signal }) {
      const operation = await look(partsOf(job).operation, signal);
      if (operation === undefined)
        return { state: "unknown", reason: `${endpoint.base.host} knows no such job (any more)` };
      return stateOf(operation);
    },
    async collect(job, { count, signal, onUsage }) {
      const { operation, file } = partsOf(job);
      const results: JobResult[] = Array.from({ length: count });
      const outcome = await look(operation, signal);
      const made = outcome?.metadata?.output?.responsesFile ?? outcome?.response?.responsesFile;
      if (typeof made === "string") {
        const tokens = await files.download(made, results, signal);
        if (tokens > 0) onUsage?.({ tokens });
      }
      await files.discard(file);
      return results;
    },
    async cancel(job, { signal }) {
      const { operation, file } = partsOf(job);
      try {
        await client.request("POST", `${operation}:cancel`, { signal, body: {}, read: drain });
      } catch (error) {
        // A job that is over is refused with 400.
        if (!isGone(error) && statusOf(error) !== 400) throw error;
      }
      await files.discard(file);
    },
  };
}

function partsOf(job: string): { operation: string; file: string } {
  const [, operation, file] = /^(batches\/[\w.-]+) (files\/[\w.-]+)$/.exec(job) ?? [];
  if (operation === undefined || file === undefined)
    throw new EmbeddingError("input", `gemini: ${JSON.stringify(job)} is no name of a batch job`);
  return { operation, file };
}

function stateOf({ done, error, metadata }: Operation): EmbeddingJobState {
  const word = String(metadata?.state ?? "").replace(/^(?:BATCH|JOB)_STATE_/, "");
  const told = typeof error?.message === "string" ? `: ${error.message}` : "";
  if (word === "EXPIRED") return { state: "expired", reason: `gemini did not finish the job in time${told}` };
  if (word === "CANCELLED") return { state: "failed", reason: "the job was cancelled" };
  if (word === "FAILED" || (done === true && error !== undefined))
    return { state: "failed", reason: `gemini gave the job up${told}` };
  if (word.endsWith("SUCCEEDED") || done === true) return { state: "done" };
  const { successfulRequestCount = 0, failedRequestCount = 0 } = metadata?.batchStats ?? {};
  const completed = Number(successfulRequestCount) + Number(failedRequestCount);
  return { state: "running", completed: Number.isFinite(completed) ? completed : undefined };
}
