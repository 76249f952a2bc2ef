import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AgentConfig, type ClientFolders, type MemorySearchSettings, clientSources } from "../contract/config.ts";
import type { ConfigValues } from "../contract/config-values.ts";
import { MemoryError } from "../contract/errors.ts";
import { namesIn } from "../files/error-code.ts";
import { didYouMean } from "../text/nearest-word.ts";
import { isObject } from "./plain-data.ts";
import { type ConfigKey, configKeys } from "./keys.ts";
import { quoteText, sha256Of } from "./agent-ids.ts";
import { canonicalPath } from "./paths.ts";
import { type FoundValues, textsAt } from "./read-layer.ts";

export interface AgentSources {
  readonly stateDir: string;
  readonly values: FoundValues;
  readonly override: WorkspaceOverride | undefined;
  readonly foundWorkspace?: string | undefined;
  /** The origins whose workspace is the state folder's own: its index has a plain name. */
  readonly ownOrigin: string | undefined;
  /** Prefix of error messages. */
  readonly label: string;
  readonly clientFolders: ClientFolders;
}

export interface WorkspaceOverride {
  readonly path: string;
  readonly origin: string;
  readonly everyAgent: boolean;
}

interface Workspace {
  readonly path: string;
  readonly origin: string;
  readonly isPlain: boolean;
}

export const foundOrigin = "found around the current folder";

const workspaceKey = "agents.defaults.workspace";
const searchKey = "agents.defaults.memorySearch";
const ownWorkspaceId = "own";
const builtInSources: readonly string[] = ["memory", "sessions", "journal", ...clientSources];

/** Merges the settings of one agent: its own values, the defaults, the built-in defaults. */
export function agentSettings(id: string, own: FoundValues, sources: AgentSources): AgentConfig {
  const { stateDir, clientFolders } = sources;
  const values: FoundValues = new Map([...sources.values, ...own]);
  const { agents, memory, commands } = configValues(values, stateDir);
  const { userTimezone, memorySearch, compaction } = agents.defaults;
  const workspace = workspaceOf(own, sources);
  const usualStore = `{agentId}${workspace.isPlain ? "" : markOfWorkspace(workspace.path)}.sqlite`;
  const path = values.has(`${searchKey}.store.path`) ? memorySearch.store.path : join(stateDir, "memory", usualStore);
  const refusal = (problem: string): MemoryError => new MemoryError("CONFIG", `${sources.label}: ${problem}`);
  const forAgent = own.size === 0 ? "" : ` for agent ${id}`;

  const searched = checkedSources();
  const chunking = checkedChunking();
  const { vectorWeight, textWeight } = memorySearch.query.hybrid;
  if (vectorWeight + textWeight <= 0)
    throw refusal(`${searchKey}.query.hybrid.vectorWeight and textWeight must not both be 0${forAgent}`);

  return {
    id,
    workspaceDir: workspace.path,
    get userTimezone() {
      return userTimezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    },
    compaction,
    secrets: memory.secrets,
    ownerAllowFrom: commands.ownerAllowFrom,
    memorySearch: {
      ...memorySearch,
      sources: searched,
      clients: { ...memorySearch.clients, folders: clientFolders },
      remote: { ...memorySearch.remote, headers: mergedHeaders(own, sources.values) },
      workspaceId: workspaceIdOf(workspace, values, stateDir),
      store: { ...memorySearch.store, path: path.replaceAll("{agentId}", id) },
      chunking,
    },
  };

  function checkedSources(): readonly string[] {
    const found = memorySearch.sources;
    const written = values.get(`${searchKey}.sources`)?.written ?? "memorySearch.sources";
    if (found.length === 0)
      throw refusal(
        `${written} must name a source, "memory" or "sessions"; to switch memory off, write enabled: false`,
      );
    return [...new Set(compaction.memoryFlush.enabled ? [...found, "journal"] : found)];
  }

  function checkedChunking(): MemorySearchSettings["chunking"] {
    const { tokens, overlap } = memorySearch.chunking;
    const written = values.get(`${searchKey}.chunking.overlap`)?.written;
    if (written === undefined) return { tokens, overlap: Math.min(overlap, Math.floor(tokens / 2)) };
    if (overlap < tokens) return { tokens, overlap };
    throw refusal(`${written} must be less than chunking.tokens, which is ${tokens}${forAgent}, but is ${overlap}`);
  }
}

export function workspaceOf(own: FoundValues, sources: AgentSources): Workspace {
  const { override, values, stateDir, foundWorkspace, ownOrigin } = sources;
  const usual = join(stateDir, "workspace");
  const ofAgent = own.get(workspaceKey);
  const named = ofAgent ?? values.get(workspaceKey);
  const configured =
    named !== undefined
      ? { path: String(named.value), origin: named.origin }
      : foundWorkspace !== undefined
        ? { path: foundWorkspace, origin: foundOrigin }
        : { path: usual, origin: "default" };
  const isOverridden = override !== undefined && (override.everyAgent || ofAgent === undefined);
  const { path, origin } = isOverridden ? override : configured;
  const isOwn = configured.origin === "default" || configured.origin === ownOrigin;
  return { path, origin, isPlain: isSame(path, isOwn ? configured.path : usual) };
}

/** The id of a workspace where machines share an index. */
function workspaceIdOf(
  { path, origin, isPlain }: Workspace,
  values: FoundValues,
  stateDir: string,
): string | undefined {
  const written = values.get(`${searchKey}.workspaceId`);
  if (written === undefined) return isPlain ? ownWorkspaceId : undefined;
  const named = values.get(workspaceKey);
  const isMeant =
    named !== undefined
      ? isSame(path, String(named.value))
      : origin === foundOrigin
        ? dirname(written.origin) === path
        : isPlain || !existsSync(join(stateDir, "workspace"));
  return isMeant ? String(written.value) : undefined;
}

function isSame(left: string, right: string): boolean {
  return left === right || canonical(left) === canonical(right);
}

export function markOfWorkspace(path: string): string {
  return `-${sha256Of(canonical(path)).slice(0, 8)}`;
}

function canonical(path: string): string {
  return canonicalPath(path) ?? path;
}

/** For each folder, whether an agent has indexed it as a workspace of its own. */
export function indexedBefore(stateDir: string): (folder: string) => boolean {
  const files = namesIn(join(stateDir, "memory"));
  return (folder) => files.some((name) => name.endsWith(`${markOfWorkspace(folder)}.sqlite`));
}

function mergedHeaders(own: FoundValues, defaults: FoundValues): Readonly<Record<string, string>> {
  // Without a prototype, so that a header named `constructor` is not found where none was given.
  const headers: Record<string, string> = Object.create(null);
  for (const found of [defaults, own].map((values) => values.get(`${searchKey}.remote.headers`)?.value)) {
    for (const [header, value] of Object.entries(isObject(found) ? found : {})) {
      for (const other of Object.keys(headers)) if (other.toLowerCase() === header.toLowerCase()) delete headers[other];
      headers[header] = String(value);
    }
  }
  return headers;
}

/** Notices about configured sources: names only a memory plugin could know, and transcripts that are not indexed. */
export function sourceNotices(values: FoundValues, effective: readonly string[]): string[] {
  const named = values.get(`${searchKey}.sources`);
  const flag = values.get(`${searchKey}.experimental.sessionMemory`);
  const notices = [...new Set(textsAt(values, `${searchKey}.sources`))].flatMap((name) => {
    if (named === undefined || builtInSources.includes(name)) return [];
    const hint = didYouMean(name, builtInSources, "; did");
    return `${named.origin}: ${named.written} names ${quoteText(name)}, which is none of the sources here (${builtInSources.join(", ")}), so only a memory plugin that knows it finds something there${hint}`;
  });
  if (flag?.value === true && !effective.includes("sessions"))
    notices.push(
      `${flag.origin}: ${flag.written} has no effect by itself; to index transcripts, name "sessions" in memorySearch.sources`,
    );
  return notices;
}

/** Returns the effective values as a tree; keys without a value have their default. */
export function configValues(values: FoundValues, stateDir: string): ConfigValues {
  const tree: Record<string, unknown> = {};
  for (const key of configKeys) {
    const names = key.key.split(".");
    if (key.same !== undefined || key.key.includes("[]")) continue;
    // Without a prototype, so that a plugin or provider called `constructor` is not found where none was given.
    if (names.includes("*")) put(tree, names.slice(0, names.indexOf("*")), Object.create(null));
    else put(tree, names, values.get(key.key)?.value ?? defaultOf(key, stateDir));
  }
  for (const { key, name, value } of values.values())
    if (name !== undefined)
      put(
        tree,
        key.key.split(".").map((part) => (part === "*" ? name : part)),
        value,
      );
  return tree as unknown as ConfigValues;
}

function defaultOf(key: ConfigKey, stateDir: string): unknown {
  const prefix = "{stateDir}/";
  if (typeof key.default !== "string" || !key.default.startsWith(prefix)) return key.default;
  return join(stateDir, key.default.slice(prefix.length));
}

function put(tree: Record<string, unknown>, names: readonly string[], value: unknown): void {
  let group = tree;
  for (const name of names.slice(0, -1)) group = (group[name] ??= {}) as Record<string, unknown>;
  group[names.at(-1) ?? ""] = value;
}
