import type { QmdLimits } from "./process/run-qmd.ts";
import schema from "./config-schema.json" with { type: "json" };

/** The JSON Schema of `memory.qmd`. `pnpm generate` writes it into `memslot.plugin.json`. */
export const configSchema: Readonly<Record<string, unknown>> = schema;

/** `memory.qmd` with its defaults. Intervals are durations of `readDuration`. */
export interface QmdOptions {
  command: string;
  searchMode: "search" | "vsearch" | "query";
  rerank: boolean;
  includeDefaultMemory: boolean;
  /** Files and folders with notes, besides the workspace and `memorySearch.extraPaths`. */
  paths: readonly { path: string; name?: string | undefined; pattern?: string | undefined }[];
  sessions: { enabled: boolean; exportDir?: string; retentionDays?: number };
  update: {
    interval: string | number;
    debounceMs: number;
    onBoot: boolean;
    waitForBootSync: boolean;
    embedInterval: string | number;
    commandTimeoutMs?: number;
    updateTimeoutMs?: number;
    embedTimeoutMs: number;
  };
  limits: { maxResults?: number; maxSnippetChars?: number; maxInjectedChars?: number; timeoutMs?: number };
  /** Absent: every session may search. */
  scope?: ScopeSettings;
  /** Has no effect. */
  mcporter: { enabled?: boolean };
}

type WrittenOptions = {
  [Key in keyof QmdOptions]?: QmdOptions[Key] extends object ? Partial<QmdOptions[Key]> : QmdOptions[Key];
};

export function readOptions(given: Readonly<Record<string, unknown>>): QmdOptions {
  const { command, paths = [], sessions, update, scope, ...written }: WrittenOptions = given;
  return {
    searchMode: "search",
    rerank: false,
    includeDefaultMemory: true,
    limits: {},
    mcporter: {},
    ...written,
    command: command?.trim() || "qmd",
    paths: paths as QmdOptions["paths"],
    sessions: { enabled: false, ...sessions },
    update: {
      interval: "5m",
      debounceMs: 15_000,
      onBoot: true,
      waitForBootSync: false,
      embedInterval: "60m",
      embedTimeoutMs: 120_000,
      ...update,
    },
    ...(scope && { scope: { default: scope.default ?? "deny", rules: scope.rules ?? [] } }),
  };
}

export function processLimits({ update }: QmdOptions): Partial<QmdLimits> {
  const { commandTimeoutMs, updateTimeoutMs } = update;
  return {
    ...(commandTimeoutMs !== undefined && { initializeMs: commandTimeoutMs, statusMs: commandTimeoutMs }),
    ...(updateTimeoutMs !== undefined && { updateBaseMs: updateTimeoutMs, updatePerFileMs: 0 }),
  };
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longest time of a timer: about 24 days. */
const longestMs = 2 ** 31 - 1;

/** Milliseconds of a duration: `"5m"`, `"1h30m"`, `"500ms"`, or a number of minutes. 0 and `"off"` are 0. */
export function readDuration(written: string | number): number {
  if (typeof written === "number") return Math.min(longestMs, written * 60_000);
  const parts = [...written.toLowerCase().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * (units[unit ?? ""] ?? 0), 0);
  return Math.min(longestMs, sum);
}

export interface ScopeSettings {
  default: "allow" | "deny";
  rules: readonly ScopeRule[];
}

interface ScopeRule {
  action: "allow" | "deny";
  /** All given fields must match; without any, every session matches. */
  match?:
    | {
        channel?: string | undefined;
        chatType?: "direct" | "group" | "channel" | undefined;
        keyPrefix?: string | undefined;
        rawKeyPrefix?: string | undefined;
      }
    | undefined;
}

interface SessionFacts {
  channel: string | undefined;
  chatType: "direct" | "group" | "channel";
  key: string;
  rawKey: string;
}

/** Whether a session may search. The owner always may; a subagent matches no rule. Without settings all may. */
export function maySearch(settings: ScopeSettings | undefined, sessionKey: string | undefined): boolean {
  if (settings === undefined || sessionKey === undefined) return true;
  const facts = factsOf(sessionKey);
  if (/(?:^|:)subagent:/.test(facts.key)) return settings.default === "allow";
  const rule = settings.rules.find(({ match = {} }) => matches(match, facts));
  return (rule?.action ?? settings.default) === "allow";
}

function matches(match: NonNullable<ScopeRule["match"]>, facts: SessionFacts): boolean {
  const { channel, chatType, keyPrefix, rawKeyPrefix } = match;
  if (channel !== undefined && channel.trim().toLowerCase() !== facts.channel) return false;
  if (chatType !== undefined && chatType !== facts.chatType) return false;
  if (keyPrefix !== undefined && !facts.key.startsWith(keyPrefix.trim().toLowerCase())) return false;
  return rawKeyPrefix === undefined || facts.rawKey.startsWith(rawKeyPrefix.trim().toLowerCase());
}

/** `agent:<id>:<channel>:<direct | group | channel>:<peer>`, with or without the agent. A main session is a direct one. */
function factsOf(sessionKey: string): SessionFacts {
  const rawKey = sessionKey.trim().toLowerCase();
  const key = rawKey.replace(/^agent:[^:]*:/, "");
  const parts = key.split(":");
  const kind = parts.find((part) => part === "group" || part === "channel");
  const chatType = kind === "group" || kind === "channel" ? kind : "direct";
  return { channel: parts.length > 1 ? parts[0] : undefined, chatType, key, rawKey };
}
