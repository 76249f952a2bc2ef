import {
  type AgentConfig,
  type Memory,
  type MemoryProviderStatus,
  type MemslotConfig,
  type SyncReport,
  loadConfig,
  parseConfig,
} from "@memslot/core";
import { memoryState } from "@memslot/core/host";
import { openMemory } from "memslot";
import type { SampleWorkspace } from "./sample-workspace.ts";

interface OpenedMemory {
  memory: Memory | undefined;
  offReason: string | undefined;
}

export interface OpenedNotes extends OpenedMemory {
  config: MemslotConfig;
  agent: AgentConfig;
  isSample: boolean;
  /** The same notes with another backend, a value of `plugins.slots.memory`. */
  openWith(backend: string, signal: AbortSignal): Promise<OpenedMemory>;
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

/** Opens the sample with the built-in defaults, or the user's notes with their configuration. */
export async function openNotes(options: OpenNotesOptions): Promise<OpenedNotes> {
  const { sample, backend, env, cwd, notify } = options;
  const config = sample
    ? parseConfig({}, { env, baseDir: sample.rootDir, stateDir: sample.stateDir, workspace: sample.workspaceDir })
    : await loadConfig({ cwd, env, workspace: options.workspaceDir });
  for (const notice of config.notices) notify(notice);
  const agent = config.agents[0] ?? config.agent("main");
  const open = async (given: MemslotConfig, signal: AbortSignal): Promise<OpenedMemory> => {
    const state = memoryState(given, agent.id);
    const place = {
      config: given,
      agentId: agent.id,
      workspaceDir: agent.workspaceDir,
      projectDir: cwd,
      notify,
      signal,
    };
    return { memory: state.enabled ? await openMemory(place) : undefined, offReason: state.reason };
  };
  const withSlot = (memory: string): MemslotConfig => ({
    ...config,
    plugins: { ...config.plugins, slots: { memory } },
  });
  const opened = await open(backend === undefined ? config : withSlot(backend), options.signal);
  const isSample = sample !== undefined;
  return { ...opened, config, agent, isSample, openWith: (id, signal) => open(withSlot(id), signal) };
}

export function describeIndex(status: MemoryProviderStatus, report?: SyncReport): string {
  const mode = status.custom?.searchMode ?? "keyword";
  const how =
    mode === "keyword"
      ? "searched by words (keyword mode, no embedding provider)"
      : `searched in ${mode} mode with ${status.provider}`;
  const failed = report?.failed.length ?? 0;
  return `${status.files ?? 0} files, ${status.chunks ?? 0} chunks in ${status.backend}, ${how}${failed === 0 ? "" : `; ${failed} files could not be read`}`;
}
