import { readdirSync, rmSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";

/** What was spent on one day for one agent, reason, provider and model. */
export interface UsageEntry {
  /** Local calendar day, `YYYY-MM-DD`. */
  day: string;
  agentId: string;
  /** Who wanted the vectors: `search`, `watch`, `cli`. */
  reason: string;
  provider: string;
  model: string;
  /** Failed ones are counted too. */
  requests: number;
  tokens: number;
}

/** A line of a file: what a request has cost, will cost (`id`), or has cost more or less in the end (`settles`). */
interface UsageLine extends UsageEntry {
  id?: string | undefined;
  settles?: string | undefined;
}

const keptDays = 92;
const fileName = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;

/** The file of one day; each line of it is one `UsageEntry` as JSON, without its day and with the time as `at`. */
export function usageFile(stateDir: string, day: string): string {
  return path.join(usageFolder(stateDir), `${day}.jsonl`);
}

/** The local calendar day of a time, or of some days before it, as `YYYY-MM-DD`. */
export function localDay(time: Date, daysBefore = 0): string {
  const date = new Date(time.getFullYear(), time.getMonth(), time.getDate() - daysBefore, 12);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/**
 * The whole entries in a text of lines. What is damaged or cut off is passed over. `damaged` is called for what no process
 * has written: the end of one that died in the middle leaves the beginning of an entry, whose request was not sent.
 */
export function parseUsage(text: string, day: string, damaged: () => void = () => undefined): UsageLine[] {
  return text.split("\n").flatMap((line) => {
    const entry = parsed(line);
    if (isEntry(entry)) return [{ ...entry, day }];
    if (entry !== undefined || !(line === "" || '{"at":"'.startsWith(line.slice(0, 7)))) damaged();
    return [];
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isEntry(value: unknown): value is Omit<UsageLine, "day"> {
  if (typeof value !== "object" || value === null) return false;
  const entry = value as Record<string, unknown>;
  return (
    ["agentId", "reason", "provider", "model"].every((name) => typeof entry[name] === "string") &&
    ["requests", "tokens"].every((name) => Number.isFinite(entry[name])) &&
    Number(entry["requests"]) >= 0 &&
    // Less than was taken for it, where it says so.
    (Number(entry["tokens"]) >= 0 || typeof entry["settles"] === "string")
  );
}

/**
 * What was spent, summed up for each day, agent, reason, provider and model; the oldest day first. Some three months are
 * kept. Files that are missing or cannot be read count as nothing spent.
 */
export async function readUsage(
  stateDir: string,
  options: {
    agentId?: string | undefined;
    /** Only so many days, today included. */
    days?: number | undefined;
    now?: (() => Date) | undefined;
  } = {},
): Promise<UsageEntry[]> {
  const { agentId, days, now = () => new Date() } = options;
  const first = days === undefined ? "" : localDay(now(), days - 1);
  const sums = new Map<string, UsageEntry>();
  const names = await readdir(usageFolder(stateDir)).catch(() => []);
  for (const day of names.flatMap((name) => dayOf(name) ?? []).toSorted()) {
    if (day < first) continue;
    const text = await readFile(usageFile(stateDir, day), "utf8").catch(() => "");
    for (const entry of parseUsage(text, day)) {
      if (agentId === undefined || entry.agentId === agentId) add(sums, entry);
    }
  }
  return [...sums.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

function add(sums: Map<string, UsageEntry>, entry: UsageEntry): void {
  const { day, agentId, reason, provider, model, requests, tokens } = entry;
  const key = JSON.stringify([day, agentId, reason, provider, model]);
  const { requests: sent = 0, tokens: spent = 0 } = sums.get(key) ?? {};
  sums.set(key, { day, agentId, reason, provider, model, requests: sent + requests, tokens: spent + tokens });
}

/** Deletes the files that are older than 92 days. What cannot be deleted stays. */
export function removeOldUsage(stateDir: string, now: Date): void {
  const oldest = localDay(now, keptDays);
  try {
    for (const name of readdirSync(usageFolder(stateDir))) {
      if ((dayOf(name) ?? oldest) < oldest) rmSync(path.join(usageFolder(stateDir), name));
    }
  } catch {
    // In use on Windows, or not ours: the next day tries again.
  }
}

function usageFolder(stateDir: string): string {
  return path.join(stateDir, "embeddings", "usage");
}

function dayOf(name: string): string | undefined {
  return fileName.exec(name)?.[1];
}
