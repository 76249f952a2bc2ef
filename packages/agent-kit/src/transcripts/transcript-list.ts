import { lstatSync, readdirSync, type Stats } from "node:fs";
import path from "node:path";
import { audienceOf, type SessionAudience } from "@memslot/core";
import pLimit from "p-limit";
import { readSessionTable } from "../session/session-table.ts";
import { readBeginning, readFileSafely } from "../session/transcript-file.ts";
import { type HandOvers, readHandOvers } from "./compacted-messages.ts";
import { inTranscript, transcriptFolder } from "./open-transcript.ts";
import { scanTranscript } from "./scan-transcript.ts";
import type { TranscriptLabel, TranscriptPlace } from "./transcript-types.ts";
import type { TranscriptFacts } from "./transcript-facts.ts";

export interface ListedTranscript {
  /** As results name it: `sessions/<name>.jsonl`. */
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
  /** When it began and was last written to (ISO 8601). */
  from: string;
  to: string;
  bytes: number;
  /** Messages of user and assistant. Absent if it is too large to be counted for a list. */
  messages?: number | undefined;
}

export interface TranscriptList {
  folder: string | undefined;
  /** The latest first, at most 1,000. */
  transcripts: readonly ListedTranscript[];
  count: number;
}

export interface ListTranscriptsOptions extends TranscriptPlace {
  /** The peers of direct chats that are the owner, see `audienceOf`. */
  ownerAllowFrom?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

const maxListed = 1_000;
/** Larger transcripts are not counted for a list, nor all of them together above a multiple of it. */
const countedBytes = 1024 * 1024;
const countedBytesInAll = 32 * 1024 * 1024;
const headBytes = 64 * 1024;

/** Lists an agent's transcripts. Writes nothing and follows no link. */
export async function listTranscripts(options: ListTranscriptsOptions): Promise<TranscriptList> {
  const { agentId, ownerAllowFrom = [], signal } = options;
  const folder = transcriptFolder(options, "sessions");
  if (folder === undefined) return { folder: undefined, transcripts: [], count: 0 };
  const keys = new Map<string, string>();
  for (const [key, { sessionFile }] of await readSessionTable(folder)) keys.set(sessionFile, key);
  const files = filesIn(folder);
  const transcripts: ListedTranscript[] = [];
  let left = countedBytesInAll;
  for (const { name, stats } of files.slice(0, maxListed)) {
    signal?.throwIfAborted();
    const isCounted = stats.size <= Math.min(countedBytes, left);
    if (isCounted) left -= stats.size;
    const bytes = isCounted ? stats.size : headBytes;
    const facts = await readFileSafely(path.join(folder, name), (handle) =>
      scanTranscript({ handle, bytes }, { fateOf: () => undefined, signal }),
    );
    signal?.throwIfAborted();
    const sessionKey = keys.get(name) ?? facts?.sessionKey;
    const to = stats.mtime.toISOString();
    transcripts.push({
      path: `sessions/${name}`,
      sessionId: facts?.sessionId ?? name.replace(/\.jsonl$/u, ""),
      sessionKey,
      audience: sessionKey === undefined ? undefined : readersOf(sessionKey, agentId, ownerAllowFrom),
      isCurrent: keys.has(name),
      title: facts?.title,
      from: facts?.from === undefined ? to : new Date(facts.from).toISOString(),
      to,
      bytes: stats.size,
      messages: isCounted ? (facts?.messages ?? 0) : undefined,
    });
  }
  return { folder, transcripts, count: files.length };
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

export interface ConversationTime {
  /** As results name it: `sessions/<id>.jsonl`, `journal/<id>.<hash>.jsonl`. */
  path: string;
  /** Of the session; that of the file if its first line has none. */
  sessionId: string;
  from: string;
  to: string;
  bytes: number;
}

/** The times of conversations and of flushes; each the latest 2,000, and their number. */
export interface ConversationTimes {
  sessions: readonly ConversationTime[];
  sessionCount: number;
  flushes: readonly ConversationTime[];
  flushCount: number;
}

const maxTimes = 2_000;
const openAtOnce = 16;

/** Reads the first line of each file, follows no link, and changes nothing. */
export async function conversationTimes(place: TranscriptPlace): Promise<ConversationTimes> {
  const [sessions, flushes] = await Promise.all([timesIn(place, "sessions"), timesIn(place, "journal")]);
  return {
    sessions: sessions.times,
    sessionCount: sessions.count,
    flushes: flushes.times,
    flushCount: flushes.count,
  };
}

async function timesIn(
  place: TranscriptPlace,
  label: TranscriptLabel,
): Promise<{ times: ConversationTime[]; count: number }> {
  const folder = transcriptFolder(place, label);
  if (folder === undefined) return { times: [], count: 0 };
  const files = filesIn(folder);
  const limited = pLimit(openAtOnce);
  const times = files.slice(0, maxTimes).map(({ name, stats }) =>
    limited(async (): Promise<ConversationTime> => {
      const to = stats.mtime.toISOString();
      const { id, at } = (await readBeginning(path.join(folder, name))) ?? {};
      const began = Date.parse(at ?? "");
      return {
        path: `${label}/${name}`,
        sessionId: id ?? name.replace(/(?:\.[0-9a-f]{16})?\.jsonl$/u, ""),
        from: Number.isNaN(began) ? to : new Date(began).toISOString(),
        to,
        bytes: stats.size,
      };
    }),
  );
  return { times: await Promise.all(times), count: files.length };
}
