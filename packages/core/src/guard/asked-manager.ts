import type { EmbeddingChoice } from "../contract/embedding.ts";
import { messageOf, pluginError } from "../contract/errors.ts";
import type { IndexCheck, MemorySearchManager } from "../contract/manager.ts";
import type { RerankChoice } from "../contract/reranker.ts";
import type { ReportFacts } from "../contract/search-report.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import type { MemoryProviderStatus, MemorySource } from "../contract/status.ts";
import { type Lifecycle, createLifecycle } from "../open/lifecycle.ts";
import { checkProbe } from "./call-arguments.ts";
import { checkAnswer } from "./search-results.ts";
import { type MemoryDeadlines, usualDeadlines } from "./deadlines.ts";

export interface CreateMemoryOptions {
  agentId: string;
  workspaceDir: string;
  /** The id of the memory plugin, for messages and reports. */
  backend: string;
  settings: MemorySearchSettings;
  /** The peers of direct chats that are the owner, see `audienceOf`; nobody if left out. */
  ownerAllowFrom?: readonly string[] | undefined;
  /** How the provider was chosen. When it is degraded, every answer says so. */
  embeddings?: EmbeddingChoice | undefined;
  /** How the reranker was chosen. When it is degraded, every answer says so. */
  rerank?: RerankChoice | undefined;
  deadlines?: Partial<MemoryDeadlines> | undefined;
  /** Frees what was opened for the manager. Called once, after the manager was closed. */
  onClose?: (() => Promise<void>) | undefined;
}

const hanging = "run `memslot memory status --deep` to see what does not answer";

/** What a plugin wrote, asked as the guard asks it: in time, abortable, and with errors that name the plugin. */
export class AskedManager {
  readonly manager: MemorySearchManager;
  readonly options: CreateMemoryOptions;
  readonly deadlines: MemoryDeadlines;
  readonly lifecycle: Lifecycle;
  /** What the last check of the index has shown. */
  checked: IndexCheck | undefined;
  #lastStatus: MemoryProviderStatus | undefined;

  constructor(manager: MemorySearchManager, options: CreateMemoryOptions) {
    this.manager = manager;
    this.options = options;
    this.deadlines = { ...usualDeadlines, ...options.deadlines };
    this.lifecycle = createLifecycle(`the memory of agent "${options.agentId}"`, this.deadlines.closeMs);
  }

  ask<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limits = { what, deadlineMs, signals: [signal], action: hanging };
    return this.lifecycle.run(limits, (inner) => this.asPlugin(what, inner, () => call(inner)));
  }

  /** Asks what a manager need not be able to tell. */
  async askIfAble<T>(
    what: keyof MemorySearchManager,
    deadlineMs: number,
    given: { signal?: AbortSignal | undefined },
    call: (signal: AbortSignal) => Promise<T> | undefined,
  ): Promise<T | undefined> {
    this.lifecycle.assertOpen();
    checkProbe(given);
    if (this.manager[what] === undefined) return undefined;
    const answer = await this.ask(what, deadlineMs, given.signal, async (signal) => call(signal));
    return checkAnswer(this.options.backend, what, answer);
  }

  async asPlugin<T>(what: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted) throw error;
      throw pluginError(`memory plugin "${this.options.backend}" failed in ${what}`, error);
    }
  }

  status(): MemoryProviderStatus {
    return this.#lastStatus ?? statusOf(this.manager, this.options);
  }

  facts(): ReportFacts {
    return { backend: this.options.backend, capabilities: this.manager.capabilities, status: this.status() };
  }

  /** The sources that are looked at, as far as is known. */
  lookedAt(): ReadonlySet<MemorySource> {
    return new Set([...this.options.settings.sources, ...(this.status().sources ?? [])]);
  }

  async close(): Promise<void> {
    const { backend, onClose } = this.options;
    // Recorded before the manager is closed: afterwards it may have nothing to answer from.
    this.#lastStatus ??= this.status();
    await this.lifecycle.close([
      { what: `closing memory plugin "${backend}"`, free: async () => this.manager.close?.() },
      { what: "closing what the memory was opened with", free: async () => onClose?.() },
    ]);
  }
}

/** With what has to be there, whatever the manager said. */
function statusOf(
  manager: MemorySearchManager,
  { backend, workspaceDir, settings, embeddings, rerank }: CreateMemoryOptions,
): MemoryProviderStatus {
  try {
    const given = manager.status();
    if (typeof given !== "object" || given === null) throw new TypeError("the plugin gave no status");
    return {
      ...given,
      backend: given.backend ?? backend,
      provider: given.provider ?? "unknown",
      requestedProvider: given.requestedProvider ?? settings.provider,
      workspaceDir: given.workspaceDir ?? workspaceDir,
      sources: given.sources ?? settings.sources,
      fallback: given.fallback ?? embeddings?.fallback,
      rerank: rerank && rerankStatus(rerank),
    };
  } catch (error) {
    const words = messageOf(error);
    return {
      backend,
      provider: "unknown",
      requestedProvider: settings.provider,
      workspaceDir,
      sources: settings.sources,
      lastSyncError: `status failed: ${words}`,
      custom: { error: words },
    };
  }
}

/** Undefined where none is asked for. */
function rerankStatus({ reranker, requested, reason }: RerankChoice): MemoryProviderStatus["rerank"] {
  if (reranker === undefined) return requested === "none" ? undefined : { requested, reason };
  const { id, model, endpoint } = reranker;
  return { requested, reason, id, model, host: endpoint?.host, keySource: endpoint?.keySource };
}
