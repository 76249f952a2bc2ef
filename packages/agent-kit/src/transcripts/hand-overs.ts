import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { lookInto } from "../session/transcript-file.ts";
import { type DoneRecord, type FlushRecord, isDoneRecord, isFlushRecord } from "../flush/flush-journal.ts";
import type { TranscriptPlace } from "./transcript.ts";
import { shownLine, transcriptFolder } from "./transcript-place.ts";
import { isObject } from "../session/transcript-entry.ts";

/**
 * What became of messages that left a conversation. `waiting`: on disk, until a model has read them. `digest`: the same,
 * and a digest of them stands in the notes meanwhile. `saved`: a model has read them, and written what is worth it.
 */
export interface HandOver {
  state: "waiting" | "digest" | "saved";
  sessionId: string;
  /** Absent for what is saved: only what it was is known then. */
  sessionKey?: string | undefined;
  /** When they left, or were saved (ISO 8601). */
  at: string;
  messages: number;
  /** How often a model was asked in vain, when last, and what went wrong. */
  tries?: number | undefined;
  lastTriedAt?: string | undefined;
  lastError?: string | undefined;
  /** Where in the notes something of it stands: `memory/2026-03-05.md#L3-L5`. */
  citations?: readonly string[] | undefined;
}

/** All hand-overs of an agent, and which messages they are about. */
export interface HandOvers {
  /** Those that wait first, then the newest; at most 500. */
  all: readonly HandOver[];
  count: number;
  /** Records that cannot be read. */
  broken: number;
  /** What became of a message. `kept`: it can be found in the journal, and no hand-over knows of it. */
  fateOf(sessionId: string, messageId: string): HandOver["state"] | "kept" | undefined;
}

const mostRecords = 2_000;
const mostShown = 500;
/** Of a record, and of all files of the journal together: what is more is not looked at. */
const mostBytes = 64 * 1024 * 1024;
const keptName = /^(.{1,80})\.[0-9a-f]{16}\.jsonl$/u;

/** Reads what the flush has noted, and changes nothing. Where there is nothing there is nothing. */
export async function readHandOvers(place: TranscriptPlace): Promise<HandOvers> {
  const sessions = transcriptFolder(place, "sessions");
  const fates = new Map<string, HandOver["state"] | "kept">();
  const fate = (sessionId: string, messageId: string): string => JSON.stringify([sessionId, messageId]);
  const all: HandOver[] = [];
  let broken = 0;
  let count = 0;
  const kept = await keptMessages(place);
  for (const { sessionId, ids } of kept) for (const id of ids) fates.set(fate(sessionId, id), "kept");
  const folder = sessions === undefined ? undefined : path.join(path.dirname(sessions), "flush");
  const names = namesIn(folder).filter((name) => name.endsWith(".json"));
  count = names.length;
  for (const name of names.slice(-mostRecords)) {
    const value = await jsonIn(path.join(folder ?? "", name));
    const isMark = name.endsWith(".done.json");
    if (isMark && isDoneRecord(value)) {
      all.push(savedOf(value));
      for (const id of value.ids) fates.set(fate(value.sessionId, id), "saved");
    } else if (!isMark && isFlushRecord(value)) {
      const waiting = waitingOf(value);
      all.push(waiting);
      for (const { id } of value.messages) {
        const key = fate(value.sessionId, id);
        if (fates.get(key) !== "saved") fates.set(key, waiting.state);
      }
    } else broken++;
  }
  const order = (each: HandOver): string => `${each.state === "saved" ? 0 : 1} ${each.at}`;
  return {
    all: all.toSorted((a, b) => (order(a) < order(b) ? 1 : -1)).slice(0, mostShown),
    count,
    broken,
    fateOf: (sessionId, messageId) => fates.get(fate(sessionId, messageId)),
  };
}

function savedOf({ sessionId, at, ids }: DoneRecord): HandOver {
  return { state: "saved", sessionId, at, messages: ids.length };
}

function waitingOf(record: FlushRecord): HandOver {
  const { sessionId, sessionKey, createdAt, messages, tries, lastTriedAt, lastError, notes, digest } = record;
  const written = (notes ?? []).flatMap(({ citation }) => citation ?? []);
  return {
    state: digest === undefined ? "waiting" : "digest",
    sessionId,
    sessionKey,
    at: createdAt,
    messages: messages.length,
    tries,
    lastTriedAt,
    lastError: lastError === undefined ? undefined : shownLine(lastError, 500),
    citations: [...new Set([...(digest?.citations ?? []), ...written])],
  };
}

/** The ids of the messages that the journal keeps, by session. */
async function keptMessages(place: TranscriptPlace): Promise<{ sessionId: string; ids: string[] }[]> {
  const folder = transcriptFolder(place, "journal");
  const found: { sessionId: string; ids: string[] }[] = [];
  let bytes = 0;
  for (const name of namesIn(folder)) {
    if (!keptName.test(name) || bytes > mostBytes) continue;
    const text = (await textIn(path.join(folder ?? "", name))) ?? "";
    bytes += text.length;
    const records = text.split("\n").map((line) => parsed(line));
    const header = records.find((record) => record?.["type"] === "session");
    const sessionId = typeof header?.["id"] === "string" ? header["id"] : (keptName.exec(name)?.[1] ?? "");
    found.push({
      sessionId,
      ids: records.flatMap((record) => (record?.["type"] === "message" ? String(record["id"]) : [])),
    });
  }
  return found;
}

function namesIn(folder: string | undefined): string[] {
  if (folder === undefined || lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder);
}

async function jsonIn(file: string): Promise<unknown> {
  const text = await textIn(file);
  return text === undefined ? undefined : parsed(text);
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined for what is gone, a link, too large, or not for us to read. */
async function textIn(file: string): Promise<string | undefined> {
  return await lookInto(file, async (handle, { size }) =>
    size <= mostBytes ? await handle.readFile("utf8") : undefined,
  );
}
