import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemoryError } from "../contract/errors.ts";
import { namesIn } from "./agent-id.ts";
import type { ClientFolders } from "../contract/client-sources.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import { isObject } from "./deep.ts";
import { configKeys } from "./keys/keys.ts";
import { type FoundValue, type FoundValues, lookupKey, textsAt } from "./layer.ts";
import { canonicalPath } from "./paths.ts";
import { defaultOf } from "./settle.ts";
import { checkedSources } from "./source-settings.ts";
import type { AgentConfig, CompactionSettings } from "./types.ts";

/** What the settings of one agent are made from. */
export interface AgentSources {
  readonly stateDir: string;
  readonly values: FoundValues;
  /** The workspace of `--workspace` or `MEMSLOT_WORKSPACE`, and which agents it is for. */
  readonly override: WorkspaceOverride | undefined;
  /** In place of the usual workspace, where nothing names one. */
  readonly foundWorkspace: string | undefined;
  /** The origins whose workspace is the state folder's own: its index has a plain name. */
  readonly ownOrigin: string | undefined;
  /** How a message about values that do not go together begins. */
  readonly label: string;
  /** Where other programs keep their conversations. */
  readonly clientFolders: ClientFolders;
}

export interface WorkspaceOverride {
  readonly path: string;
  readonly origin: string;
  /** True: also in place of an agent's own `workspace`. */
  readonly everyAgent: boolean;
}

const defaultsPrefix = "agents.defaults.";
/** That of the agent's own workspace, wherever it is on each machine. */
const ownWorkspaceId = "own";

/** The settings of one agent: its own values laid over the defaults, and these over what is built in. */
export function agentSettings(id: string, own: FoundValues, sources: AgentSources): AgentConfig {
  const find = (name: string): FoundValue | undefined => own.get(name) ?? sources.values.get(defaultsPrefix + name);
  const read = (name: string): unknown => find(name)?.value;
  const tree: Record<string, unknown> = {};
  for (const key of configKeys) {
    if (key.same !== undefined || !key.key.startsWith(defaultsPrefix)) continue;
    const name = lookupKey(key, undefined, true);
    put(tree, name, read(name) ?? defaultOf(key, sources.stateDir));
  }
  // The table names every field of these types; a test compares them whole.
  const { userTimezone, memorySearch, compaction } = tree as unknown as {
    userTimezone: string | undefined;
    memorySearch: MemorySearchSettings;
    compaction: CompactionSettings;
  };
  const { path: workspaceDir, isPlain } = placeOf(own, sources);
  const path =
    read("memorySearch.store.path") ??
    join(sources.stateDir, "memory", `{agentId}${isPlain ? "" : markOfWorkspace(workspaceDir)}.sqlite`);
  const secrets = sources.values.get("memory.secrets")?.value;
  return {
    id,
    workspaceDir,
    // The first question to Intl costs 20 to 40 ms, and most commands need no date.
    get userTimezone() {
      return userTimezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    },
    compaction,
    secrets: secrets === "mask" || secrets === "keep" ? secrets : "refuse",
    ownerAllowFrom: textsAt(sources.values, "commands.ownerAllowFrom"),
    memorySearch: {
      ...memorySearch,
      sources: checkedSources(memorySearch.sources, find("memorySearch.sources"), {
        ...sources,
        hasJournal: compaction.memoryFlush.enabled,
      }),
      clients: { ...memorySearch.clients, folders: sources.clientFolders },
      remote: { ...memorySearch.remote, headers: mergedHeaders(own, sources.values) },
      workspaceId: workspaceIdOf(find("memorySearch.workspaceId"), own, sources),
      store: { ...memorySearch.store, path: String(path).replaceAll("{agentId}", id) },
      chunking: chunking(id, own, sources, memorySearch.chunking),
      query: { ...memorySearch.query, hybrid: checkedWeights(id, own, sources, memorySearch.query.hybrid) },
    },
  };
}

/** The workspace of an agent and what decided it. */
export function workspaceOf(own: FoundValues, sources: AgentSources): { path: string; origin: string } {
  const { override } = sources;
  if (override?.everyAgent === true) return override;
  const ofAgent = own.get("workspace");
  if (ofAgent !== undefined) return { path: String(ofAgent.value), origin: ofAgent.origin };
  return override ?? configuredWorkspace(own, sources);
}

/** The origin of a workspace that stands in for the usual one. */
export const foundOrigin = "found around the current folder";

function configuredWorkspace(own: FoundValues, sources: AgentSources): { path: string; origin: string } {
  const { values, stateDir, foundWorkspace } = sources;
  const found = own.get("workspace") ?? values.get("agents.defaults.workspace");
  if (found === undefined && foundWorkspace !== undefined) return { path: foundWorkspace, origin: foundOrigin };
  if (found === undefined) return { path: join(stateDir, "workspace"), origin: "default" };
  return { path: String(found.value), origin: found.origin };
}

/**
 * The workspace of an agent, and whether it is the one that the state folder itself stands for. The index of that one has
 * a plain name; that of any other adds a mark, so that two of them never share one.
 */
function placeOf(own: FoundValues, sources: AgentSources): { path: string; origin: string; isPlain: boolean } {
  const configured = configuredWorkspace(own, sources);
  const isOwn = configured.origin === "default" || configured.origin === sources.ownOrigin;
  const plain = isOwn ? configured.path : join(sources.stateDir, "workspace");
  const workspace = workspaceOf(own, sources);
  return { ...workspace, isPlain: isSame(workspace.path, plain) };
}

/**
 * What names the workspace where several machines share an index. An id that was written is that of the workspace that
 * is configured beside it: a folder that is given in its place, or was found, never shares that one's index by chance.
 */
function workspaceIdOf(written: FoundValue | undefined, own: FoundValues, sources: AgentSources): string | undefined {
  const { path, origin, isPlain } = placeOf(own, sources);
  if (written === undefined) return isPlain ? ownWorkspaceId : undefined;
  const named = own.get("workspace") ?? sources.values.get("agents.defaults.workspace");
  const usual = join(sources.stateDir, "workspace");
  const isMeant =
    named !== undefined
      ? isSame(path, String(named.value))
      : origin === foundOrigin
        ? dirname(written.origin) === path
        : isPlain || !existsSync(usual);
  return isMeant ? String(written.value) : undefined;
}

function isSame(left: string, right: string): boolean {
  return left === right || canonical(left) === canonical(right);
}

function markOfWorkspace(path: string): string {
  return `-${shortHash(canonical(path))}`;
}

/** For each folder, whether an agent has had an index of it as a workspace of its own, at the usual place. */
export function indexedBefore(stateDir: string): (folder: string) => boolean {
  const files = namesIn(join(stateDir, "memory"));
  return (folder) => files.some((name) => name.endsWith(`${markOfWorkspace(folder)}.sqlite`));
}

function mergedHeaders(own: FoundValues, values: FoundValues): Readonly<Record<string, string>> {
  const name = "memorySearch.remote.headers";
  // Without a prototype, so that a header named `constructor` is not found where none was given.
  const headers: Record<string, string> = Object.create(null);
  for (const found of [values.get(defaultsPrefix + name), own.get(name)]) {
    for (const [header, value] of Object.entries(isObject(found?.value) ? found.value : {})) {
      for (const other of Object.keys(headers)) if (other.toLowerCase() === header.toLowerCase()) delete headers[other];
      headers[header] = String(value);
    }
  }
  return headers;
}

function chunking(
  id: string,
  own: FoundValues,
  sources: AgentSources,
  { tokens, overlap }: MemorySearchSettings["chunking"],
): MemorySearchSettings["chunking"] {
  const name = "memorySearch.chunking.overlap";
  const written = own.get(name) ?? sources.values.get(defaultsPrefix + name);
  if (written === undefined) return { tokens, overlap: Math.min(overlap, Math.floor(tokens / 2)) };
  if (overlap < tokens) return { tokens, overlap };
  throw new MemoryError(
    "CONFIG",
    `${sources.label}: ${written.written} must be less than chunking.tokens, which is ${tokens}${forAgent(id, own)}, but is ${overlap}`,
  );
}

function checkedWeights(
  id: string,
  own: FoundValues,
  sources: AgentSources,
  hybrid: MemorySearchSettings["query"]["hybrid"],
): MemorySearchSettings["query"]["hybrid"] {
  if (hybrid.vectorWeight + hybrid.textWeight > 0) return hybrid;
  const key = "agents.defaults.memorySearch.query.hybrid";
  throw new MemoryError(
    "CONFIG",
    `${sources.label}: ${key}.vectorWeight and textWeight must not both be 0${forAgent(id, own)}`,
  );
}

function forAgent(id: string, own: FoundValues): string {
  return own.size === 0 ? "" : ` for agent ${id}`;
}

function put(tree: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.split(".");
  const last = names.pop() ?? "";
  let group = tree;
  for (const name of names) {
    const next = (group[name] ??= {});
    if (isObject(next)) group = next;
  }
  group[last] = value;
}

function canonical(path: string): string {
  return canonicalPath(path) ?? path;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
