import { EmbeddingError, type EmbeddingFailure } from "@memslot/core";

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
export async function readResults(response: Response, results: JobResult[]): Promise<number> {
  let tokens = 0;
  let number = 0;
  for await (const line of linesOf(response)) {
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

/** Vectors are long: a whole file of them at once would stop everything else for a while. */
async function* linesOf({ body }: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of body ?? []) {
    rest += decoder.decode(part, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter(isFilled);
  }
  rest += decoder.decode();
  if (isFilled(rest)) yield rest;
}

function isFilled(line: string): boolean {
  return line.trim() !== "";
}

function parse(line: string): ResultLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    // Said above: its text counts as not worked on.
    return undefined;
  }
}
