import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProviderError } from "@memslot/core";
import { replaceFileSync } from "@memslot/core/files";
import { type HttpClient, errorText, recordOf, statusOf } from "@memslot/core/providers";
import table from "./openai.json" with { type: "json" };

const tooLong = new RegExp(table.failures[0]?.match ?? "", "i");

/** Format in which vectors are requested; `none` omits the field, which some servers refuse. */
export type VectorFormat = "base64" | "float" | "none";

/** The vector formats of a server, which may accept only some. The accepted one is stored by URL and model. */
export class VectorFormats {
  readonly #file: string;
  #formats: VectorFormat[] = ["base64", "float", "none"];
  #isSettled = false;

  constructor(configured: VectorFormat | "auto", { stateDir, name }: { stateDir: string; name: string }) {
    const hash = createHash("sha256").update(name).digest("hex").slice(0, 32);
    this.#file = join(stateDir, "embeddings", "formats", hash);
    if (configured !== "auto") this.#formats = [configured];
    else
      try {
        this.#settle(readFileSync(this.#file, "utf8").trim(), false);
      } catch {
        // No format is stored.
      }
  }

  get current(): VectorFormat {
    return this.#formats[0] ?? "base64";
  }

  /** Tries the current format, then the others if the format may be the fault. Returns or throws the outcome of the first attempt. */
  async request(send: (format: VectorFormat) => Promise<ArrayLike<number>[]>): Promise<ArrayLike<number>[]> {
    const attempts = [];
    for (const format of this.#formats) {
      const attempt = send(format);
      attempts.push(attempt);
      const outcome = await attempt.then(
        (vectors) => (vectors.every(({ length }) => length === 0) ? "empty" : "good"),
        (error: unknown) => (this.#mayBlame(error) ? "refused" : "failed"),
      );
      if (outcome === "good") this.#settle(format);
      if (outcome === "good") return await attempt;
      if (outcome === "failed" || (outcome === "empty" && this.#isSettled)) break;
    }
    this.#isSettled ||= attempts.length === this.#formats.length;
    return (await attempts[0]) ?? [];
  }

  #mayBlame(error: unknown): boolean {
    const status = statusOf(error) ?? 0;
    const text = errorText(error);
    // 501 and 503 are no faults: the server has no embeddings, or is loading a model.
    if (status >= 500) return !this.#isSettled && status !== 501 && status !== 503 && !tooLong.test(text);
    return status >= 400 && status !== 429 && /encoding_?format|base64/i.test(text);
  }

  #settle(format: string, isNew = format !== this.current): void {
    this.#formats.sort((a, b) => Number(b === format) - Number(a === format));
    this.#isSettled = true;
    if (!isNew) return;
    try {
      replaceFileSync(this.#file, `${format}\n`);
    } catch {
      // The format is kept for this process only.
    }
  }
}

interface VectorAnswer {
  vectors: ArrayLike<number>[];
  tokens: number | undefined;
}

/** Reads vectors in base64 or as numbers, ordered by `index`. Undefined for an answer of another kind. */
export function readVectors(body: unknown): VectorAnswer | undefined {
  const { data, usage } = recordOf(body);
  if (!Array.isArray(data)) return undefined;
  const rows: { index: number; vector: ArrayLike<number> }[] = [];
  for (const [place, row] of data.entries()) {
    const { embedding, index } = recordOf(row);
    const vector = readVector(embedding);
    if (vector === undefined) return undefined;
    rows.push({ index: typeof index === "number" ? index : place, vector });
  }
  rows.sort((left, right) => left.index - right.index);
  const total = recordOf(usage)["total_tokens"];
  // Some servers report 0 for every request.
  const tokens = typeof total === "number" && total > 0 ? total : undefined;
  return { vectors: rows.map(({ vector }) => vector), tokens };
}

/** A value that is not a number becomes NaN, and `null` an empty vector: they tell the host which text failed. */
function readVector(embedding: unknown): ArrayLike<number> | undefined {
  if (embedding === null) return [];
  if (Array.isArray(embedding)) {
    if (embedding.every((value) => typeof value === "number")) return embedding;
    // A list of vectors has one for each token; a single one is the vector of the text.
    if (embedding.some(Array.isArray)) return embedding.length === 1 ? readVector(embedding[0]) : undefined;
    return embedding.map((value) =>
      typeof value === "string" && value.trim() !== "" ? Number(value) : (value ?? Number.NaN),
    );
  }
  if (typeof embedding !== "string") return undefined;
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  const vector = new Float32Array(bytes.length / 4);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

/** Returns the error for a successful answer without vectors. Some gateways put an error inside. */
export function noVectors(client: HttpClient, path: string, body: unknown): ProviderError {
  const { error, data } = recordOf(body);
  const { status: stated, code = stated } = recordOf(error);
  const status = Number(code);
  if (status >= 400 && status < 600) return client.failure({ status, body }, path);
  const isList = Array.isArray(data);
  const { message } = client.failure({ status: 200, body }, path);
  const reported = error === undefined ? undefined : message.replace(/^.*? answered 200:? ?/, "").slice(0, 200);
  const isUrl = reported === undefined ? !isList : /endpoint|method|path|route|url/i.test(reported);
  const what = reported === undefined ? (body === undefined ? "nothing" : "something else") : `this: ${reported}`;
  const pooling = "a server with a list of vectors for a text does not pool: --pooling mean";
  const advice = isUrl ? client.api.urlAdvice : isList ? pooling : "its log may say more";
  return client.unusable(path, `with ${what} in place of vectors; ${advice}`);
}
