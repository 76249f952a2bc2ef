import type { IndexCallName, IndexCalls } from "../contract/calls.ts";
import type { EmbeddingChoice } from "../contract/embedding.ts";
import { messageOf, pluginError } from "../contract/errors.ts";
import type { IndexCheck } from "../contract/index-answers.ts";
import type { MemoryCapabilities, MemorySearchManager } from "../contract/manager.ts";
import type { RerankChoice } from "../contract/reranker.ts";
import type { MemorySearchSettings } from "../contract/config.ts";
import type { MemoryProviderStatus, MemorySource } from "../contract/status.ts";
import { type MemoryDeadlines, Lifecycle, usualDeadlines } from "./deadline.ts";
import { checkAnswer } from "./runtime-type-checks.ts";
import type { SearchFacts } from "./arguments.ts";
import type { NotePlaces } from "./audience.ts";
import { type CallRow, callManager, checkOptions, indexCalls, withSignal } from "./call-table.ts";

export interface CreateMemoryOptions {
  agentId: string;
  workspaceDir: string;
  backend: string;
  settings: MemorySearchSettings;
  /** The peers of direct chats that are the owner, see `audienceOf`. Default: none. */
  ownerAllowFrom?: readonly string[] | undefined;
  /** The selected provider. If it is degraded, every answer reports it. */
  embeddings?: EmbeddingChoice | undefined;
  /** The selected reranker. If it is degraded, every answer reports it. */
  rerank?: RerankChoice | undefined;
  deadlines?: Partial<MemoryDeadlines> | undefined;
  onClose?: (() => Promise<void>) | undefined;
}

export interface ReportFacts {
  backend: string;
  capabilities: MemoryCapabilities;
  status: MemoryProviderStatus;
}

const hanging = "run `memslot memory status --deep` to see what does not answer";

/** Calls the manager of a plugin with deadlines and aborts, and with errors that name the plugin. */
export class GuardedClient {
  readonly manager: MemorySearchManager;
  readonly options: CreateMemoryOptions;
  readonly deadlines: MemoryDeadlines;
  readonly lifecycle: Lifecycle;
  checked: IndexCheck | undefined;
  #lastStatus: MemoryProviderStatus | undefined;

  constructor(manager: MemorySearchManager, options: CreateMemoryOptions) {
    this.manager = manager;
    this.options = options;
    this.deadlines = { ...usualDeadlines, ...options.deadlines };
    this.lifecycle = new Lifecycle(`the memory of agent "${options.agentId}"`, this.deadlines.closeMs);
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

  async askIndex<Name extends IndexCallName>(
    name: Name,
    given: IndexCalls[Name]["given"],
  ): Promise<IndexCalls[Name]["answer"] | undefined> {
    this.lifecycle.assertOpen();
    const { signal } = checkOptions(name, given);
    const { deadline, read, answer: shape }: CallRow<IndexCalls[Name]> = indexCalls[name];
    // Also where the manager lacks the call: wrong arguments are refused by every backend.
    const handed = read(given, this.searchFacts());
    if (this.manager[name] === undefined) return undefined;
    const answer = await this.ask(name, this.deadlines[deadline], signal, (inner) =>
      callManager(this.manager, name, withSignal(name, handed, inner)),
    );
    return answer === undefined ? undefined : checkAnswer(this.options.backend, name, answer, shape);
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

  places(): NotePlaces {
    const { workspaceDir, settings } = this.options;
    return { workspaceDir, extraPaths: settings.extraPaths, notes: settings.notes, roots: () => this.status().roots };
  }

  searchFacts(): SearchFacts {
    const { settings, agentId, ownerAllowFrom = [] } = this.options;
    const indexedSources = (): ReadonlySet<MemorySource> =>
      new Set([...settings.sources, ...(this.status().sources ?? [])]);
    return { settings, agentId, ownerAllowFrom, indexedSources };
  }

  async close(): Promise<void> {
    const { backend, onClose } = this.options;
    this.#lastStatus ??= this.status();
    await this.lifecycle.close([
      { what: `closing memory plugin "${backend}"`, free: async () => this.manager.close?.() },
      { what: "closing what the memory was opened with", free: async () => onClose?.() },
    ]);
  }
}

function statusOf(
  manager: MemorySearchManager,
  { backend, workspaceDir, settings, embeddings, rerank }: CreateMemoryOptions,
): MemoryProviderStatus {
  const { provider: requestedProvider, sources } = settings;
  const known = { backend, provider: "unknown", requestedProvider, workspaceDir, sources };
  try {
    const given = manager.status();
    if (typeof given !== "object" || given === null) throw new TypeError("the plugin returned no status");
    const reported = Object.fromEntries(
      Object.entries(given).filter(([, value]) => (value ?? undefined) !== undefined),
    );
    const fallback = given.fallback ?? embeddings?.fallback;
    return { ...given, ...known, ...reported, fallback, rerank: rerank && rerankStatus(rerank) };
  } catch (error) {
    const words = messageOf(error);
    return { ...known, lastSyncError: `status failed: ${words}`, custom: { error: words } };
  }
}

function rerankStatus({ reranker, requested, reason }: RerankChoice): MemoryProviderStatus["rerank"] {
  if (reranker === undefined) return requested === "none" ? undefined : { requested, reason };
  const { id, model, endpoint } = reranker;
  return { requested, reason, id, model, host: endpoint?.host, keySource: endpoint?.keySource };
}
