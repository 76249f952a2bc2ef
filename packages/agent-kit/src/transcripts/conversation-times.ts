import { constants, lstatSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { noSurprises } from "@memslot/core/files";
import pLimit from "p-limit";
import { readFirstEntry } from "../session/transcript/read-transcript.ts";
import { type TranscriptLabel, type TranscriptPlace, transcriptFolder } from "./transcript-place.ts";

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

const most = 2_000;
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
  const files = readdirSync(folder).flatMap((name) => {
    const stats = lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    return name.endsWith(".jsonl") && stats?.isFile() === true ? [{ name, stats }] : [];
  });
  const latest = files.toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs).slice(0, most);
  const limited = pLimit(openAtOnce);
  const times = await Promise.all(
    latest.map(({ name, stats }) =>
      limited(async (): Promise<ConversationTime> => {
        const to = stats.mtime.toISOString();
        const { id, at } = (await beginningOf(path.join(folder, name))) ?? {};
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

async function beginningOf(file: string): Promise<{ id: string | undefined; at: string | undefined } | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | noSurprises);
    try {
      const entry = await readFirstEntry(handle);
      return entry?.kind === "session" ? { id: entry.id, at: entry.at } : undefined;
    } finally {
      await handle.close();
    }
  } catch {
    return undefined; // Its own time has to do.
  }
}
