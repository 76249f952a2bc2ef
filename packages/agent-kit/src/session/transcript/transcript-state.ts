import type { ConversationMessage, UserMessage } from "../../conversation.ts";
import type { TranscriptEntry } from "./transcript-entry.ts";

/** Ids of messages before the last compaction that are still known. */
const olderIdsKept = 1_000;

/** What the lines of a transcript come to. Holds the messages since the last compaction, however long the file is. */
export interface TranscriptState {
  readonly summary: string | undefined;
  readonly messages: readonly ConversationMessage[];
  readonly unanswered: UserMessage | undefined;
  readonly compactionCount: number;
  /** Where the line of the last compaction ends; 0 without one. */
  readonly compactedBytes: number;
  readonly bytes: number;
  readonly brokenLines: number;
  /** The last line with an id: what the next one follows. */
  readonly lastId: string | undefined;
  /** The latest time that a line has, as ISO text. */
  readonly lastAt: string | undefined;
  /** False while the file holds nothing that could be read. */
  readonly begun: boolean;
  /** Whether anybody said anything in it, ever. */
  readonly spoken: boolean;
  /** The message with an id. "before" for one before the last compaction, of which only the id is known. */
  find(id: string): ConversationMessage | "before" | undefined;
}

export interface GrowingTranscript extends TranscriptState {
  /** Takes the next line, `bytes` long with its line end. A message whose id is there counts once. */
  take(entry: TranscriptEntry, bytes: number): void;
}

/** Reading a transcript and writing to it give the same state, because both go through here. */
export function emptyTranscript(): GrowingTranscript {
  let summary: string | undefined;
  let messages: ConversationMessage[] = [];
  let byId = new Map<string, ConversationMessage>();
  const olderIds = new Set<string>();
  let unanswered: UserMessage | undefined;
  let compactionCount = 0;
  let compactedBytes = 0;
  let bytes = 0;
  let brokenLines = 0;
  let lastId: string | undefined;
  let lastAt: string | undefined;
  let begun = false;
  let spoken = false;

  function forget(id: string): void {
    olderIds.delete(id);
    olderIds.add(id);
    if (olderIds.size <= olderIdsKept) return;
    for (const oldest of olderIds) {
      olderIds.delete(oldest);
      return;
    }
  }

  function compacted(firstKeptId: string | undefined): void {
    const first = messages.findIndex(({ id }) => id === firstKeptId);
    const kept = first < 0 ? [] : messages.slice(first);
    for (const { id } of first < 0 ? messages : messages.slice(0, first)) forget(id);
    messages = kept;
    byId = new Map(kept.map((message) => [message.id, message]));
    compactionCount++;
    compactedBytes = bytes;
  }

  function said(message: ConversationMessage): void {
    if (byId.has(message.id) || olderIds.has(message.id)) return;
    messages.push(message);
    byId.set(message.id, message);
    lastId = message.id;
    lastAt = message.at;
    spoken = true;
    if (message.role === "user") unanswered = message;
    else if (isFinal(message)) unanswered = undefined;
  }

  return {
    get summary() {
      return summary;
    },
    get messages() {
      return messages;
    },
    get unanswered() {
      return unanswered;
    },
    get compactionCount() {
      return compactionCount;
    },
    get compactedBytes() {
      return compactedBytes;
    },
    get bytes() {
      return bytes;
    },
    get brokenLines() {
      return brokenLines;
    },
    get lastId() {
      return lastId;
    },
    get lastAt() {
      return lastAt;
    },
    get begun() {
      return begun;
    },
    get spoken() {
      return spoken;
    },
    find: (id) => byId.get(id) ?? (olderIds.has(id) ? "before" : undefined),
    take(entry, lineBytes) {
      bytes += lineBytes;
      if (entry.kind === "blank") return;
      if (entry.kind === "broken") {
        brokenLines++;
        return;
      }
      begun = true;
      if (entry.kind === "message") said(entry.message);
      else if (entry.kind === "session") lastAt ??= entry.at;
      else if (entry.kind === "compaction") {
        compacted(entry.firstKeptId);
        ({ summary } = entry);
        lastId = entry.id ?? lastId;
        lastAt = entry.at ?? lastAt;
      }
    },
  };
}

/** The assistant has the last word with a text: a round of tools is not an answer yet. */
function isFinal(message: ConversationMessage): boolean {
  return message.role === "assistant" && message.toolCalls === undefined && message.text.trim() !== "";
}
