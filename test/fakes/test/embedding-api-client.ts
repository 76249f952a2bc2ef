import type { EmbeddingApi } from "@memslot/fakes/embedding-api";

export interface EmbeddingsAnswer {
  data: { index: number; embedding: number[] }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

export async function embed(
  api: EmbeddingApi,
  input: readonly string[],
  more: Record<string, unknown> = {},
): Promise<EmbeddingsAnswer> {
  const answer = await post(`${api.url}/v1/embeddings`, { model: "m", input, ...more });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as EmbeddingsAnswer;
}

export async function errorOf(answer: Response): Promise<{ message: string; code: unknown; status?: string }> {
  return ((await answer.json()) as { error: { message: string; code: unknown } }).error;
}

/** The floats of a base64 embedding. */
export function floatsOf({ embedding }: { embedding: unknown }): number[] {
  const bytes = Buffer.from(String(embedding), "base64");
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}
