import path from "node:path";
import { replaceFile } from "@memslot/core/files";
import { journalFileName, redactSecrets } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation.ts";
import { isObject, messageLine } from "../session/transcript-entry.ts";

/** An entry of the journal, as it is on disk. Times are ISO text. */
export interface FlushRecord {
  readonly version: 1;
  readonly sessionKey: string;
  readonly sessionId: string;
  /** How often the session had been compacted when the messages came. */
  readonly compactionCount: number;
  readonly createdAt: string;
  /** As they were said, in full. */
  readonly messages: readonly ConversationMessage[];
  /** How often it was gone through without success, each time with several tries. */
  readonly rounds: number;
  readonly tries: number;
  readonly lastTriedAt?: string | undefined;
  readonly lastError?: string | undefined;
  /** What this flush has written, or was about to write when the process ended. */
  readonly notes?: readonly FlushNote[] | undefined;
  /** The digest that stands in the notes until a model has read the messages. */
  readonly digest?: { readonly at: string; readonly citations: readonly string[] } | undefined;
}

/** One note of a flush, or one line of its digest. */
export interface FlushNote {
  readonly text: string;
  readonly kind: "daily" | "longterm";
  /** Whose log it is in, or would be. */
  readonly day: string;
  /** Where it was written; undefined while that is not known. */
  readonly citation?: string | undefined;
}

/** Messages that were handed over. */
export interface DoneRecord {
  readonly sessionId: string;
  readonly ids: readonly string[];
  readonly at: string;
}

export function isFlushRecord(value: unknown): value is FlushRecord {
  return (
    isObject(value) &&
    value["version"] === 1 &&
    ["sessionKey", "sessionId", "createdAt"].every((name) => typeof value[name] === "string") &&
    ["compactionCount", "rounds", "tries"].every((name) => Number.isInteger(value[name])) &&
    Array.isArray(value["messages"]) &&
    value["messages"].every(isMessage) &&
    (value["lastError"] === undefined || typeof value["lastError"] === "string") &&
    (value["notes"] === undefined || (Array.isArray(value["notes"]) && value["notes"].every(isNote))) &&
    (value["digest"] === undefined || isDigest(value["digest"]))
  );
}

export function isDoneRecord(value: unknown): value is DoneRecord {
  return (
    isObject(value) &&
    typeof value["sessionId"] === "string" &&
    typeof value["at"] === "string" &&
    isTexts(value["ids"])
  );
}

function isMessage(value: unknown): value is ConversationMessage {
  if (!isObject(value) || !["id", "at", "text"].every((name) => typeof value[name] === "string")) return false;
  if (value["role"] === "tool") return typeof value["toolCallId"] === "string" && typeof value["toolName"] === "string";
  return value["role"] === "user" || (value["role"] === "assistant" && areCalls(value["toolCalls"]));
}

function areCalls(value: unknown): boolean {
  return (
    value === undefined ||
    (Array.isArray(value) &&
      value.every(
        (call) => isObject(call) && ["id", "name", "arguments"].every((name) => typeof call[name] === "string"),
      ))
  );
}

function isNote(value: unknown): value is FlushNote {
  return (
    isObject(value) &&
    ["text", "day"].every((name) => typeof value[name] === "string") &&
    (value["kind"] === "daily" || value["kind"] === "longterm") &&
    (value["citation"] === undefined || typeof value["citation"] === "string")
  );
}

function isDigest(value: unknown): boolean {
  return isObject(value) && typeof value["at"] === "string" && isTexts(value["citations"]);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Results of these were notes before. They stand in the file, and are not found in it. */
const memoryTools = /^memory_/;

/** The path of the messages of an entry below the folder of the journal: the same messages have the same one. */
export function keptFile(folder: string, sessionName: string, hash: string): string {
  return path.join(folder, journalFileName(sessionName, hash));
}

/**
 * Writes messages where searches find them: a transcript of its own, on disk when it resolves. What a tool gave stands
 * there as a text of the assistant, in full, as it is handed to a model in part only. What looks like a secret is left out.
 */
export async function keepMessages(
  file: string,
  {
    sessionId,
    sessionKey,
    createdAt,
    messages,
  }: Pick<FlushRecord, "sessionId" | "sessionKey" | "createdAt" | "messages">,
  journalDays: number,
): Promise<void> {
  const keptUntil = new Date(Date.parse(createdAt) + journalDays * 86_400_000);
  const header = {
    type: "session",
    version: 3,
    id: sessionId,
    timestamp: createdAt,
    sessionKey,
    ...(Number.isNaN(keptUntil.getTime()) ? {} : { keptUntil: keptUntil.toISOString() }),
  };
  const lines = messages.map((message, index) => messageLine(findable(message), messages[index - 1]?.id));
  await replaceFile(file, `${JSON.stringify(header)}\n${lines.join("")}`);
}

function findable(message: ConversationMessage): ConversationMessage {
  const text = redactSecrets(message.text);
  if (message.role === "assistant" && message.toolCalls !== undefined) {
    const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: redactSecrets(call.arguments) }));
    return { ...message, text, toolCalls };
  }
  if (message.role !== "tool" || memoryTools.test(message.toolName)) return { ...message, text };
  const { id, at, toolName } = message;
  return { role: "assistant", id, at, text: `[result of ${toolName}] ${text}` };
}

/** What came of a flush. */
export interface FlushReport {
  /**
   * `done`: the model wrote notes. `nothing`: it found nothing to keep. `failed`: the messages are still in the journal
   * and are tried again. `skipped`: nothing was tried, see `reason`; the messages are in the journal. `digested`: a
   * plain digest stands in the notes; the messages are in the journal until a model takes them.
   */
  readonly state: "done" | "nothing" | "failed" | "skipped" | "digested";
  /** Why, for a person; always there for `failed` and `skipped`. */
  readonly reason?: string | undefined;
  /** Citations of what was written. */
  readonly entries: readonly string[];
  /** How many messages it was about. */
  readonly messages: number;
  /** How often a model was asked, in this run. */
  readonly tries: number;
  /** Local days of the messages, as YYYY-MM-DD. */
  readonly days: readonly string[];
}
