import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type EmbeddingProvider,
  type Memory,
  type MemoryCapabilities,
  type MemoryPlugin,
  type MemoryPluginContext,
  type MemorySearchManager,
  type SearchReport,
  openMemory,
  parseConfig,
} from "@memslot/core";
import { deterministicEmbeddings } from "../../deterministic-embeddings.ts";
import { makeTempFolder, removeTempFolder } from "../../helpers/temp-folder.ts";
import type { LabOpenOptions, MemoryLab, OpenedMemory } from "./lab.ts";

export interface LabOptions {
  plugin: MemoryPlugin;
  options: Readonly<Record<string, unknown>>;
  patienceMs: number;
  ready: ((manager: MemorySearchManager) => Promise<void>) | undefined;
}

export interface DisposableLab extends MemoryLab {
  dispose(): Promise<void>;
}

/** Makes fresh folders, and all that a check needs to work in them. */
export async function openLab(subject: LabOptions, capabilities: MemoryCapabilities): Promise<DisposableLab> {
  const base = await makeTempFolder("memory");
  const [workspaceDir, stateDir, outsideDir] = [join(base, "workspace"), join(base, "state"), join(base, "outside")];
  for (const folder of [workspaceDir, stateDir, outsideDir]) await mkdir(folder);
  const opened: Memory[] = [];
  // An hour ago, and a second later for each write: no two versions of a file share a time stamp.
  let clockSeconds = Math.floor(Date.now() / 1000) - 3600;

  return {
    capabilities,
    patienceMs: subject.patienceMs,
    workspaceDir,
    stateDir,
    outsideDir,
    async write(path, content) {
      const file = join(workspaceDir, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
      clockSeconds++;
      await utimes(file, clockSeconds, clockSeconds);
    },
    remove: (path) => rm(join(workspaceDir, path)),
    async rename(from, to) {
      await mkdir(dirname(join(workspaceDir, to)), { recursive: true });
      await rename(join(workspaceDir, from), join(workspaceDir, to));
    },
    async open(options = {}) {
      const embeddings = options.embeddings ?? (capabilities.keyword ? "none" : deterministicEmbeddings());
      const result = await openThroughGuard(subject, {
        ...options,
        embeddings,
        workspaceDir: options.workspaceDir ?? workspaceDir,
        ownWorkspaceDir: workspaceDir,
        stateDir,
      });
      opened.push(result.memory);
      return result;
    },
    async dispose() {
      await Promise.allSettled(opened.map((memory) => memory.close()));
      await removeTempFolder(base);
    },
  };
}

/** Opens the plugin in an empty workspace to hear what it says it can do. */
export async function readCapabilities(subject: LabOptions): Promise<MemoryCapabilities> {
  const lab = await openLab(subject, { keyword: true, vector: true, ownsIndex: true });
  try {
    const { manager } = await lab.open({ embeddings: "none" });
    const { keyword, vector, ownsIndex } = manager.capabilities;
    return { keyword, vector, ownsIndex };
  } finally {
    await lab.dispose();
  }
}

interface GuardOptions extends LabOpenOptions {
  embeddings: EmbeddingProvider | "none";
  workspaceDir: string;
  /** That of the agent in the configuration, which another one is opened in place of. */
  ownWorkspaceDir: string;
  stateDir: string;
}

async function openThroughGuard(
  { plugin, options, ready, patienceMs }: LabOptions,
  given: GuardOptions,
): Promise<OpenedMemory> {
  const { embeddings, workspaceDir, stateDir, agentId = "main" } = given;
  let manager: MemorySearchManager | undefined;
  let ownContext: MemoryPluginContext | undefined;
  const watched: MemoryPlugin = {
    ...plugin,
    async open(context) {
      ownContext = context;
      manager = await plugin.open(context);
      return manager;
    },
  };
  const memory = await openMemory({
    config: parseConfig(
      {
        agents: {
          defaults: {
            workspace: given.ownWorkspaceDir,
            memorySearch: { provider: "none", sync: quietSync, ...given.memorySearch },
          },
        },
        commands: { ownerAllowFrom: ["telegram:42"] },
        plugins: { slots: { memory: plugin.id }, entries: { [plugin.id]: { config: options } } },
      },
      { stateDir },
    ),
    agentId,
    workspaceDir,
    plugins: [watched],
    lookOnly: given.lookOnly,
    deadlines: { closeMs: patienceMs },
    ...(embeddings === "none" ? {} : { embeddings }),
  });
  const [ownManager, context] = [manager, ownContext];
  if (ownManager === undefined || context === undefined)
    throw new Error(`openMemory did not open the plugin ${plugin.id}`);
  return {
    memory,
    manager: ownManager,
    openAgain: (changes) => plugin.open({ ...context, ...changes }),
    async settle({ force = false } = {}) {
      const report = await memory.sync({ reason: "conformance", force });
      await ready?.(ownManager);
      return report;
    },
    async ask(query, searchOptions = {}) {
      const reports: SearchReport[] = [];
      // Whole answers: the budget has checks of its own.
      const results = await memory.search(query, {
        maxTokens: 4000,
        ...searchOptions,
        onDebug: (report) => reports.push(report),
      });
      const [report] = reports;
      if (report === undefined || reports.length > 1)
        throw new Error(`a search gave ${reports.length} reports where one is due`);
      return { results, report };
    },
  };
}

// Nothing is synced but by the check itself, so that the counts of a sync are those of what the check did.
const quietSync = { onSessionStart: false, onSearch: false, watch: false, intervalMinutes: 0 };
