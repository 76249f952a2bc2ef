import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { createCooldown } from "@memslot/core/host";
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
  reason?: string | undefined;
  action?: string | undefined;
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
  readonly #cooldown = createCooldown<string>();
  #hasModels: boolean | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(input: SemanticInput) {
    this.#input = input;
    this.isWanted = input.options.searchMode !== "search";
  }

  get hasModels(): boolean | undefined {
    return this.#hasModels;
  }

  get cooldown(): string | undefined {
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
        reason: `memory.qmd.searchMode is "${options.searchMode}" and the models of qmd are not on this machine`,
        action: "run `qmd pull`, which downloads about 2 GB, or set memory.qmd.searchMode to search",
      };
    const { cooldown } = this;
    if (cooldown !== undefined) return { use: false, reason: cooldown };
    if (hasVectors === false)
      return { use: false, reason: "qmd has no embeddings of the notes yet", action: "run `memslot memory index`" };
    return { use: true };
  }

  /** Starts the cooldown after a failed semantic search and returns its reason. */
  failed(error: unknown): string {
    const reason = `keyword search only: ${messageOf(error)}`;
    this.#cooldown.start(reason, cooldownMs);
    return reason;
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
