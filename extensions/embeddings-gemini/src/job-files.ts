import { vectorAnswerBytes } from "@memslot/core/providers";
import type { GeminiClient } from "./client.ts";
import type { Endpoint } from "./endpoint.ts";
import { isGone, oddAnswer } from "./failure.ts";
import { type JobResult, readResults } from "./job-results.ts";
import type { GeminiModel } from "./models.ts";
import type { Task } from "./task.ts";

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
