import type { QmdLimits } from "../qmd-contract.ts";
import type { ScopeSettings } from "./scope-rules.ts";

/** A file or folder with notes, beside those of the workspace and of `memorySearch.extraPaths`. */
export interface QmdPath {
  path: string;
  name?: string | undefined;
  pattern?: string | undefined;
}

/** `memory.qmd` with its defaults. Durations are milliseconds, 0 means never. */
export interface QmdOptions {
  command: string;
  searchMode: "search" | "vsearch" | "query";
  rerank: boolean;
  includeDefaultMemory: boolean;
  paths: readonly QmdPath[];
  sessions: { enabled: boolean; exportDir?: string | undefined; retentionDays?: number | undefined };
  update: {
    intervalMs: number;
    debounceMs: number;
    onBoot: boolean;
    waitForBootSync: boolean;
    embedIntervalMs: number;
    commandTimeoutMs?: number | undefined;
    updateTimeoutMs?: number | undefined;
    embedTimeoutMs: number;
  };
  limits: {
    maxResults?: number | undefined;
    maxSnippetChars?: number | undefined;
    maxInjectedChars?: number | undefined;
    timeoutMs?: number | undefined;
  };
  scope: ScopeSettings | undefined;
  /** It is written in the configuration, and has no effect. */
  hasMcporter: boolean;
}

interface Written {
  command?: string;
  searchMode?: QmdOptions["searchMode"];
  rerank?: boolean;
  includeDefaultMemory?: boolean;
  paths?: readonly QmdPath[];
  sessions?: { enabled?: boolean; exportDir?: string; retentionDays?: number };
  update?: {
    interval?: string | number;
    debounceMs?: number;
    onBoot?: boolean;
    waitForBootSync?: boolean;
    embedInterval?: string | number;
    commandTimeoutMs?: number;
    updateTimeoutMs?: number;
    embedTimeoutMs?: number;
  };
  limits?: QmdOptions["limits"];
  scope?: { default?: "allow" | "deny"; rules?: ScopeSettings["rules"] };
  mcporter?: Readonly<Record<string, unknown>>;
}

/** Reads what `memory.qmd` says; it has been checked against the schema. */
export function readOptions(given: Readonly<Record<string, unknown>>): QmdOptions {
  const written: Written = given;
  const { sessions = {}, update = {}, scope } = written;
  return {
    command: written.command?.trim() || "qmd",
    searchMode: written.searchMode ?? "search",
    rerank: written.rerank ?? false,
    includeDefaultMemory: written.includeDefaultMemory ?? true,
    paths: written.paths ?? [],
    sessions: { ...sessions, enabled: sessions.enabled ?? false },
    update: {
      intervalMs: readDuration(update.interval ?? "5m"),
      debounceMs: update.debounceMs ?? 15_000,
      onBoot: update.onBoot ?? true,
      waitForBootSync: update.waitForBootSync ?? false,
      embedIntervalMs: readDuration(update.embedInterval ?? "60m"),
      commandTimeoutMs: update.commandTimeoutMs,
      updateTimeoutMs: update.updateTimeoutMs,
      embedTimeoutMs: update.embedTimeoutMs ?? 120_000,
    },
    limits: written.limits ?? {},
    scope: scope && { default: scope.default ?? "deny", rules: scope.rules ?? [] },
    hasMcporter: written.mcporter?.["enabled"] === true,
  };
}

/** The times of the process layer that a configuration sets. */
export function processLimits({ update, limits }: QmdOptions): Partial<QmdLimits> {
  const { commandTimeoutMs, updateTimeoutMs } = update;
  return {
    ...(commandTimeoutMs !== undefined && { initializeMs: commandTimeoutMs, probeMs: commandTimeoutMs }),
    // All of it: a person who writes a time means the time after which it ends.
    ...(updateTimeoutMs !== undefined && { updateBaseMs: updateTimeoutMs, updatePerFileMs: 0 }),
    ...(limits.timeoutMs !== undefined && { cliQueryMs: limits.timeoutMs }),
  };
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A timer takes at most 2^31 - 1 milliseconds, about 24 days. */
const longestMs = 2 ** 31 - 1;

/**
 * Milliseconds of a duration as the schema lets it be written: `"5m"`, `"1h30m"`, `"90s"`, `"500ms"`, or a number of
 * minutes. 0, `"0"` and `"off"` are 0, which switches off what it is the interval of.
 */
export function readDuration(written: string | number): number {
  if (typeof written === "number") return Math.min(longestMs, written * 60_000);
  const parts = [...written.toLowerCase().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * (units[unit ?? ""] ?? 0), 0);
  return Math.min(longestMs, sum);
}
