import type { EmbeddingBatches, EmbeddingJobState } from "../contract/embedding.ts";
import { ProviderError } from "../contract/provider-error.ts";
import { answerLines, vectorAnswerBytes } from "./response-limits.ts";
import { type HttpClient, errorText, recordOf, statusOf, textOf } from "./http-client.ts";

export interface BatchApi {
  maxItems: number;
  maxBytes: number;
  dimensions: number | undefined;
  /** What to do if the server has no batch interface. */
  missing?: string;
  /** The line of a text in the file of a job. */
  line(text: string, index: number): unknown;
  upload(file: File, signal: AbortSignal): Promise<string>;
  /** The request that starts a job. */
  start(file: string): { path: string; body: unknown };
  /** Paths of a job, of a file and of the content of a result file, with `ID` for their ids. */
  paths: Readonly<Record<"job" | "cancel" | "file" | "content", string>>;
  readJob(answer: Record<string, unknown>): BatchJob;
  readLine(line: Record<string, unknown>): BatchLine;
}

export interface BatchJob {
  id: unknown;
  status: unknown;
  reason: unknown;
  completed: unknown;
  results: readonly unknown[];
  /** Files to delete when the vectors are stored, beside the uploaded one. */
  files?: readonly unknown[];
}

export interface BatchLine {
  /** Index of the text; absent if results are in the order of the texts. */
  index?: unknown;
  /** Undefined for a text that the job did not process, and for a line of another kind. */
  result: ArrayLike<number> | ProviderError | undefined;
  tokens?: unknown;
}

const deleteMs = 5000;
const cancelled = "the job was cancelled";
/** Status words at the end of a job, and the reason if the server states none. */
const ends: readonly [match: RegExp, state: "done" | "failed" | "expired", reason: string][] = [
  [/(?:completed|succeeded)$/i, "done", ""],
  [/cancelled$/i, "failed", cancelled],
  [/failed$/i, "failed", "the job failed, and the server does not state why"],
  [/expired$/i, "expired", "the job was not finished in time"],
];

/** Runs batch jobs. A job's name is its id, a space and the id of the uploaded file. */
export function createBatches(client: HttpClient, api: BatchApi): EmbeddingBatches {
  const { maxItems, maxBytes, dimensions, missing } = api;
  const who = client.api.name;

  const pathOf = (name: keyof BatchApi["paths"], id: string): string => api.paths[name].replace("ID", id);

  async function find(id: string, signal: AbortSignal | undefined): Promise<BatchJob | undefined> {
    const path = pathOf("job", id);
    const answer = await client.json(path, { signal, missing }).catch(nullIf(isGone));
    if (answer === null) return undefined;
    const job = api.readJob(recordOf(answer));
    if (textOf(job.id) === undefined) throw client.unusable(path, "without a job");
    return job;
  }

  /** Failures are ignored: the server deletes the remaining files in time. */
  async function remove(files: readonly unknown[]): Promise<void> {
    const ids = [...new Set(files.map(textOf))].filter((id) => id !== undefined);
    const call = { method: "DELETE", signal: AbortSignal.timeout(deleteMs) };
    await Promise.allSettled(
      ids.map((id) => client.send(pathOf("file", id), call, async ({ body }) => body?.cancel())),
    );
  }

  return {
    maxItems,
    maxBytes,
    async submit(texts, { signal }) {
      const lines = texts.map((text, index) => `${JSON.stringify(api.line(text, index))}\n`);
      signal.throwIfAborted();
      const file = await api.upload(new File(lines, "memslot.jsonl", { type: "application/jsonl" }), signal);
      try {
        const { path, body } = api.start(file);
        const id = textOf(api.readJob(recordOf(await client.json(path, { signal, body, missing }))).id);
        if (id !== undefined) return `${id} ${file}`;
        throw client.unusable(
          path,
          `without a job. ${missing ?? ""}`.trim(),
          missing === undefined ? "transient" : "auth",
        );
      } catch (error) {
        // The failure or the abort does not wait for the deletion.
        void remove([file]);
        throw error;
      }
    },
    async state(job, { signal }) {
      const { id } = idsIn(job);
      const found = await find(id, signal);
      return found ? stateOf(found) : { state: "unknown", reason: `${who} does not know the job ${id}` };
    },
    async collect(job, { count, signal, onUsage }) {
      const results: BatchLine["result"][] = Array.from({ length: count });
      const limitBytes = vectorAnswerBytes({ texts: count, dimensions });
      let tokens = 0;
      const read = async ({ body }: Response): Promise<void> => {
        let number = 0;
        for await (const line of body === null ? [] : answerLines(body, { who, dimensions })) {
          const { index = number, result, tokens: spent } = api.readLine(parsed(line));
          number++;
          const place = Number(index);
          if (result === undefined || !Number.isInteger(place) || place < 0 || place >= count) continue;
          results[place] = result;
          tokens += Number(spent ?? 0) || 0;
        }
      };
      for (const file of (await find(idsIn(job).id, signal))?.results.map(textOf) ?? [])
        if (file !== undefined)
          await client.send(pathOf("content", file), { signal, limitBytes }, read).catch(nullIf(isGone));
      if (tokens > 0) onUsage?.({ tokens });
      return results;
    },
    async discard(job, { signal }) {
      const { id, file } = idsIn(job);
      const found = await find(id, signal).catch(() => undefined);
      await remove([file, ...(found?.files ?? [])]);
    },
    async cancel(job, { signal }) {
      const { id, file } = idsIn(job);
      const hasEnded = (error: unknown): boolean => isGone(error) || [400, 409].includes(statusOf(error) ?? 0);
      const answer = await client.json(pathOf("cancel", id), { signal, body: {}, missing }).catch(nullIf(hasEnded));
      await remove([file, ...(api.readJob(recordOf(answer)).files ?? [])]);
    },
  };
}

function nullIf(isExpected: (error: unknown) => boolean): (error: unknown) => null {
  return (error) => {
    if (isExpected(error)) return null;
    throw error;
  };
}

/** True for a job or file that the server does not know. Google answers 403 for those of another account, too. */
function isGone(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || (status === 403 && errorText(error).includes("may not exist"));
}

/** The ids become parts of a path: no segment begins with a dot. */
function idsIn(job: string): { id: string; file: string | undefined } {
  const id = "(?:[\\w:@=-][\\w.:@=-]*/)?[\\w:@=-][\\w.:@=-]*";
  const [, name, file] = new RegExp(`^(${id})(?: (${id}))?$`).exec(job) ?? [];
  if (name === undefined) throw new ProviderError("input", `${JSON.stringify(job)} is not the name of a batch job`);
  return { id: name, file };
}

function stateOf({ status, reason, completed }: BatchJob): EmbeddingJobState {
  const [, state, text = ""] = ends.find(([match]) => match.test(String(status))) ?? [];
  if (state === undefined)
    return { state: "running", completed: typeof completed === "number" ? completed : undefined };
  if (state === "done") return { state };
  return { state, reason: text === cancelled ? text : (textOf(reason) ?? text) };
}

function parsed(line: string): Record<string, unknown> {
  try {
    return recordOf(JSON.parse(line));
  } catch {
    return {}; // Its text counts as not processed.
  }
}
