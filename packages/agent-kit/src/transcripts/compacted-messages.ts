import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { isObject, jsonOf, textAt } from "@memslot/indexing/host";
import { type FlushRecord, isDoneRecord, isFlushRecord } from "../flush/flush-journal.ts";
import { readFileSafely } from "../session/transcript-file.ts";
import { transcriptFolder } from "./open-transcript.ts";
import type { TranscriptPlace } from "./transcript-types.ts";
import { shownLine } from "./transcript-page.ts";

/**
 * Messages that left a conversation. `waiting`: on disk, until a model has read them. `digest`: the same, and the notes have a
 * digest of them. `saved`: a model has read them and written notes.
 */
export interface HandOver {
  state: "waiting" | "digest" | "saved";
  sessionId: string;
  /** Absent for saved messages. */
  sessionKey?: string | undefined;
  /** When they left, or were saved (ISO 8601). */
  at: string;
  messages: number;
  /** Failed tries, with the time and the error of the last. */
  tries?: number | undefined;
  lastTriedAt?: string | undefined;
  lastError?: string | undefined;
  /** Notes from these messages: `memory/2026-03-05.md#L3-L5`. */
  citations?: readonly string[] | undefined;
}

export interface HandOvers {
  /** Waiting ones first, then the newest; at most 500. */
  all: readonly HandOver[];
  count: number;
  broken: number;
  /** The state of a message. `kept`: the journal has it, and no hand-over. */
  fateOf(sessionId: string, messageId: string): HandOver["state"] | "kept" | undefined;
}

const maxRecords = 2_000;
const maxShown = 500;
/** Of a record, and of all files of the journal together. The rest is not read. */
const maxBytes = 64 * 1024 * 1024;
const keptName = /^(.{1,80})\.[0-9a-f]{16}\.jsonl$/u;

/** Reads the records of the flush and changes nothing. */
export async function readHandOvers(place: TranscriptPlace): Promise<HandOvers> {
  const sessions = transcriptFolder(place, "sessions");
  const folder = sessions === undefined ? undefined : path.join(path.dirname(sessions), "flush");
  const fates = await keptMessages(place);
  const all: HandOver[] = [];
  let broken = 0;
  const names = namesIn(folder).filter((name) => name.endsWith(".json"));
  for (const name of names.slice(-maxRecords)) {
    const value = jsonOf(await textIn(path.join(folder ?? "", name)));
    const isMark = name.endsWith(".done.json");
    if (isMark && isDoneRecord(value)) {
      const { sessionId, at, ids } = value;
      all.push({ state: "saved", sessionId, at, messages: ids.length });
      for (const id of ids) fates.set(keyOf(sessionId, id), "saved");
    } else if (!isMark && isFlushRecord(value)) {
      const waiting = waitingOf(value);
      all.push(waiting);
      for (const key of value.messages.map(({ id }) => keyOf(value.sessionId, id)))
        if (fates.get(key) !== "saved") fates.set(key, waiting.state);
    } else broken++;
  }
  const order = (each: HandOver): string => `${each.state === "saved" ? 0 : 1} ${each.at}`;
  return {
    all: all.toSorted((a, b) => (order(a) < order(b) ? 1 : -1)).slice(0, maxShown),
    count: names.length,
    broken,
    fateOf: (sessionId, messageId) => fates.get(keyOf(sessionId, messageId)),
  };
}

function keyOf(sessionId: string, messageId: string): string {
  return JSON.stringify([sessionId, messageId]);
}

function waitingOf(record: FlushRecord): HandOver {
  const { sessionId, sessionKey, createdAt: at, messages, tries, lastTriedAt, lastError, notes = [], digest } = record;
  const written = notes.flatMap(({ citation }) => citation ?? []);
  return {
    state: digest === undefined ? "waiting" : "digest",
    sessionId,
    sessionKey,
    at,
    messages: messages.length,
    tries,
    lastTriedAt,
    lastError: lastError === undefined ? undefined : shownLine(lastError, 500),
    citations: [...new Set([...(digest?.citations ?? []), ...written])],
  };
}

async function keptMessages(place: TranscriptPlace): Promise<Map<string, HandOver["state"] | "kept">> {
  const folder = transcriptFolder(place, "journal");
  const found = new Map<string, HandOver["state"] | "kept">();
  let bytes = 0;
  for (const name of namesIn(folder)) {
    if (!keptName.test(name) || bytes > maxBytes) continue;
    const text = (await textIn(path.join(folder ?? "", name))) ?? "";
    bytes += text.length;
    const records = text.split("\n").map(jsonOf).filter(isObject);
    const header = records.find((record) => record["type"] === "session");
    const sessionId = textAt(header, "id") ?? keptName.exec(name)?.[1] ?? "";
    for (const { type, id } of records) if (type === "message") found.set(keyOf(sessionId, String(id)), "kept");
  }
  return found;
}

function namesIn(folder: string | undefined): string[] {
  if (folder === undefined || lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder);
}

async function textIn(file: string): Promise<string | undefined> {
  return await readFileSafely(file, async (handle, { size }) =>
    size <= maxBytes ? await handle.readFile("utf8") : undefined,
  );
}
