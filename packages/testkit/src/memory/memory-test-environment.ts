import assert from "node:assert/strict";
import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type EmbeddingProvider,
  type ManagerSearchOptions,
  type Memory,
  type MemoryCapabilities,
  type MemoryPlugin,
  type MemoryPluginContext,
  type MemoryReadParams,
  type MemoryReadResult,
  type MemorySearchManager,
  type MemorySearchOptions,
  type MemorySearchResult,
  type SearchReport,
  type SyncReport,
  openMemory,
  parseConfig,
} from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-providers.ts";
import { makeTempFolder, removeTempFolder } from "../helpers/temp-folder.ts";
import type { Check } from "../register-suite.ts";

export type MemoryCheck = Check<MemoryLab, keyof MemoryCapabilities>;

/** The plugin under test and what it needs. */
export interface LabSubject {
  plugin: MemoryPlugin;
  options?: Readonly<Record<string, unknown>> | undefined;
  ready?: ((manager: MemorySearchManager) => Promise<void>) | undefined;
  patienceMs: number;
  removePlace?: ((stateDir: string) => Promise<void>) | undefined;
}

interface LabOpenOptions {
  /**
   * The provider; `none` gives none. Left out: none if the manager finds words, else the deterministic one, so that every
   * manager finds something.
   */
  embeddings?: EmbeddingProvider | "none" | undefined;
  agentId?: string | undefined;
  workspaceDir?: string | undefined;
  readOnly?: boolean | undefined;
  /** Replaces fields of the kit's own `agents.defaults.memorySearch`. */
  memorySearch?: Readonly<Record<string, unknown>> | undefined;
}

/** Content of notes by their paths. A list is a list of lines. */
export type Notes = Readonly<Record<string, string | Uint8Array | readonly string[]>>;

// The check itself starts each sync, so the counts of a sync are those of the check's changes.
const noAutomaticSync = { onSessionStart: false, onSearch: false, watch: false, intervalMinutes: 0 };

/** The environment of one check: an empty workspace, an empty state folder, and a folder beside them that is not memory. */
export class MemoryLab {
  readonly capabilities: MemoryCapabilities;
  readonly workspaceDir: string;
  readonly stateDir: string;
  readonly outsideDir: string;
  /** How long a call may take to end after it was aborted. */
  readonly patienceMs: number;
  readonly #subject: LabSubject;
  readonly #base: string;
  readonly #opened: Memory[] = [];
  // One hour ago, and one second later for each write: no two versions of a file share a time stamp.
  #clockSeconds = Math.floor(Date.now() / 1000) - 3600;

  private constructor(subject: LabSubject, base: string, capabilities: MemoryCapabilities) {
    [this.workspaceDir, this.stateDir, this.outsideDir] = [
      join(base, "workspace"),
      join(base, "state"),
      join(base, "outside"),
    ];
    this.#subject = subject;
    this.#base = base;
    this.patienceMs = subject.patienceMs;
    this.capabilities = capabilities;
  }

  /** Runs `work` in a new lab and removes the lab's folders. */
  static async use<Result>(
    subject: LabSubject,
    capabilities: MemoryCapabilities,
    work: (lab: MemoryLab) => Promise<Result>,
  ): Promise<Result> {
    const lab = new MemoryLab(subject, await makeTempFolder("memory"), capabilities);
    for (const folder of [lab.workspaceDir, lab.stateDir, lab.outsideDir]) await mkdir(folder);
    try {
      return await work(lab);
    } finally {
      await Promise.allSettled(lab.#opened.map((memory) => memory.close()));
      await subject.removePlace?.(lab.stateDir);
      await removeTempFolder(lab.#base);
    }
  }

  /** Writes files of the workspace, each with a later modification time than all files written before. */
  async write(files: Notes): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.workspaceDir, path);
      const isLines = typeof content !== "string" && !(content instanceof Uint8Array);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, isLines ? `${content.join("\n")}\n` : content);
      this.#clockSeconds++;
      await utimes(file, this.#clockSeconds, this.#clockSeconds);
    }
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.workspaceDir, path));
  }

  async rename(from: string, to: string): Promise<void> {
    await mkdir(dirname(join(this.workspaceDir, to)), { recursive: true });
    await rename(join(this.workspaceDir, from), join(this.workspaceDir, to));
  }

  /** Writes files below `outsideDir/NAME` and returns that folder. */
  async outside(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const folder = join(this.outsideDir, name);
    await mkdir(folder, { recursive: true });
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    return folder;
  }

  /** Writes files, opens the plugin and syncs. */
  async openWith(files: Notes, options: LabOpenOptions = {}): Promise<OpenedMemory> {
    await this.write(files);
    const opened = await this.open(options);
    await opened.settle();
    return opened;
  }

  /** Opens the plugin as an application does, through the guard. It is closed after the check. */
  async open(options: LabOpenOptions = {}): Promise<OpenedMemory> {
    const { plugin, options: config = {}, ready } = this.#subject;
    const { agentId = "main", workspaceDir = this.workspaceDir, readOnly } = options;
    const embeddings = options.embeddings ?? (this.capabilities.keyword ? "none" : deterministicEmbeddings());
    const memorySearch = { provider: "none", sync: noAutomaticSync, ...options.memorySearch };
    const pluginCalls: { manager: MemorySearchManager; context: MemoryPluginContext }[] = [];
    const memory = await openMemory({
      config: parseConfig(
        {
          agents: { defaults: { workspace: this.workspaceDir, memorySearch } },
          commands: { ownerAllowFrom: ["telegram:42"] },
          plugins: { slots: { memory: plugin.id }, entries: { [plugin.id]: { config } } },
        },
        { stateDir: this.stateDir },
      ),
      agentId,
      workspaceDir,
      plugins: [
        {
          ...plugin,
          async open(context: MemoryPluginContext) {
            const manager = await plugin.open(context);
            pluginCalls.push({ manager, context });
            return manager;
          },
        },
      ],
      readOnly,
      deadlines: { closeMs: this.patienceMs },
      ...(embeddings === "none" ? {} : { embeddings }),
    });
    this.#opened.push(memory);
    const { manager, context } = pluginCalls[0] ?? assert.fail(`openMemory did not open the plugin ${plugin.id}`);
    return new OpenedMemory(memory, manager, (changes) => plugin.open({ ...context, ...changes }), ready);
  }
}

/** An open memory, and questions that checks ask of it. */
export class OpenedMemory {
  readonly memory: Memory;
  /** What the plugin opened, without the guard. */
  readonly manager: MemorySearchManager;
  /** Opens the plugin once more without the guard, with the context of the first time and these changes. */
  readonly openAgain: (changes: Partial<MemoryPluginContext>) => Promise<MemorySearchManager>;
  readonly #ready: LabSubject["ready"];

  constructor(
    memory: Memory,
    manager: MemorySearchManager,
    openAgain: OpenedMemory["openAgain"],
    ready: LabSubject["ready"],
  ) {
    this.memory = memory;
    this.manager = manager;
    this.openAgain = openAgain;
    this.#ready = ready;
  }

  /** Syncs, and waits until the manager answers from the result. */
  async settle(options: { force?: boolean } = {}): Promise<SyncReport | undefined> {
    const report = await this.memory.sync({ reason: "conformance", force: false, ...options });
    await this.#ready?.(this.manager);
    return report;
  }

  /** Syncs until no vector is missing, a limited number of times. */
  async settleVectors(): Promise<SyncReport | undefined> {
    let report = await this.settle();
    for (let round = 0; round < 20 && report?.pendingVectors !== undefined; round++) report = await this.settle();
    return report;
  }

  /** Searches, and expects exactly one report. */
  async ask(
    query: string,
    options: MemorySearchOptions = {},
  ): Promise<{ results: MemorySearchResult[]; report: SearchReport }> {
    const reports: SearchReport[] = [];
    const onDebug = (report: SearchReport): void => void reports.push(report);
    const results = await this.memory.search(query, { maxTokens: 4000, ...options, onDebug });
    assert.equal(reports.length, 1, `a search gave ${reports.length} reports`);
    const [report = assert.fail()] = reports;
    return { results, report };
  }

  /** The paths of up to 200 results, whatever their scores, in alphabetical order. */
  async paths(query: string, options: MemorySearchOptions = {}): Promise<string[]> {
    return pathsOf((await this.ask(query, { maxResults: 200, minScore: 0, ...options })).results).toSorted();
  }

  /** Searches without the guard. */
  async askManager(query: string, options: Partial<ManagerSearchOptions> = {}): Promise<MemorySearchResult[]> {
    return await this.manager.search(query, managerSearch(options));
  }

  /** Expects the file among the results. */
  async finds(query: string, path: string): Promise<MemorySearchResult> {
    const { results, report } = await this.ask(query);
    const instead = `${JSON.stringify(pathsOf(results))}; the report is ${JSON.stringify(report)}`;
    return (
      results.find((result) => result.path === path) ?? assert.fail(`"${query}" did not find ${path} but ${instead}`)
    );
  }

  async read(relPath: string, options: Omit<MemoryReadParams, "relPath" | "path"> = {}): Promise<MemoryReadResult> {
    return await this.memory.readFile({ ...options, relPath });
  }
}

/** The options of a search without the guard. */
export function managerSearch(options: Partial<ManagerSearchOptions> = {}): ManagerSearchOptions {
  return {
    maxResults: 6,
    maxTokens: 4000,
    minScore: 0.35,
    strict: false,
    sources: ["memory"],
    sessionKey: undefined,
    audience: "private",
    signal: new AbortController().signal,
    onDebug: () => undefined,
    ...options,
  };
}

/** The paths of results, best first. */
export function pathsOf(results: readonly MemorySearchResult[]): string[] {
  return [...new Set(results.map((result) => result.path))];
}

/** The lines of a read, without a notice that may follow them. */
export function linesOf({ text, lines }: MemoryReadResult): string[] {
  return lines === 0 ? [] : text.split("\n").slice(0, lines);
}

/** `memory/0.md` and so on. */
export function numbered(count: number, content: (index: number) => string, folder = "memory"): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/${index}.md`, content(index)]));
}

/** Expects the state `ok`; with a fallback backend, `degraded`. */
export function assertSound(report: SearchReport): void {
  const wanted = report.fallback === undefined ? "ok" : "degraded";
  assert.equal(report.state, wanted, `the report is ${JSON.stringify(report)}`);
}

/** Waits for a promise to settle. Fails if it does not. */
export async function settles<T>(
  what: string,
  promise: Promise<T>,
  patienceMs: number,
): Promise<PromiseSettledResult<T>> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what} does not end` })), patienceMs);
  const [outcome] = await Promise.race([Promise.allSettled([promise]), late]).finally(() => clearTimeout(timer));
  return outcome;
}
