import { EmbeddingError } from "../contract/embedding-error.ts";

/** Bytes that an answer without vectors may have: a refusal in words, the state of a job. */
export const smallAnswerBytes = 1_048_576;
/** A number as JSON, with all its digits, its comma and a blank. */
const numberBytes = 32;
/** What stands around a vector: its index, its kind, the id of its request. */
const frameBytes = 1024;
/** Of a model whose vectors are of unknown length: no model in use makes longer ones. */
const longestVector = 16_384;

/** For embedding plugins: bytes that an answer with so many vectors may have, however it writes its numbers. */
export function vectorAnswerBytes(asked: { texts: number; dimensions: number | undefined }): number {
  return smallAnswerBytes + asked.texts * (frameBytes + numberBytes * (asked.dimensions ?? longestVector));
}

/**
 * For embedding plugins: an answer of which no more than `limitBytes` are read. What is beyond, as the server announces it
 * or as it comes, after decompression, ends the reading with an `EmbeddingError`: a small compressed answer, or one
 * that never ends, would take all memory otherwise. `who` names the other side.
 */
export async function limitAnswer(
  response: Response,
  { who, limitBytes }: { who: string; limitBytes: number },
): Promise<Response> {
  const { body, status, statusText } = response;
  if (body === null) return response;
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > limitBytes) {
    await body.cancel().catch(() => undefined);
    throw tooLong(who, limitBytes);
  }
  let readBytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      readBytes += part.length;
      // The error goes both ways: to the reader, and to the source, which is closed.
      if (readBytes > limitBytes) throw tooLong(who, limitBytes);
      controller.enqueue(part);
    },
  });
  const headers = new Headers(response.headers);
  // They were true of the compressed body.
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(body.pipeThrough(counted), { status, statusText, headers });
}

/**
 * For embedding plugins: the lines of an answer as they come, without blank ones. Throws an `EmbeddingError` for a line
 * that is longer than that of one vector: no line would ever end in an answer that is none.
 */
export async function* answerLines(
  body: ReadableStream<Uint8Array>,
  { who, dimensions }: { who: string; dimensions: number | undefined },
): AsyncGenerator<string> {
  const limit = vectorAnswerBytes({ texts: 1, dimensions });
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > limit) throw tooLong(who, limit);
    yield* lines.filter(isFilled);
  }
  rest += decoder.decode();
  if (isFilled(rest)) yield rest;
}

function isFilled(line: string): boolean {
  return line.trim() !== "";
}

function tooLong(who: string, limitBytes: number): EmbeddingError {
  const limit = (limitBytes / 1_000_000).toFixed(1);
  return new EmbeddingError(
    "transient",
    `${who} sends more than ${limit} MB, which is more than what was asked for can take; the rest of its answer was not read`,
    { hasCost: true },
  );
}
