import { type MemslotConfig, parseConfig } from "@memslot/core";
import type { HostConfig, HostApi } from "./host.ts";

/** Where an agent's notes and the index of them are. */
export interface AgentPlaces {
  readonly workspaceDir: string;
  readonly stateDir: string;
}

/** Converts OpenClaw's configuration, without host plugins and transcripts. Throws `CONFIG` with the key. */
export function memslotConfigOf(config: HostConfig, { workspaceDir, stateDir }: AgentPlaces): MemslotConfig {
  return parseConfig(partsOf(config), { baseDir: workspaceDir, workspace: workspaceDir, stateDir });
}

export function defaultAgentOf(config: HostConfig): string {
  const agents = [
    ...Object.entries(groupAt(config, "agents", "entries")).map(([id, entry]) => ({ ...groupOf(entry), id })),
    ...listedAgents(config),
  ];
  const id: unknown = (agents.find((agent) => "default" in agent && agent["default"] === true) ?? agents[0])?.id;
  return typeof id === "string" && id.trim() !== "" ? id : "main";
}

export function agentsOf(config: HostConfig): string[] {
  const listed = listedAgents(config).map(({ id }) => id);
  const named = [...Object.keys(groupAt(config, "agents", "entries")), ...listed].filter(
    (id) => typeof id === "string",
  );
  return [...new Set([defaultAgentOf(config), ...named])];
}

export function citationsOf(config: HostConfig): "auto" | "on" | "off" {
  const mode = groupAt(config, "memory")["citations"];
  return mode === "on" || mode === "off" ? mode : "auto";
}

/** `commands.ownerAllowFrom`, numbers as texts: who the owner is in a chat of two. */
export function ownersOf(config: HostConfig): string[] {
  const owners = groupAt(config, "commands")["ownerAllowFrom"];
  // `*` would make every sender an owner.
  return Array.isArray(owners) ? owners.map(String).filter((owner) => owner.trim() !== "*") : [];
}

function partsOf(config: HostConfig): Record<string, unknown> {
  const entries = Object.entries(groupAt(config, "agents", "entries")).map(([id, entry]) => {
    const { search } = groupAt(groupOf(entry), "memory");
    return [id, search === undefined ? {} : { memory: { search: searchable(search) } }];
  });
  const list = listedAgents(config).map(({ id, memorySearch }) => ({
    id,
    ...(memorySearch !== undefined && { memorySearch: searchable(memorySearch) }),
  }));
  const { memorySearch, userTimezone } = groupAt(config, "agents", "defaults");
  const { search } = groupAt(config, "memory");
  return {
    agents: {
      defaults: {
        ...(memorySearch !== undefined && { memorySearch: searchable(memorySearch) }),
        ...(typeof userTimezone === "string" && { userTimezone }),
      },
      ...(entries.length > 0 && { entries: Object.fromEntries(entries) as object }),
      ...(list.length > 0 && { list }),
    },
    memory: { citations: citationsOf(config), ...(search !== undefined && { search: searchable(search) }) },
    commands: { ownerAllowFrom: ownersOf(config) },
    models: { providers: providersOf(config) },
  };
}

/** `memorySearch` without transcripts, and without the place where the host would keep its own index. */
function searchable(search: unknown): unknown {
  if (typeof search !== "object" || search === null || Array.isArray(search)) return search;
  const {
    sources,
    store,
    experimental: _,
    rememberAcrossConversations: __,
    ...rest
  } = search as Record<string, unknown>;
  const { path: ___, ...kept } = groupOf(store);
  const memoryOnly = Array.isArray(sources) ? sources.filter((source) => source === "memory") : [];
  return {
    ...rest,
    ...(memoryOnly.length > 0 && { sources: memoryOnly }),
    ...(Object.keys(kept).length > 0 && { store: kept }),
  };
}

/** Keys and addresses that are texts; references to secrets are resolved by the host alone. */
function providersOf(config: HostConfig): Record<string, object> {
  const providers = Object.entries(groupAt(config, "models", "providers")).map(([id, entry]) => {
    const { apiKey, baseUrl } = groupOf(entry);
    const given = { ...(typeof apiKey === "string" && { apiKey }), ...(typeof baseUrl === "string" && { baseUrl }) };
    return [id, given] as const;
  });
  return Object.fromEntries(providers.filter(([id, given]) => isEmbedding(id) && Object.keys(given).length > 0));
}

/** The providers that can make vectors here. Others of the host are for its chats. */
function isEmbedding(id: string): boolean {
  return id === "openai" || id === "gemini";
}

function listedAgents(config: HostConfig): Record<string, unknown>[] {
  const { list } = groupAt(config, "agents");
  return Array.isArray(list) ? list.map(groupOf) : [];
}

export function groupAt(config: unknown, ...names: string[]): Record<string, unknown> {
  return names.reduce((group, name) => groupOf(group[name]), groupOf(config));
}

function groupOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Whether the host runs memory-core beside the slot (since 2026.8). It then keeps `openclaw memory`. */
export function isBesideMemoryCore(api: HostApi): boolean {
  const [year = 0, month = 0] = (api.runtime.version ?? "").split(".").map(Number);
  if (year < 2026 || (year === 2026 && month < 8)) return false;
  if (groupAt(api.config, "plugins", "entries", "memory-core")["enabled"] === false) return false;
  return groupAt(api.pluginConfig, "dreaming")["enabled"] !== false;
}

/** The resulting notice, with the remedy. */
export const besideMemoryCoreNotice: string =
  "Dreaming is on: memory-core is loaded beside memslot, and answers `openclaw memory` and the agent's tools in its place wherever it is loaded first, in groups from private notes too. " +
  "`openclaw config set plugins.entries.memslot.config.dreaming.enabled false` gives both to memslot; `openclaw memslot` is always its own.";
