import { type Answer, type ApiParts, type Call, geminiError, type Job, jobState, ok, tokensOf } from "./shared-api.ts";
import { spoiled, type VectorFault } from "./faults.ts";
import type { Routes } from "./openai-routes.ts";

interface EmbedRequest {
  model?: string;
  content?: { parts?: { text: string }[] };
  outputDimensionality?: number;
}

/** The paths of Gemini in `v1` and `v1beta`: models, batches, uploads, downloads. */
export function createGemini({ vectors, jobs, limits, apiKey }: ApiParts): Routes {
  const { items = 100, inputTokens = Infinity, requestTokens = Infinity } = limits;
  const files = new Map<string, Buffer>();
  const uploads = new Set<string>();
  let number = 0;

  async function embed(model: string, requests: readonly EmbedRequest[], fault?: VectorFault): Promise<Answer> {
    if (requests.length === 0 || requests.length > items)
      return geminiError(400, `* BatchEmbedContentsRequest.requests: at most ${items} requests can be in one batch`);
    if (requests.some((request) => request.model !== undefined && request.model !== `models/${model}`))
      return geminiError(400, `* model: the model of each request has to be models/${model}`);
    const texts = requests.map(({ content }) => (content?.parts ?? []).map(({ text }) => text).join("\n"));
    if (texts.includes("")) return geminiError(400, "* content: contents is not specified");
    const longest = Math.max(...texts.map((text) => tokensOf([text])));
    if (longest > inputTokens || tokensOf(texts) > requestTokens)
      return geminiError(400, `The input token count (${longest}) exceeds the maximum number of tokens allowed.`);
    const made = await vectors.embed(model, texts, requests.at(-1)?.outputDimensionality);
    const embeddings = spoiled(made.vectors, fault).map((vector) => ({ values: [...vector] }));
    return ok({ embeddings, usageMetadata: { promptTokenCount: made.tokens } });
  }

  function addFile(data: Buffer): string {
    const name = `files/made-${++number}`;
    files.set(name, data);
    return name;
  }

  function startJob(model: string, body: unknown): Answer {
    const { batch } = (body ?? {}) as { batch?: { inputConfig?: { file_name?: string } } };
    const data = files.get(batch?.inputConfig?.file_name ?? "");
    if (data === undefined) return geminiError(400, "The input config has no file that exists.");
    const lines = data.toString("utf8").split("\n").filter(Boolean);
    const job = jobs.start({
      id: `batches/made-${++number}`,
      requests: lines.map((line) => JSON.parse(line) as { key: string; request: unknown }),
      embed: async (request) => await embed(model, [request as EmbedRequest]),
      failure: geminiError(500, "Internal error encountered."),
      store: (results) => ({ responsesFile: addFile(Buffer.from(results.map(resultLine).join(""))) }),
    });
    return ok({ name: job.id, metadata: { state: "BATCH_STATE_PENDING" } });
  }

  async function answerJob({ url }: Call, id: string): Promise<Answer> {
    const job = await jobs.get(id);
    if (job === undefined) return geminiError(404, `Requested entity was not found: ${id}`);
    if (!url.pathname.endsWith(":cancel")) return ok(viewOf(job));
    job.isCancelled ||= job.output === undefined;
    return ok({});
  }

  function upload({ url, headers, raw }: Call): Answer {
    if (headers["x-goog-upload-command"] === "start") {
      uploads.add(String(++number));
      return ok({}, { "x-goog-upload-url": `${url.origin}${url.pathname}?upload_id=${number}` });
    }
    if (!uploads.delete(url.searchParams.get("upload_id") ?? "")) return geminiError(404, "Upload session not found.");
    return ok({ file: { name: addFile(raw) } });
  }

  function answerFile({ method, url }: Call, name: string): Answer {
    const data = files.get(name);
    if (data === undefined)
      return geminiError(403, `You do not have permission to access the File ${name} or it may not exist.`);
    if (method === "DELETE") files.delete(name);
    return ok(url.searchParams.get("alt") === "media" ? data : {});
  }

  return async (call, fault) => {
    const { url, headers, json } = call;
    const key = headers["x-goog-api-key"];
    if (key === undefined) return geminiError(401, "Method doesn't allow unregistered callers. Please use an API key.");
    if (key !== (apiKey ?? key)) return geminiError(401, "API key not valid. Please pass a valid API key.");
    const [, model, verb] = /^\/v1(?:beta)?\/models\/([^/:]+):(\w+)$/.exec(url.pathname) ?? [];
    if (model && verb === "batchEmbedContents")
      return await embed(model, (json as { requests: EmbedRequest[] }).requests, fault);
    if (model && verb === "asyncBatchEmbedContent") return startJob(model, json);
    if (/^\/upload\/v1(?:beta)?\/files$/.test(url.pathname)) return upload(call);
    const [, id = ""] = /^\/v1(?:beta)?\/((?:files|batches)\/[^/:]+)(?::\w+)?$/.exec(url.pathname) ?? [];
    if (id.startsWith("files/")) return answerFile(call, id);
    if (id !== "") return await answerJob(call, id);
    // A page, not JSON.
    return { status: 404, body: "<!DOCTYPE html>\n<html lang=en>\n<title>Error 404 (Not Found)!!1</title>\n" };
  };
}

/** Tokens are in two places: as in a direct answer, and as in the types of Google's client. */
function resultLine({ key, answer = geminiError(500, "") }: { key: string; answer: Answer | undefined }): string {
  if (answer.status !== 200) {
    const { message } = (answer.body as { error: { message: string } }).error;
    // The number of gRPC, not of HTTP.
    return `${JSON.stringify({ key, error: { code: answer.status === 400 ? 3 : 13, message } })}\n`;
  }
  const { embeddings, usageMetadata } = answer.body as {
    embeddings: unknown[];
    usageMetadata: { promptTokenCount: number };
  };
  const tokenCount = String(usageMetadata.promptTokenCount);
  return `${JSON.stringify({ key, response: { embedding: embeddings[0], usageMetadata, tokenCount } })}\n`;
}

function viewOf(job: Job): Record<string, unknown> {
  const state = jobState(job);
  const isOver = job.output !== undefined;
  const counts = { successfulRequestCount: String(job.completed), failedRequestCount: String(job.failed) };
  const metadata = {
    state: `BATCH_STATE_${state === "done" ? "SUCCEEDED" : state.toUpperCase()}`,
    batchStats: { requestCount: String(job.requests.length), ...(isOver && counts) },
    ...(state === "done" && { output: job.output }),
  };
  const operation = { name: job.id, metadata };
  if (state === "running") return operation;
  if (state === "done") return { ...operation, done: true, response: job.output };
  const code = state === "cancelled" ? 1 : 13;
  return { ...operation, done: true, error: { code, message: `The batch is over: ${metadata.state}` } };
}
