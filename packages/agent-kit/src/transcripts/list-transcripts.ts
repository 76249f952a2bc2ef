import { lstatSync, readdirSync, type Stats } from "node:fs";
import path from "node:path";
import { audienceOf, type SessionAudience } from "@memslot/core";
import { readLines } from "@memslot/indexing/host";
import pLimit from "p-limit";
import { lookAtSessionTable } from "../session/session-table.ts";
import { readEntry } from "../session/transcript-entry.ts";
import { lookInto, readBeginning } from "../session/transcript-file.ts";
import { type HandOvers, readHandOvers } from "./hand-overs.ts";
import { scanTranscript } from "./scan-transcript.ts";
import type { TranscriptLabel, TranscriptPlace } from "./transcript.ts";
import type { TranscriptFacts } from "./transcript-facts.ts";
import { inTranscript, shownLine, transcriptFolder } from "./transcript-place.ts";

/** A transcript as far as its name, its size and its beginning tell. */
export interface ListedTranscript {
  /** As results name it: `sessions/<name>.jsonl`. */
  path: string;
  sessionId: string;
  /** As the host names the session; absent where neither the list of sessions nor the transcript says. */
  sessionKey?: string | undefined;
  /** Who reads the session, by its key. Absent without one. */
  audience?: SessionAudience | undefined;
  /** Whether the next message under this key goes on with it. */
  isCurrent: boolean;
  /** The first thing that the user said, where it stands near the beginning. */
  title?: string | undefined;
  /** When it began and was written to last (ISO 8601). */
  from: string;
  to: string;
  bytes: number;
  /** What user and assistant said. Absent where it is too large to be counted for a list. */
  messages?: number | undefined;
}

export interface TranscriptList {
  /** Where transcripts of this agent are put. */
  folder: string | undefined;
  /** The latest first, at most 1,000. */
  transcripts: readonly ListedTranscript[];
  /** How many there are. */
  count: number;
}

export interface ListTranscriptsOptions extends TranscriptPlace {
  /** The peers of direct chats that are the owner, see `audienceOf`. */
  ownerAllowFrom?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

const most = 1_000;
/** A larger transcript is not counted for a list, and all of them together are to a multiple of it. */
const countedBytes = 1024 * 1024;
const countedBytesInAll = 32 * 1024 * 1024;
const headBytes = 64 * 1024;
const titleCharacters = 120;

/** Lists an agent's transcripts. Writes nothing and follows no link. Where there is no folder there are none. */
export async function listTranscripts(options: ListTranscriptsOptions): Promise<TranscriptList> {
  const { agentId, ownerAllowFrom = [], signal } = options;
  const folder = transcriptFolder(options, "sessions");
  if (folder === undefined) return { folder: undefined, transcripts: [], count: 0 };
  const keys = new Map<string, string>();
  for (const [key, { sessionFile }] of await lookAtSessionTable(folder)) keys.set(sessionFile, key);
  const files = filesIn(folder);
  const transcripts: ListedTranscript[] = [];
  let left = countedBytesInAll;
  for (const { name, stats } of files.slice(0, most)) {
    signal?.throwIfAborted();
    const isCounted = stats.size <= Math.min(countedBytes, left);
    if (isCounted) left -= stats.size;
    const begun = await beginningOf(path.join(folder, name), isCounted ? stats.size : headBytes, signal);
    const sessionKey = keys.get(name) ?? begun.sessionKey;
    const to = stats.mtime.toISOString();
    transcripts.push({
      path: `sessions/${name}`,
      sessionId: begun.sessionId ?? name.replace(/\.jsonl$/u, ""),
      sessionKey,
      audience: sessionKey === undefined ? undefined : readersOf(sessionKey, agentId, ownerAllowFrom),
      isCurrent: keys.has(name),
      title: begun.title,
      from: begun.from ?? to,
      to,
      bytes: stats.size,
      messages: isCounted ? begun.messages : undefined,
    });
  }
  return { folder, transcripts, count: files.length };
}

/** All that a transcript says of itself. Undefined where it is not there. */
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

/** The transcripts in a folder, the latest first. */
function filesIn(folder: string): { name: string; stats: Stats }[] {
  const files = readdirSync(folder).flatMap((name) => {
    const stats = lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    return name.endsWith(".jsonl") && !name.startsWith(".") && stats?.isFile() === true ? [{ name, stats }] : [];
  });
  return files.toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
}

type Beginning = Partial<Record<"sessionId" | "sessionKey" | "title" | "from", string | undefined>> & {
  messages: number;
};

async function beginningOf(file: string, bytes: number, signal: AbortSignal | undefined): Promise<Beginning> {
  const found: Beginning = { messages: 0 };
  await lookInto(file, async (handle) => {
    for await (const lines of readLines(handle, 0, bytes, signal))
      for (const line of lines) {
        const entry = line.bytes === undefined ? undefined : readEntry(line.bytes, 0);
        if (entry?.kind === "session") {
          found.sessionId ??= entry.id;
          found.sessionKey ??= entry.key;
          if (entry.at !== undefined) found.from ??= new Date(entry.at).toISOString();
        }
        if (entry?.kind !== "message" || entry.message.role === "tool") continue;
        found.messages++;
        const { role, text } = entry.message;
        if (role === "user" && text.trim() !== "") found.title ??= shownLine(text, titleCharacters);
      }
  });
  // Of one that is gone, or not for us to read, the name has to do.
  signal?.throwIfAborted();
  return found;
}

/** A key that names another agent says nothing here. */
function readersOf(key: string, agentId: string, owners: readonly string[]): SessionAudience | undefined {
  try {
    return audienceOf(key, agentId, owners);
  } catch {
    return undefined;
  }
}

/** A transcript, or what a flush has taken from one: when it began and when it was written to last. */
export interface ConversationTime {
  /** Its file, as results name it: `sessions/<id>.jsonl`, `journal/<id>.<hash>.jsonl`. */
  path: string;
  /** Of the session; that of the file where its first line does not say. */
  sessionId: string;
  /** ISO 8601. */
  from: string;
  to: string;
  bytes: number;
}

/** When an agent has talked, and when memory was flushed; each the latest 2,000, and how many there are. */
export interface ConversationTimes {
  sessions: readonly ConversationTime[];
  sessionCount: number;
  flushes: readonly ConversationTime[];
  flushCount: number;
}

const mostTimes = 2_000;
const openAtOnce = 16;

/** Reads the first line of each file, follows no link, and changes nothing. Where there are no folders there are none. */
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
  const times = await Promise.all(
    files.slice(0, mostTimes).map(({ name, stats }) =>
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
    ),
  );
  return { times, count: files.length };
}
