import type {
  EmbeddingProvider,
  Memory,
  MemoryCapabilities,
  MemoryPluginContext,
  MemorySearchManager,
  MemorySearchOptions,
  MemorySearchResult,
  SearchReport,
  SyncReport,
} from "@memslot/core";

/** One sentence of the contract of a memory plugin, and what proves it. */
export interface MemoryCheck {
  name: string;
  /** Gives a reason where the sentence turns out to say nothing about this manager. */
  run(lab: MemoryLab): Promise<string | void>;
  /** What the manager has to be capable of for the sentence to say anything. */
  needs?: readonly (keyof MemoryCapabilities)[];
}

/** What a check of a memory plugin works with: a workspace and a state folder of its own, both empty at first. */
export interface MemoryLab {
  readonly capabilities: MemoryCapabilities;
  readonly workspaceDir: string;
  readonly stateDir: string;
  /** How long a call may take to end after an abort. */
  readonly patienceMs: number;
  /** A folder beside the workspace, for what is not memory. */
  readonly outsideDir: string;
  /** Writes a file of the workspace with a modification time later than that of every file written before. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Opens the plugin through the guard. What is not closed by the check is closed after it. */
  open(options?: LabOpenOptions): Promise<OpenedMemory>;
}

export interface LabOpenOptions {
  /**
   * The provider to give. `none` gives none. Left out, there is none where the manager finds words, and the kit's
   * deterministic one where it does not, so that every manager finds something.
   */
  embeddings?: EmbeddingProvider | "none" | undefined;
  agentId?: string | undefined;
  workspaceDir?: string | undefined;
  /** As somebody who only wants to look. */
  lookOnly?: boolean | undefined;
  /** Laid over the kit's own `agents.defaults.memorySearch`. */
  memorySearch?: Readonly<Record<string, unknown>> | undefined;
}

export interface OpenedMemory {
  readonly memory: Memory;
  /** What the plugin opened, below the guard. */
  readonly manager: MemorySearchManager;
  /** Opens the plugin once more, with nothing around it: what it was given the first time, but for what is named here. */
  openAgain(changes: Partial<MemoryPluginContext>): Promise<MemorySearchManager>;
  /** Syncs, and waits until the manager is ready to answer. */
  settle(options?: { force?: boolean | undefined }): Promise<SyncReport | undefined>;
  /** A search with its report. */
  ask(query: string, options?: MemorySearchOptions): Promise<Answer>;
}

interface Answer {
  results: MemorySearchResult[];
  report: SearchReport;
}
