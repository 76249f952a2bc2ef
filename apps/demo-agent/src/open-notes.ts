import {
  type Memory,
  type MemoryProviderStatus,
  type MemslotConfig,
  type SyncReport,
  loadConfig,
  memoryState,
  parseConfig,
} from "@memslot/core";
import { openMemory } from "memslot";
import type { SampleWorkspace } from "./sample-workspace.ts";

/** The notes of this run with the memory over them. */
export interface OpenedNotes {
  workspaceDir: string;
  citations: MemslotConfig["citations"];
  /** Undefined when the configuration turns memory off. */
  memory: Memory | undefined;
  offReason: string | undefined;
}

export interface OpenNotesOptions {
  /** Undefined for the user's own notes. */
  sample: SampleWorkspace | undefined;
  workspaceDir: string | undefined;
  backend: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
  notify: (line: string) => void;
  signal: AbortSignal;
}

/** Opens the sample with the built-in defaults and nothing of the user's, or the user's notes with their configuration. */
export async function openNotes(options: OpenNotesOptions): Promise<OpenedNotes> {
  const { sample, backend, env, cwd, notify, signal } = options;
  const read = sample
    ? parseConfig({}, { env, baseDir: sample.rootDir, stateDir: sample.stateDir, workspace: sample.workspaceDir })
    : await loadConfig({ cwd, env, workspace: options.workspaceDir });
  const config = backend === undefined ? read : { ...read, plugins: { ...read.plugins, slots: { memory: backend } } };
  for (const notice of config.notices) notify(notice);
  const agent = config.agents[0] ?? config.agent("main");
  const { workspaceDir } = agent;
  const state = memoryState(config, agent.id);
  const memory = state.enabled
    ? await openMemory({ config, agentId: agent.id, workspaceDir, notify, signal })
    : undefined;
  return { workspaceDir, citations: config.citations, memory, offReason: state.reason };
}

/** One line about what the index holds and how it is searched. */
export function describeIndex(status: MemoryProviderStatus, report: SyncReport | undefined): string {
  const mode = status.custom?.searchMode ?? "keyword";
  const how =
    mode === "keyword"
      ? "searched by words (keyword mode, no embedding provider)"
      : `searched in ${mode} mode with ${status.provider}`;
  const failed = report?.failed.length ?? 0;
  return `${status.files ?? 0} files, ${status.chunks ?? 0} chunks in ${status.backend}, ${how}${failed === 0 ? "" : `; ${failed} files could not be read`}`;
}
