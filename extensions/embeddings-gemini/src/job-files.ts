import { answerLines, vectorAnswerBytes } from "@memslot/core/providers";
import type { GeminiClient } from "./client.ts";
import type { Endpoint } from "./endpoint.ts";
import { isGone, oddAnswer } from "./failure.ts";
import type { GeminiModel } from "./models.ts";
import type { Task } from "./task.ts";
import { type EmbeddingFailure, EmbeddingError } from "@memslot/core";

const discardMs = 5000;

export interface JobContext {
  client: GeminiClient;
  endpoint: Endpoint;
  model: GeminiModel;
  task: Task;
}

/** The files of batch jobs: what is asked, and what a job has made of it. */
export class JobFiles {
  readonly #context: JobContext;

  constructor(context: JobContext) {
    this.#context = context;
  }

  async upload(texts: readonly string[], signal: AbortSignal): Promise<string> {
    const { client, endpoint } = this.#context;
    const mimeType = "application/jsonl";
    const lines = texts.map((text, index) => this.#lineOf(text, index));
    const file = new Blob(lines, { type: mimeType });
    const { name } = await client.withSdk({ signal }, (sdk) => sdk.files.upload({ file, config: { mimeType } }));
    if (!name) throw oddAnswer(endpoint, "an upload that has no name");
    return name;
  }

  #lineOf(text: string, index: number): string {
    const { model, task } = this.#context;
    const request = {
      model: `models/${model.name}`,
      content: { parts: [{ text: task.prefix + text }] },
      ...(task.type !== undefined && { taskType: task.type }),
      ...(model.outputDimensionality !== undefined && { outputDimensionality: model.outputDimensionality }),
    };
    return `${JSON.stringify({ key: String(index), request })}\n`;
  }

  /** Gives the tokens that were spent. Results are kept for two days: older ones leave every place as it is. */
  async download(made: string, results: JobResult[], signal: AbortSignal | undefined): Promise<number> {
    const { client, endpoint, model } = this.#context;
    const { dimensions } = model;
    const who = `gemini: ${endpoint.base.host}`;
    const read = (response: Response): Promise<number> => readResults(response, results, { who, dimensions });
    const limitBytes = vectorAnswerBytes({ texts: results.length, dimensions });
    try {
      return await client.request("GET", `${made}:download?alt=media`, { signal, limitBytes, read });
    } catch (error) {
      if (isGone(error)) return 0;
      throw error;
    }
  }

  /** It would be deleted after two days; the notes in it need not wait for that. */
  async discard(file: string): Promise<void> {
    const signal = AbortSignal.timeout(discardMs);
    // Nothing hangs on it.
    await this.#context.client.request("DELETE", file, { signal, read: drain }).catch(() => undefined);
  }
}

export async function drain(response: Response): Promise<void> {
  await response.body?.cancel();
}

/** What came of one text of a job. */
export type JobResult = ArrayLike<number> | EmbeddingError | undefined;

interface ResultLine {
  key?: unknown;
  response?: {
    embedding?: { values?: unknown };
    tokenCount?: unknown;
    usageMetadata?: { promptTokenCount?: unknown };
  };
  error?: { code?: unknown; message?: unknown };
}

/**
 * Reads the file that a job wrote, a line for each text, into `results`: at the place that its key names, or in order
 * where there is no key. A line that cannot be read leaves its place as it is. Gives the tokens that the lines count.
 */
async function readResults(
  { body }: Response,
  results: JobResult[],
  about: { who: string; dimensions: number | undefined },
): Promise<number> {
  let tokens = 0;
  let number = 0;
  if (body === null) return tokens;
  // Line by line: vectors are long, and a whole file of them at once would stop everything else for a while.
  for await (const line of answerLines(body, about)) {
    const read = parse(line);
    const place = Number(read?.key ?? number);
    number++;
    if (read === undefined || !Number.isInteger(place) || place < 0 || place >= results.length) continue;
    const { embedding, tokenCount, usageMetadata } = read.response ?? {};
    if (Array.isArray(embedding?.values)) results[place] = Float32Array.from(embedding.values as number[]);
    else if (read.error !== undefined) results[place] = itemFailure(read.error);
    tokens += Number(usageMetadata?.promptTokenCount ?? tokenCount ?? 0) || 0;
  }
  return tokens;
}

/** The numbers are those of gRPC, not of HTTP. */
function itemFailure({ code, message }: NonNullable<ResultLine["error"]>): EmbeddingError {
  const words = typeof message === "string" && message !== "" ? message : "no reason given";
  return new EmbeddingError(
    kinds[String(code)] ?? "transient",
    `gemini could not embed a text of a batch job: ${words}`,
  );
}

const kinds: Readonly<Record<string, EmbeddingFailure>> = {
  3: "input",
  5: "auth",
  7: "auth",
  8: "rate",
  9: "input",
  11: "input",
  16: "auth",
};

function parse(line: string): ResultLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    // Said above: its text counts as not worked on.
    return undefined;
  }
}
