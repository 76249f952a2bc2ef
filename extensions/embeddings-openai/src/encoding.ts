import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { EmbeddingPluginContext } from "@memslot/core";
import { replaceFileSync } from "@memslot/core/files";
import { tooLong } from "./http-failures.ts";
import { isRecord } from "./read-vectors.ts";
import type { EncodingFormat } from "./texts.ts";

const formats: readonly EncodingFormat[] = ["base64", "float", "none"];

/**
 * How a server is asked for vectors. Many accept base64 alone or numbers alone, and some refuse the field. What a server
 * accepted is remembered by address and model in the state folder, so that each process asks in the right way at once.
 */
export class Encoding {
  readonly #file: string;
  readonly #isFixed: boolean;
  #format: EncodingFormat;
  /** The server answered, or every form was tried: a fault of the server is no reason to try others. */
  #isSettled: boolean;

  constructor({ settings, stateDir }: EmbeddingPluginContext, address: string, model: string) {
    const { encodingFormat } = settings.remote;
    const name = createHash("sha256")
      .update(JSON.stringify([address, model]))
      .digest("hex")
      .slice(0, 32);
    this.#file = path.join(stateDir, "embeddings", "formats", name);
    this.#isFixed = encodingFormat !== "auto";
    const known = encodingFormat === "auto" ? this.#remembered() : encodingFormat;
    this.#format = known ?? "base64";
    this.#isSettled = known !== undefined;
  }

  /** How requests are made now. */
  get format(): EncodingFormat {
    return this.#format;
  }

  /**
   * Asks in the known way, and in the others if that may be why it failed: the server names the field, or it answers the
   * first request with nothing or a fault. Throws what the first request threw if all fail.
   */
  async ask<Answer>(
    send: (format: EncodingFormat) => Promise<Answer>,
    isEmpty: (answer: Answer) => boolean,
  ): Promise<Answer> {
    const others = this.#isFixed ? [] : formats.filter((format) => format !== this.#format);
    let first: (() => Answer) | undefined;
    for (const format of [this.#format, ...others]) {
      try {
        const answer = await send(format);
        if (!isEmpty(answer)) {
          this.#accept(format);
          return answer;
        }
        first ??= () => answer;
        if (this.#isSettled) break;
      } catch (error) {
        first ??= () => {
          throw error;
        };
        if (!this.#mayBlame(error)) break;
      }
    }
    this.#isSettled ||= others.length > 0;
    return (first as () => Answer)();
  }

  #mayBlame(error: unknown): boolean {
    if (!isRecord(error) || typeof error["status"] !== "number") return false;
    const { status } = error;
    const said = `${JSON.stringify(error["error"])} ${String(error["message"])}`;
    // 501 and 503 are no faults: it has no embeddings, or it is loading a model.
    if (status >= 500) return !this.#isSettled && status !== 501 && status !== 503 && !tooLong.test(said);
    return status >= 400 && status !== 429 && /encoding_?format|base64/i.test(said);
  }

  #accept(format: EncodingFormat): void {
    const isNews = format !== this.#format;
    this.#format = format;
    this.#isSettled = true;
    if (!isNews) return;
    try {
      replaceFileSync(this.#file, `${format}\n`);
    } catch {
      // It is remembered for this process only.
    }
  }

  #remembered(): EncodingFormat | undefined {
    try {
      const written = readFileSync(this.#file, "utf8").trim();
      return formats.find((format) => format === written);
    } catch {
      return undefined;
    }
  }
}
