import { type Answer, type Call, geminiError, ok } from "../answer.ts";
import type { GeminiFiles } from "./files.ts";
import { failsInPart, type JobClock, type JobFate } from "../jobs.ts";

/** One text of a job: what is asked, and what names it in the answer. */
interface Item {
  request: unknown;
  /** `key` of a line in a file, `metadata` of an inlined request. */
  label: Record<string, unknown>;
}

interface Batch {
  name: string;
  model: string;
  displayName: string | undefined;
  items: Item[];
  isInlined: boolean;
  fate: JobFate;
  cancelled: boolean;
  output?: Record<string, unknown>;
  failed: number;
}

interface CreateBody {
  batch?: {
    displayName?: string;
    display_name?: string;
    inputConfig?: InputConfig;
    input_config?: InputConfig;
  };
}

interface InputConfig {
  requests?: { requests?: { request?: unknown; metadata?: unknown }[] };
  fileName?: string;
  file_name?: string;
}

/** Gemini's batch jobs: long-running operations whose metadata holds state and output. `embed` answers one request. */
export function createGeminiBatches(context: {
  files: GeminiFiles;
  jobs: JobClock;
  embed: (model: string, request: unknown) => Promise<Answer>;
}): { create(model: string, body: unknown): Answer; answer(call: Call): Promise<Answer | undefined> } {
  const { files, jobs } = context;
  const batches = new Map<string, Batch>();

  function itemsOf(config: InputConfig): Item[] | undefined {
    const inlined = config.requests?.requests;
    if (inlined !== undefined)
      return inlined.map(({ request, metadata }) => ({ request, label: metadata === undefined ? {} : { metadata } }));
    const data = files.get(config.fileName ?? config.file_name ?? "");
    return data
      ?.toString("utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => {
        const { key, request } = JSON.parse(line) as { key?: string; request?: unknown };
        return { request, label: { key } };
      });
  }

  /** Does the work, the first time that somebody asks after the end. Lines of a file come back in another order, as they may. */
  async function finish(batch: Batch): Promise<void> {
    if (batch.output !== undefined || batch.cancelled || !batch.fate.isOver()) return;
    batch.output = {};
    if (batch.fate.outcome === "failed" || batch.fate.outcome === "expired") return;
    const results: Record<string, unknown>[] = [];
    for (const [index, { request, label }] of batch.items.entries()) {
      const answer = failsInPart(batch.fate.outcome, index)
        ? geminiError(500, "Internal error encountered.")
        : await context.embed(batch.model, request);
      if (answer.status !== 200) batch.failed++;
      const result = answer.status === 200 ? { response: responseOf(answer) } : { error: errorOf(answer) };
      results.push({ ...label, ...result });
    }
    const lines = results.toReversed().map((result) => `${JSON.stringify(result)}\n`);
    batch.output = batch.isInlined
      ? { inlinedResponses: { inlinedResponses: results } }
      : { responsesFile: files.add(Buffer.from(lines.join(""))) };
  }

  return {
    create(model, body) {
      const batch = (body as CreateBody | undefined)?.batch;
      const config = batch?.inputConfig ?? batch?.input_config ?? {};
      const items = itemsOf(config);
      if (items === undefined) return geminiError(400, "The input config has neither requests nor a file that exists.");
      const name = `batches/made-${batches.size + 1}`;
      const made: Batch = {
        name,
        model,
        displayName: batch?.displayName ?? batch?.display_name,
        items,
        isInlined: config.requests !== undefined,
        fate: jobs.start(),
        cancelled: false,
        failed: 0,
      };
      batches.set(name, made);
      return ok({ name, metadata: metadataOf(made, "BATCH_STATE_PENDING") });
    },
    async answer({ method, url }) {
      if (/^\/v1(?:beta|alpha)?\/batches$/.test(url.pathname)) {
        for (const batch of batches.values()) await finish(batch);
        return ok({ operations: [...batches.values()].map(view) });
      }
      const [, name, cancel] = /^\/v1(?:beta|alpha)?\/(batches\/[^/:]+)(:cancel)?$/.exec(url.pathname) ?? [];
      if (name === undefined) return undefined;
      const batch = batches.get(name);
      if (batch === undefined) return geminiError(404, `Requested entity was not found: ${name}`);
      await finish(batch);
      if (cancel !== undefined) {
        if (batch.output === undefined) batch.cancelled = true;
        return ok({});
      }
      if (method !== "DELETE") return ok(view(batch));
      batches.delete(name);
      return ok({});
    },
  };
}

function stateOf({ cancelled, output, fate }: Batch): string {
  if (cancelled) return "BATCH_STATE_CANCELLED";
  if (output === undefined) return "BATCH_STATE_RUNNING";
  if (fate.outcome === "failed") return "BATCH_STATE_FAILED";
  return fate.outcome === "expired" ? "BATCH_STATE_EXPIRED" : "BATCH_STATE_SUCCEEDED";
}

function view(batch: Batch): Record<string, unknown> {
  const state = stateOf(batch);
  const operation = { name: batch.name, metadata: metadataOf(batch, state) };
  if (state === "BATCH_STATE_RUNNING") return operation;
  if (state === "BATCH_STATE_SUCCEEDED")
    return {
      ...operation,
      done: true,
      response: { "@type": typeNamed("EmbedContentBatchOutput"), ...batch.output },
    };
  const message = `The batch is over: ${state}`;
  return { ...operation, done: true, error: { code: state === "BATCH_STATE_CANCELLED" ? 1 : 13, message } };
}

function metadataOf(batch: Batch, state: string): Record<string, unknown> {
  const { name, model, displayName, items, fate, output, failed } = batch;
  const isOver = output !== undefined;
  return {
    "@type": typeNamed("EmbedContentBatch"),
    name,
    model: `models/${model}`,
    displayName,
    state,
    createTime: new Date(fate.createdAt).toISOString(),
    batchStats: {
      requestCount: String(items.length),
      ...(isOver && { successfulRequestCount: String(items.length - failed), failedRequestCount: String(failed) }),
    },
    ...(state === "BATCH_STATE_SUCCEEDED" && { output }),
  };
}

function typeNamed(name: string): string {
  return `type.googleapis.com/google.ai.generativelanguage.v1main.${name}`;
}

/** A result of a job has its tokens in two places: as a direct answer has them, and where the types of Google's client do. */
function responseOf({ body }: Answer): Record<string, unknown> {
  const response = body as { usageMetadata: { promptTokenCount: number } };
  return { ...response, tokenCount: String(response.usageMetadata.promptTokenCount) };
}

/** An error as it stands inside a result: the number is that of gRPC, not of HTTP. */
function errorOf({ status, body }: Answer): { code: number; message: string } {
  const { message } = (body as { error: { message: string } }).error;
  return { code: status === 400 ? 3 : 13, message };
}
