import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { EmbeddingPluginContext } from "@memslot/core";
import { replaceFileSync } from "@memslot/core/files";
import { tooLong } from "./http-failures.ts";
import type { EncodingFormat } from "./texts.ts";

/**
 * How a server is asked for vectors. Many accept base64 alone or numbers alone, and some refuse the field. What a server
 * accepted is remembered by address and model in the state folder, so that each process asks in the right way at once.
 */
export class Encoding {
  readonly #file: string;
  /** Those that may be tried, the one that requests are made with now first. */
  #formats: EncodingFormat[] = ["base64", "float", "none"];
  /** The server answered, or every form was tried: a fault of the server is no reason to try others. */
  #isSettled = false;

  constructor({ settings, stateDir }: EmbeddingPluginContext, address: string, model: string) {
    const { encodingFormat } = settings.remote;
    const name = createHash("sha256").update(`${address} ${model}`).digest("hex").slice(0, 32);
    this.#file = path.join(stateDir, "embeddings", "formats", name);
    if (encodingFormat !== "auto") this.#formats = [encodingFormat];
    else
      try {
        this.#settle(readFileSync(this.#file, "utf8").trim(), false);
      } catch {
        // Nothing is remembered.
      }
  }

  get format(): EncodingFormat {
    return this.#formats[0] ?? "base64";
  }

  /**
   * Asks in the known way, and in the others if that may be why it failed: the server names the field, or it answers the
   * first request with nothing or a fault. Gives or throws what came of the first request if all fail.
   */
  async ask<Answer>(
    send: (format: EncodingFormat) => Promise<Answer>,
    isEmpty: (answer: Answer) => boolean,
  ): Promise<Answer> {
    const attempts = [];
    for (const format of this.#formats) {
      const attempt = send(format);
      attempts.push(attempt);
      const outcome = await attempt.then(
        (answer) => (isEmpty(answer) ? "empty" : "good"),
        (error: unknown) => (this.#mayBlame(error) ? "refused" : "failed"),
      );
      if (outcome === "good") this.#settle(format);
      if (outcome === "good") return await attempt;
      if (outcome === "failed" || (outcome === "empty" && this.#isSettled)) break;
    }
    this.#isSettled ||= attempts.length === this.#formats.length;
    return await (attempts[0] as Promise<Answer>);
  }

  #mayBlame(error: unknown): boolean {
    const { status = 0, message, error: body } = error as { status?: number; message?: string; error?: unknown };
    const said = `${JSON.stringify(body)} ${message}`;
    // 501 and 503 are no faults: it has no embeddings, or it is loading a model.
    if (status >= 500) return !this.#isSettled && status !== 501 && status !== 503 && !tooLong.test(said);
    return status >= 400 && status !== 429 && /encoding_?format|base64/i.test(said);
  }

  #settle(format: string, isNews = format !== this.format): void {
    this.#formats.sort((a, b) => Number(b === format) - Number(a === format));
    this.#isSettled = true;
    if (!isNews) return;
    try {
      replaceFileSync(this.#file, `${format}\n`);
    } catch {
      // It is remembered for this process only.
    }
  }
}
