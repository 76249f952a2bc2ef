import type { ConversationMessage, UserMessage } from "../conversation.ts";
import type { TranscriptEntry } from "./transcript-entry.ts";

/** Ids of messages before the last compaction that are still known. */
const olderIdsKept = 1_000;

/**
 * What the lines of a transcript come to. Holds the messages since the last compaction, however long the file is. Reading a
 * transcript and writing to it give the same state, because both go through `take`.
 */
export class TranscriptState {
  summary: string | undefined;
  messages: ConversationMessage[] = [];
  unanswered: UserMessage | undefined;
  compactionCount = 0;
  /** Where the line of the last compaction ends; 0 without one. */
  compactedBytes = 0;
  bytes = 0;
  brokenLines = 0;
  /** The last line with an id: what the next one follows. */
  lastId: string | undefined;
  /** The latest time that a line has, as ISO text. */
  lastAt: string | undefined;
  /** False while the file holds nothing that could be read. */
  begun = false;
  /** Whether anybody said anything in it, ever. */
  spoken = false;
  #byId = new Map<string, ConversationMessage>();
  readonly #olderIds = new Set<string>();

  /** The message with an id. "before" for one before the last compaction, of which only the id is known. */
  find(id: string): ConversationMessage | "before" | undefined {
    return this.#byId.get(id) ?? (this.#olderIds.has(id) ? "before" : undefined);
  }

  /** Takes the next line, `bytes` long with its line end. A message whose id is there counts once. */
  take(entry: TranscriptEntry, bytes: number): void {
    this.bytes += bytes;
    if (entry.kind === "blank") return;
    if (entry.kind === "broken") {
      this.brokenLines++;
      return;
    }
    this.begun = true;
    if (entry.kind === "message") this.#said(entry.message);
    else if (entry.kind === "session") this.lastAt ??= entry.at;
    else if (entry.kind === "compaction") {
      this.#compacted(entry.firstKeptId);
      this.summary = entry.summary;
      this.lastId = entry.id ?? this.lastId;
      this.lastAt = entry.at ?? this.lastAt;
    }
  }

  #said(message: ConversationMessage): void {
    if (this.find(message.id) !== undefined) return;
    this.messages.push(message);
    this.#byId.set(message.id, message);
    this.lastId = message.id;
    this.lastAt = message.at;
    this.spoken = true;
    if (message.role === "user") this.unanswered = message;
    else if (isFinal(message)) this.unanswered = undefined;
  }

  #compacted(firstKeptId: string | undefined): void {
    const first = this.messages.findIndex(({ id }) => id === firstKeptId);
    const kept = first < 0 ? [] : this.messages.slice(first);
    for (const { id } of first < 0 ? this.messages : this.messages.slice(0, first)) {
      this.#olderIds.delete(id);
      this.#olderIds.add(id);
    }
    for (const oldest of this.#olderIds) if (this.#olderIds.size > olderIdsKept) this.#olderIds.delete(oldest);
    this.messages = kept;
    this.#byId = new Map(kept.map((message) => [message.id, message]));
    this.compactionCount++;
    this.compactedBytes = this.bytes;
  }
}

/** The assistant has the last word with a text: a round of tools is not an answer yet. */
function isFinal(message: ConversationMessage): boolean {
  return message.role === "assistant" && message.toolCalls === undefined && message.text.trim() !== "";
}
