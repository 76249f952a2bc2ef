import { EmbeddingError, type EmbeddingFailure } from "@memslot/core";
import { answerLines } from "@memslot/core/providers";

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
export async function readResults(
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
