import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { Sentence } from "@memslot/core";
import { createCooldown, sentence, sentenceOf } from "@memslot/core/host";
import type { QmdClient } from "../process/qmd-client.ts";
import type { HostEnvironment } from "../process/run-qmd.ts";
import type { QmdOptions } from "../options.ts";
import { models } from "../update/qmd-index.ts";

/** How long words alone answer after a model was too slow or failed. */
const cooldownMs = 600_000;
const missingForMs = 60_000;

export interface SemanticState {
  use: boolean;
  /** Absent when the configuration asks for no semantic search. */
  why?: Sentence | undefined;
  next?: Sentence | undefined;
}

interface SemanticInput {
  options: Pick<QmdOptions, "searchMode">;
  client: QmdClient;
  environment: HostEnvironment;
}

/** Decides whether qmd searches with its models. Models are never downloaded. */
export class SemanticMode {
  readonly isWanted: boolean;
  readonly #input: SemanticInput;
  readonly #cooldown = createCooldown<Sentence>();
  #hasModels: boolean | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(input: SemanticInput) {
    this.#input = input;
    this.isWanted = input.options.searchMode !== "search";
  }

  get hasModels(): boolean | undefined {
    return this.#hasModels;
  }

  get cooldown(): Sentence | undefined {
    return this.#cooldown.current()?.failure;
  }

  /** Looks for the models if that is due, and lets qmd use them. `hasVectors`: whether the index has embeddings. */
  async prepare(hasVectors: boolean | undefined): Promise<SemanticState> {
    if (!this.isWanted) return { use: false };
    const { options, client, environment } = this.#input;
    if (this.#hasModels !== true && performance.now() - this.#checkedAt > missingForMs) {
      this.#hasModels = await hasModels(environment);
      this.#checkedAt = performance.now();
      await client.setMode(this.#hasModels ? "semantic" : "lexical");
    }
    if (this.#hasModels !== true)
      return {
        use: false,
        why: sentence("qmd.noModels", { mode: options.searchMode }),
        next: sentence("next.qmdPull"),
      };
    const { cooldown } = this;
    if (cooldown !== undefined) return { use: false, why: cooldown };
    if (hasVectors === false) return { use: false, why: sentence("qmd.noVectors"), next: sentence("next.index") };
    return { use: true };
  }

  /** Starts the cooldown after a failed semantic search and returns its reason. */
  failed(error: unknown): Sentence {
    const why = sentence("search.noMeaning", { error: sentenceOf(error) });
    this.#cooldown.start(why, cooldownMs);
    return why;
  }
}

export async function hasModels(environment: HostEnvironment): Promise<boolean> {
  const home = environment["HOME"] || environment["USERPROFILE"] || homedir();
  const folder = path.join(environment["XDG_CACHE_HOME"] || path.join(home, ".cache"), "qmd", "models");
  const names = await readdir(folder).catch(() => []);
  for (const uri of Object.values(models)) {
    // qmd puts the repository before the name. Parts of a download have other endings.
    const name = names.find((each) => each.endsWith(path.posix.basename(uri)));
    const facts = name === undefined ? undefined : await stat(path.join(folder, name)).catch(() => undefined);
    if (facts === undefined || !facts.isFile() || facts.size === 0) return false;
  }
  return true;
}
