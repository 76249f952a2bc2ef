import {
  type Answer,
  type ApiLimits,
  type ApiParts,
  type Call,
  type Job,
  jobState,
  ok,
  openAiError,
  tokensOf,
} from "./shared-api.ts";
import { spoiled, type VectorFault } from "./faults.ts";

export type Routes = (call: Call, fault: VectorFault | undefined, format?: string) => Promise<Answer>;

/** The paths of OpenAI: embeddings, files, batches. */
export function createOpenAi({ vectors, jobs, limits, apiKey }: ApiParts): Routes {
  const files = new Map<string, { purpose: string; data: Buffer }>();
  let [fileCount, jobCount] = [0, 0];

  async function embed(body: unknown, fault?: VectorFault, format?: string): Promise<Answer> {
    const { input, model, dimensions, encoding_format: wanted } = (body ?? {}) as Record<string, unknown>;
    const texts = [input].flat() as string[];
    if (typeof model !== "string" || model === "") return openAiError(400, "you must provide a model parameter");
    if (texts.length === 0 || texts.some((text) => typeof text !== "string" || text === ""))
      return openAiError(400, "'$.input' is invalid. Please check the API reference.", { param: "input" });
    const refused = overLimit(texts, limits);
    if (refused !== undefined) return refused;
    const made = await vectors.embed(model, texts, dimensions);
    const data = spoiled(made.vectors, fault, texts).map((vector, index) => ({
      object: "embedding",
      index,
      embedding: (format ?? wanted) === "base64" ? Buffer.from(vector.slice().buffer).toString("base64") : [...vector],
    }));
    if (fault === "reverse") data.reverse();
    const usage = { prompt_tokens: made.tokens, total_tokens: made.tokens };
    return ok({ object: "list", data, model, usage });
  }

  function addFile(purpose: string, data: Buffer): string {
    const id = `file-${++fileCount}`;
    files.set(id, { purpose, data });
    return id;
  }

  async function upload({ headers, raw }: Call): Promise<Answer> {
    const type = { headers: { "content-type": headers["content-type"] ?? "" } };
    const form = await new Response(new Uint8Array(raw), type).formData().catch(() => undefined);
    const [file, purpose] = [form?.get("file"), form?.get("purpose")];
    if (typeof file !== "object" || file === null || typeof purpose !== "string")
      return openAiError(400, "'file' and 'purpose' are required properties", { param: "file" });
    return ok({ id: addFile(purpose, Buffer.from(await file.arrayBuffer())), object: "file", purpose });
  }

  function answerFile({ method, url }: Call, id: string): Answer {
    const file = files.get(id);
    if (file === undefined) return openAiError(404, `No such File object: ${id}`, { param: "id" });
    if (url.pathname.endsWith("/content")) return ok(file.data);
    if (method === "DELETE") files.delete(id);
    return ok({ id, object: "file", deleted: method === "DELETE" });
  }

  function startJob(body: unknown): Answer {
    const { input_file_id: id, endpoint, completion_window: window } = (body ?? {}) as Record<string, unknown>;
    const file = files.get(String(id));
    if (file?.purpose !== "batch" || endpoint !== "/v1/embeddings" || window !== "24h")
      return openAiError(400, `Invalid batch: ${JSON.stringify(body)}`);
    const lines = file.data.toString("utf8").split("\n").filter(Boolean);
    const job = jobs.start({
      id: `batch_${++jobCount}`,
      requests: lines.map((line) => {
        const { custom_id: key, body: request } = JSON.parse(line) as { custom_id: string; body: unknown };
        return { key, request };
      }),
      embed,
      failure: openAiError(500, "The server had an error processing this request.", { type: "server_error" }),
      store(results) {
        const write = (isDone: boolean): string | null => {
          const own = results.filter(({ answer }) => (answer?.status === 200) === isDone).map(resultLine);
          return own.length === 0 ? null : addFile("batch_output", Buffer.from(own.join("")));
        };
        return { output_file_id: write(true), error_file_id: write(false) };
      },
    });
    return ok({ ...viewOf(job), input_file_id: id, status: "validating" });
  }

  async function answerJob({ url }: Call, id: string): Promise<Answer> {
    const job = await jobs.get(id);
    if (job === undefined) return openAiError(404, `No batch found with id '${id}'.`);
    if (!url.pathname.endsWith("/cancel")) return ok(viewOf(job));
    if (job.output !== undefined) return openAiError(409, `Cannot cancel a batch with status '${jobState(job)}'.`);
    job.isCancelled = true;
    return ok({ ...viewOf(job), status: "cancelling" });
  }

  return async (call, fault, format) => {
    const { method, url, headers, json } = call;
    const [, key = ""] = /^Bearer\s+(.*)$/i.exec(headers["authorization"] ?? "") ?? [];
    if (apiKey !== undefined && key !== apiKey) return wrongKey(key);
    const [, kind, id] =
      /^\/v1\/(embeddings|files|batches)(?:\/([^/]+)(?:\/(?:content|cancel))?)?$/.exec(url.pathname) ?? [];
    if (kind === "files" && id !== undefined) return answerFile(call, id);
    if (kind === "batches" && id !== undefined) return await answerJob(call, id);
    if (method === "POST" && kind === "embeddings") return await embed(json, fault, format);
    if (method === "POST" && kind === "files") return await upload(call);
    if (method === "POST" && kind === "batches") return startJob(json);
    return openAiError(404, `Invalid URL (${method} ${url.pathname})`);
  };
}

function wrongKey(key: string): Answer {
  if (key === "") return openAiError(401, "You didn't provide an API key.");
  const shown = key.length > 8 ? `${key.slice(0, 4)}${"*".repeat(key.length - 8)}${key.slice(-4)}` : "********";
  return openAiError(401, `Incorrect API key provided: ${shown}.`, { code: "invalid_api_key" });
}

function overLimit(texts: readonly string[], limits: ApiLimits): Answer | undefined {
  const { items = 2048, inputTokens = 8192, requestTokens = 300_000 } = limits;
  if (texts.length > items)
    return openAiError(400, `Invalid 'input': array too long. Expected an array with maximum length ${items}.`, {
      param: "input",
      code: "array_above_max_length",
    });
  const longest = Math.max(...texts.map((text) => tokensOf([text])));
  if (longest > inputTokens)
    return openAiError(
      400,
      `This model's maximum context length is ${inputTokens} tokens, however you requested ${longest} tokens (${longest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
    );
  const all = tokensOf(texts);
  const details = { type: "max_tokens_per_request", code: "max_tokens_per_request" };
  return all <= requestTokens
    ? undefined
    : openAiError(400, `Requested ${all} tokens, max ${requestTokens} tokens per request`, details);
}

function resultLine({ key, answer }: { key: string; answer: Answer | undefined }): string {
  const response = answer && { status_code: answer.status, body: answer.body };
  const error = answer ? null : { code: "batch_expired", message: "This request was not executed in time." };
  return `${JSON.stringify({ custom_id: key, response: response ?? null, error })}\n`;
}

function viewOf(job: Job): Record<string, unknown> {
  const state = jobState(job);
  const error = { code: "invalid_request", message: "The input file cannot be worked on.", param: null, line: null };
  return {
    id: job.id,
    object: "batch",
    endpoint: "/v1/embeddings",
    errors: state === "failed" ? { object: "list", data: [error] } : null,
    status: { running: "in_progress", done: "completed" }[state as string] ?? state,
    output_file_id: null,
    error_file_id: null,
    ...job.output,
    request_counts: { total: job.requests.length, completed: job.completed, failed: job.failed },
  };
}
