import { type EmbeddingBatches, EmbeddingError, type EmbeddingJobState } from "@memslot/core";
import { answerLines, vectorAnswerBytes } from "@memslot/core/providers";
import type { Connection } from "./connection.ts";
import type { Endpoint } from "./endpoint.ts";
import { nameOf, noBatchesAdvice, httpFailure, noVectorsFailure, withoutSecrets } from "./http-failures.ts";
import { isRecord, readVectors } from "./read-vectors.ts";
import type { EncodingFormat, TextRules } from "./texts.ts";

type Client = ReturnType<Connection["client"]>;
type Batch = Awaited<ReturnType<Client["batches"]["retrieve"]>>;

/** What the interface allows for one job. */
const maxFileBytes = 200_000_000;
const deleteMs = 10_000;

/**
 * The batch interface: a file with one request a line is uploaded, a job works it off within 24 hours, and its answers
 * are fetched as files. A job is named by the id that the server gave it. The files are deleted when the job has been
 * stored or cancelled; what a job leaves behind that nobody asks for again, OpenAI deletes after 30 days.
 */
export function createBatches(options: {
  connect: () => Promise<Connection>;
  rules: TextRules;
  format: () => EncodingFormat;
  endpoint: Endpoint;
  dimensions: number | undefined;
}): EmbeddingBatches {
  const { connect, rules, format, endpoint, dimensions } = options;
  const model = rules.model;

  /** Asks for a job. Undefined for one that is gone, or whatever else is fine. */
  async function ask<T>(
    path: string,
    signal: AbortSignal | undefined,
    call: (client: Client, clientFor: Connection["client"]) => Promise<T>,
    isFine: (error: unknown) => boolean = isMissing,
  ): Promise<T | undefined> {
    signal?.throwIfAborted();
    const { client: clientFor, failure } = await connect();
    try {
      return await call(clientFor(), clientFor);
    } catch (error) {
      if (isFine(error)) return undefined;
      throw failure(error, { path, signal });
    }
  }

  return {
    maxItems: 50_000,
    // About two million tokens. A new account may have three million waiting at one time.
    maxBytes: 8_000_000,

    async submit(texts, { signal }) {
      signal.throwIfAborted();
      const { client: clientFor, failure } = await connect();
      const client = clientFor();
      const lines = texts.map((text, index) => {
        const body = rules.body("document", [text], format());
        return `${JSON.stringify({ custom_id: String(index), method: "POST", url: "/v1/embeddings", body })}\n`;
      });
      const file = new File(lines, "memslot.jsonl", { type: "application/jsonl" });
      if (file.size > maxFileBytes)
        throw new EmbeddingError("input", `a batch job of ${file.size} bytes is larger than ${maxFileBytes}`);
      let path = "/files";
      let uploaded: string | undefined;
      try {
        uploaded = idOf(await client.files.create({ file, purpose: "batch" }, { signal }), path, endpoint);
        path = "/batches";
        const job = { input_file_id: uploaded, endpoint: "/v1/embeddings", completion_window: "24h" } as const;
        return idOf(await client.batches.create(job, { signal }), path, endpoint);
      } catch (error) {
        // The failure, or the abort, is not kept waiting.
        void forget(client, [uploaded]);
        throw failure(error, { path, signal });
      }
    },

    async state(job, { signal }) {
      const batch = await ask("/batches", signal, (client) => client.batches.retrieve(job, { signal }));
      return batch ? stateOf(batch) : { state: "unknown", reason: `${nameOf(endpoint)} does not know the job ${job}` };
    },

    async collect(job, { count, signal, onUsage }) {
      const results = Array.from<ArrayLike<number> | EmbeddingError | undefined>({ length: count });
      let tokens = 0;
      // What is gone cannot be collected: those texts count as not worked on.
      await ask("/files", signal, async (client, clientFor) => {
        const batch = await client.batches.retrieve(job, { signal });
        for (const id of [batch.output_file_id, batch.error_file_id]) {
          if (!id) continue;
          const file = await clientFor(vectorAnswerBytes({ texts: count, dimensions })).files.content(id, { signal });
          if (!file.body) continue;
          const lines = answerLines(file.body, { who: nameOf(endpoint), dimensions });
          tokens += await collectLines(lines, results, { endpoint, model });
        }
      });
      if (tokens > 0) onUsage?.({ tokens });
      return results;
    },

    async discard(job, { signal }) {
      await ask("/files", signal, async (client) =>
        forgetFiles(client, await client.batches.retrieve(job, { signal })),
      );
    },

    async cancel(job, { signal }) {
      await ask(
        "/batches",
        signal,
        async (client) => forgetFiles(client, await client.batches.cancel(job, { signal })),
        // It is gone, or it has ended by itself.
        (error) => hasStatus(error, 404, 400, 409),
      );
    },
  };
}

function stateOf({ status, errors, request_counts }: Batch): EmbeddingJobState {
  const first = errors?.data?.[0]?.message;
  if (status === "completed") return { state: "done" };
  if (status === "cancelled") return { state: "failed", reason: "the job was cancelled" };
  if (status === "failed")
    return { state: "failed", reason: first ?? "the job failed, and the server does not say why" };
  if (status === "expired") return { state: "expired", reason: first ?? "the job was not finished within 24 hours" };
  return { state: "running", completed: request_counts?.completed };
}

async function forgetFiles(client: Client, batch: Batch): Promise<void> {
  await forget(client, [batch.input_file_id, batch.output_file_id, batch.error_file_id]);
}

/** Best effort: a file that stays is deleted by the server in time. */
async function forget(client: Client, files: readonly (string | null | undefined)[]): Promise<void> {
  const ids = files.filter((id) => typeof id === "string" && id !== "");
  await Promise.allSettled(ids.map((id) => client.files.delete(String(id), { timeout: deleteMs })));
}

function idOf(answer: unknown, path: string, endpoint: Endpoint): string {
  if (isRecord(answer) && typeof answer["id"] === "string") return answer["id"];
  throw new EmbeddingError("auth", `${nameOf(endpoint)} answered ${path} without an id. ${noBatchesAdvice}`);
}

function isMissing(error: unknown): boolean {
  return hasStatus(error, 404);
}

function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  return isRecord(error) && typeof error["status"] === "number" && statuses.includes(error["status"]);
}

type Result = ArrayLike<number> | EmbeddingError | undefined;

/**
 * Puts what the lines say to the places in `results` that they name. Gives the tokens that they say it has cost. Texts
 * that were not worked on, because the job expired or was cancelled, keep `undefined`.
 */
async function collectLines(
  lines: AsyncIterable<string>,
  results: Result[],
  about: { endpoint: Endpoint; model: string },
): Promise<number> {
  const asked = { ...about, path: "/embeddings" };
  let tokens = 0;
  for await (const line of lines) {
    const row = parsed(line);
    if (!isRecord(row)) continue;
    const index = /^\d+$/.test(String(row["custom_id"])) ? Number(row["custom_id"]) : results.length;
    if (index >= results.length) continue;
    const { response, error } = row;
    if (isRecord(response)) {
      const { status_code: status, body } = response;
      const answer = readVectors(body);
      if (typeof status === "number" && (status < 200 || status > 299))
        results[index] = httpFailure({ status, body }, asked);
      else results[index] = answer?.vectors[0] ?? noVectorsFailure(body, asked);
      tokens += answer?.tokens ?? 0;
    } else if (isRecord(error)) results[index] = lineFailure(error, about.endpoint);
  }
  return tokens;
}

function lineFailure({ code, message }: Record<string, unknown>, endpoint: Endpoint): EmbeddingError | undefined {
  if (code === "batch_expired" || code === "batch_cancelled") return undefined;
  const words = withoutSecrets(`${String(code)}: ${String(message)}`, endpoint);
  return new EmbeddingError("transient", `the batch job failed for this text with ${words}`);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // A line that was cut short names no text: it counts as not worked on.
  }
}
