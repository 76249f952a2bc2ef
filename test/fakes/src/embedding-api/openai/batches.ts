import { type Answer, type Call, ok, openaiError } from "../answer.ts";
import { failsInPart, type JobClock, type JobFate } from "../jobs.ts";
import type { OpenaiFiles } from "./files.ts";

interface Batch {
  id: string;
  endpoint: string;
  inputFile: string;
  lines: string[];
  metadata: unknown;
  fate: JobFate;
  cancelled: boolean;
  /** What it has come to, once it is over. */
  end?: { outputFile: string | null; errorFile: string | null; completed: number; failed: number };
}

/** OpenAI's batch jobs. `embed` answers one line's request. */
export function createOpenaiBatches(context: {
  files: OpenaiFiles;
  jobs: JobClock;
  embed: (body: unknown) => Promise<Answer>;
}): { answer(call: Call): Promise<Answer | undefined> } {
  const { files, jobs } = context;
  const batches = new Map<string, Batch>();

  function create(body: unknown): Answer {
    const {
      input_file_id: inputFile,
      endpoint,
      completion_window: window,
      metadata = null,
    } = (body ?? {}) as {
      input_file_id?: unknown;
      endpoint?: unknown;
      completion_window?: unknown;
      metadata?: unknown;
    };
    const file = typeof inputFile === "string" ? files.get(inputFile) : undefined;
    if (file === undefined || file.purpose !== "batch")
      return openaiError(400, `Invalid input_file_id: ${String(inputFile)}`, { param: "input_file_id" });
    if (endpoint !== "/v1/embeddings")
      return openaiError(400, `Invalid endpoint: ${String(endpoint)}`, { param: "endpoint" });
    if (window !== "24h") return openaiError(400, "Invalid completion_window", { param: "completion_window" });
    const lines = file.data.toString("utf8").split("\n").filter(Boolean);
    const id = `batch_${batches.size + 1}`;
    const batch = { id, endpoint, inputFile: file.id, lines, metadata, fate: jobs.start(), cancelled: false };
    batches.set(id, batch);
    return ok(view(batch, "validating"));
  }

  /** Does the work, the first time that somebody asks after the end. Lines come back in another order, as they may. */
  async function finish(batch: Batch): Promise<void> {
    if (batch.end !== undefined || batch.cancelled || !batch.fate.isOver()) return;
    batch.end = { outputFile: null, errorFile: null, completed: 0, failed: 0 };
    if (batch.fate.outcome === "failed") return;
    const done: string[] = [];
    const failed: string[] = [];
    for (const [index, line] of batch.lines.entries()) {
      const { custom_id, body } = JSON.parse(line) as { custom_id: string; body: unknown };
      const result = await resultOf(batch, index, body);
      const isDone = result.error === null && result.response.status_code === 200;
      (isDone ? done : failed).unshift(JSON.stringify({ id: `batch_req_${batch.id}_${index}`, custom_id, ...result }));
    }
    const write = (lines: string[], kind: string): string | null =>
      lines.length === 0
        ? null
        : files.add({
            name: `${batch.id}_${kind}.jsonl`,
            purpose: "batch_output",
            data: Buffer.from(lines.map((line) => `${line}\n`).join("")),
          }).id;
    batch.end = {
      outputFile: write(done, "output"),
      errorFile: write(failed, "error"),
      completed: done.length,
      failed: failed.length,
    };
  }

  async function resultOf({ fate, lines }: Batch, index: number, body: unknown): Promise<LineResult> {
    if (fate.outcome === "expired" && index >= lines.length / 2)
      return {
        response: null,
        error: {
          code: "batch_expired",
          message: "This request could not be executed before the completion window expired.",
        },
      };
    const answer = failsInPart(fate.outcome, index)
      ? openaiError(500, "The server had an error processing this request.", { type: "server_error" })
      : await context.embed(body);
    return { response: { status_code: answer.status, request_id: `req_${index}`, body: answer.body }, error: null };
  }

  return {
    async answer(call) {
      const path = call.url.pathname;
      if (path === "/v1/batches" && call.method === "POST") return create(call.json);
      if (path === "/v1/batches") {
        for (const batch of batches.values()) await finish(batch);
        return ok({ object: "list", data: [...batches.values()].map((batch) => view(batch)), has_more: false });
      }
      const [, id, cancel] = /^\/v1\/batches\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
      if (id === undefined) return undefined;
      const batch = batches.get(id);
      if (batch === undefined) return openaiError(404, `No batch found with id '${id}'.`);
      await finish(batch);
      if (cancel === undefined) return ok(view(batch));
      if (batch.end !== undefined) return openaiError(409, `Cannot cancel a batch with status '${statusOf(batch)}'.`);
      batch.cancelled = true;
      return ok(view(batch, "cancelling"));
    },
  };
}

type LineResult =
  | { response: { status_code: number; request_id: string; body: unknown }; error: null }
  | { response: null; error: { code: string; message: string } };

function statusOf({ cancelled, end, fate }: Batch): string {
  if (cancelled) return "cancelled";
  if (end === undefined) return "in_progress";
  if (fate.outcome === "failed") return "failed";
  return fate.outcome === "expired" ? "expired" : "completed";
}

function view(batch: Batch, status: string = statusOf(batch)): Record<string, unknown> {
  const { id, endpoint, inputFile, lines, metadata, fate, end } = batch;
  const error = { code: "invalid_request", message: "The input file cannot be worked on.", param: null, line: null };
  return {
    id,
    object: "batch",
    endpoint,
    errors: status === "failed" ? { object: "list", data: [error] } : null,
    input_file_id: inputFile,
    completion_window: "24h",
    status,
    output_file_id: end?.outputFile ?? null,
    error_file_id: end?.errorFile ?? null,
    created_at: Math.floor(fate.createdAt / 1000),
    expires_at: Math.floor(fate.createdAt / 1000) + 86_400,
    request_counts: { total: lines.length, completed: end?.completed ?? 0, failed: end?.failed ?? 0 },
    metadata,
  };
}
