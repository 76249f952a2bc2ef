import { ProviderError } from "../contract/provider-error.ts";

export const smallAnswerBytes = 1_048_576;
const numberBytes = 32;
const frameBytes = 1024;
/** Assumed if a model's vector length is unknown; no model in use has longer vectors. */
const longestVector = 16_384;

/** Limit in bytes of an answer with one vector for each text, in any number format. */
export function vectorAnswerBytes(asked: { texts: number; dimensions: number | undefined }): number {
  return smallAnswerBytes + asked.texts * (frameBytes + numberBytes * (asked.dimensions ?? longestVector));
}

/** Fails with a `ProviderError` above `limitBytes` of decompressed data. `who` names the server. */
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
      // The error reaches the reader, and closes the source.
      if (readBytes > limitBytes) throw tooLong(who, limitBytes);
      controller.enqueue(part);
    },
  });
  const headers = new Headers(response.headers);
  // They described the compressed body.
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(body.pipeThrough(counted), { status, statusText, headers });
}

/** Reads the lines of an answer as they arrive. Throws a `ProviderError` for a line longer than one vector. */
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

function tooLong(who: string, limitBytes: number): ProviderError {
  const limit = (limitBytes / 1_000_000).toFixed(1);
  const text = `${who} sends more than ${limit} MB, the limit for this request; the rest was not read`;
  return new ProviderError("transient", text, { hasCost: true });
}
