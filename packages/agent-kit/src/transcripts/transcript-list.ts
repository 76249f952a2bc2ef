import { lstatSync, readdirSync, type Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { audienceOf, type SessionAudience } from "@memslot/core";
import { readLines } from "@memslot/indexing/host";
import pLimit from "p-limit";
import { readSessionTable } from "../session/session-table.ts";
import { readEntry } from "../session/transcript-entry.ts";
import { readFileSafely } from "../session/transcript-file.ts";
import { type HandOvers, readHandOvers } from "./compacted-messages.ts";
import { inTranscript, transcriptFolder } from "./open-transcript.ts";
import { scanTranscript } from "./scan-transcript.ts";
import { timeOrNone } from "./transcript-page.ts";
import type { TranscriptLabel, TranscriptPlace } from "./transcript-types.ts";
import type { TranscriptFacts } from "./transcript-facts.ts";

export interface ListedTranscript {
  /** As results name it: `sessions/<name>.jsonl`, `journal/<id>.<hash>.jsonl`. */
  path: string;
  sessionId: string;
  /** As the host names the session; absent if neither the list of sessions nor the transcript has it. */
  sessionKey?: string | undefined;
  /** The readers of the session, by its key. Absent without one. */
  audience?: SessionAudience | undefined;
  /** Whether the next message under this key continues it. */
  isCurrent: boolean;
  /** The first message of the user, if it is near the begin. */
  title?: string | undefined;
  /** Of the first and the last message or compaction with a time (ISO 8601); absent if none has one. */
  from?: string | undefined;
  to?: string | undefined;
  bytes: number;
  /** Messages of user and assistant. Absent if it is too large to be counted for a list. */
  messages?: number | undefined;
}

export interface TranscriptList {
  /** The latest first, at most 5,000. */
  transcripts: readonly ListedTranscript[];
  count: number;
}

export interface ListTranscriptsOptions extends TranscriptPlace {
  /** `sessions`, the default, or the messages in the `journal`. */
  label?: TranscriptLabel | undefined;
  /** The peers of direct chats that are the owner, see `audienceOf`. */
  ownerAllowFrom?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

const maxListed = 5_000;
/** Larger transcripts are not counted for a list, nor all of them together above a multiple of it. */
const countedBytes = 1024 * 1024;
const countedBytesInAll = 32 * 1024 * 1024;
const headBytes = 64 * 1024;
const tailBytes = 16 * 1024;
const mostTailBytes = 16 * 1024 * 1024;
const openAtOnce = 16;

/** Lists an agent's transcripts. Writes nothing and follows no link. */
export async function listTranscripts(options: ListTranscriptsOptions): Promise<TranscriptList> {
  const { agentId, label = "sessions", ownerAllowFrom = [], signal } = options;
  const folder = transcriptFolder(options, label);
  if (folder === undefined) return { transcripts: [], count: 0 };
  const keys = new Map<string, string>();
  if (label === "sessions")
    for (const [key, { sessionFile }] of await readSessionTable(folder)) keys.set(sessionFile, key);
  const files = filesIn(folder);
  const limited = pLimit(openAtOnce);
  let left = countedBytesInAll;
  const transcripts = files.slice(0, maxListed).map(async ({ name, stats }): Promise<ListedTranscript> => {
    const isCounted = stats.size <= Math.min(countedBytes, left);
    if (isCounted) left -= stats.size;
    const file = path.join(folder, name);
    const facts = await limited(() => summaryOf(file, stats, isCounted, signal));
    const sessionKey = keys.get(name) ?? facts?.sessionKey;
    return {
      path: `${label}/${name}`,
      sessionId: facts?.sessionId ?? name.replace(/(?:\.[0-9a-f]{16})?\.jsonl$/u, ""),
      sessionKey,
      audience: sessionKey === undefined ? undefined : readersOf(sessionKey, agentId, ownerAllowFrom),
      isCurrent: keys.has(name),
      title: facts?.title,
      from: facts?.from && new Date(facts.from).toISOString(),
      to: facts?.to && new Date(facts.to).toISOString(),
      bytes: stats.size,
      messages: isCounted ? (facts?.messages ?? 0) : undefined,
    };
  });
  const listed = await Promise.all(transcripts);
  return { transcripts: listed.toSorted((a, b) => ((a.to ?? "") < (b.to ?? "") ? 1 : -1)), count: files.length };
}

type Summary = Pick<TranscriptFacts, "sessionId" | "sessionKey" | "title" | "from" | "to" | "messages">;

// Module-level: a page lists them again with every change, and most of thousands are as they were.
const summaries = new Map<string, { state: string; summary: Promise<Summary | undefined> }>();

/** Facts of a transcript for the list; kept while the file has the same size and time. */
async function summaryOf(
  file: string,
  { size, mtimeMs }: Stats,
  isCounted: boolean,
  signal: AbortSignal | undefined,
): Promise<Summary | undefined> {
  signal?.throwIfAborted();
  const state = `${size} ${mtimeMs} ${isCounted}`;
  const known = summaries.get(file);
  if (known?.state === state) return await known.summary;
  const summary = readFileSafely(file, async (handle): Promise<Summary> => {
    const bytes = isCounted ? size : headBytes;
    const facts = await scanTranscript({ handle, bytes }, { fateOf: () => undefined, signal: undefined });
    const { sessionId, sessionKey, title, from, messages } = facts;
    const to = isCounted ? facts.to : await lastTime(handle, size);
    return { sessionId, sessionKey, title, from: from ?? to, to, messages };
  });
  summaries.delete(file);
  summaries.set(file, { state, summary });
  for (const oldest of summaries.keys()) if (summaries.size > maxListed * 2) summaries.delete(oldest);
  // A file that could not be read is tried again.
  void summary.then((found) => found ?? summaries.delete(file));
  return await summary;
}

/** The time of the last entry that has one: read from the end, in parts that grow until one has a time. */
async function lastTime(handle: FileHandle, size: number): Promise<string | undefined> {
  for (let bytes = tailBytes; ; bytes *= 8) {
    const start = Math.max(0, size - bytes);
    let last: string | undefined;
    for await (const lines of readLines(handle, start, size))
      for (const line of lines) {
        const entry = readEntry(line.bytes, 0);
        if (entry.kind === "message") last = timeOrNone(entry.message.at) ?? last;
        else if (entry.kind === "compaction") last = entry.at ?? last;
      }
    if (last !== undefined || start === 0 || bytes > mostTailBytes) return last;
  }
}

/** All facts of a transcript. Undefined if it does not exist. */
export async function describeTranscript(
  place: TranscriptPlace,
  relPath: string,
  { handOvers, signal }: { handOvers?: HandOvers | undefined; signal?: AbortSignal | undefined } = {},
): Promise<(TranscriptFacts & { bytes: number }) | undefined> {
  return await inTranscript(place, relPath, async (handle, bytes) => {
    const { fateOf } = handOvers ?? (await readHandOvers(place));
    return { ...(await scanTranscript({ handle, bytes }, { fateOf, signal })), bytes };
  });
}

function filesIn(folder: string): { name: string; stats: Stats }[] {
  const files = readdirSync(folder).flatMap((name) => {
    const stats = lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    return name.endsWith(".jsonl") && !name.startsWith(".") && stats?.isFile() === true ? [{ name, stats }] : [];
  });
  return files.toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
}

/** Undefined for the key of another agent. */
function readersOf(key: string, agentId: string, owners: readonly string[]): SessionAudience | undefined {
  try {
    return audienceOf(key, agentId, owners);
  } catch {
    return undefined;
  }
}
