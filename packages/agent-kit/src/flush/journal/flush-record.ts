import { isObject } from "../../session/transcript-entry.ts";
import type { ConversationMessage } from "../../conversation.ts";

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
