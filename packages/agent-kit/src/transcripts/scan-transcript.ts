import type { FileHandle } from "node:fs/promises";
import { readLines } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation.ts";
import { readEntry, type TranscriptEntry } from "../session/transcript-entry.ts";
import type { HandOver } from "./hand-overs.ts";
import type { TranscriptCompaction, TranscriptFacts } from "./transcript-facts.ts";
import { timeOf, shownLine, shownText } from "./transcript-place.ts";
import { Recalls } from "./recalls.ts";

type Fate = (sessionId: string, messageId: string) => HandOver["state"] | "kept" | undefined;

const mostCompactions = 100;
const titleCharacters = 120;
const summaryCharacters = 4_000;

/**
 * Reads all of a transcript in pieces, so that others can work in between. Holds one line, the ids of the messages since
 * the last compaction, and what it gives.
 */
export async function scanTranscript(
  { handle, bytes }: { handle: FileHandle; bytes: number },
  { fateOf, signal }: { fateOf: Fate; signal: AbortSignal | undefined },
): Promise<TranscriptFacts> {
  const scan = new Scan(fateOf);
  for await (const lines of readLines(handle, 0, bytes, signal))
    for (const line of lines)
      scan.take(line.bytes === undefined ? { kind: "broken" } : readEntry(line.bytes, scan.next()), line.start);
  return scan.facts;
}

class Scan {
  readonly #fateOf: Fate;
  #line = 0;
  #inContext: string[] = [];
  readonly #recalls = new Recalls();
  readonly #facts: Omit<TranscriptFacts, "compactions" | "recalls" | "recallCount"> & {
    compactions: TranscriptCompaction[];
  } = {
    messages: 0,
    results: 0,
    broken: 0,
    compactions: [],
    compactionCount: 0,
  };

  constructor(fateOf: Fate) {
    this.#fateOf = fateOf;
  }

  /** The number of the line that is taken next. */
  next(): number {
    return this.#line + 1;
  }

  take(entry: TranscriptEntry, start: number): void {
    this.#line++;
    const facts = this.#facts;
    if (entry.kind === "broken") facts.broken++;
    else if (entry.kind === "session") {
      facts.sessionId ??= entry.id;
      facts.sessionKey ??= entry.key;
      this.#timeIs(entry.at);
    } else if (entry.kind === "message") this.#said(entry.message, start);
    else if (entry.kind === "compaction") {
      this.#timeIs(entry.at);
      this.#compacted(entry, start);
    }
  }

  get facts(): TranscriptFacts {
    const { latest, count } = this.#recalls;
    return { ...this.#facts, recalls: latest, recallCount: count };
  }

  #timeIs(at: string | undefined): void {
    if (at === undefined) return;
    this.#facts.from ??= at;
    this.#facts.to = at;
  }

  #said(message: ConversationMessage, start: number): void {
    const facts = this.#facts;
    this.#timeIs(timeOf(message.at));
    if (message.role === "tool") facts.results++;
    else facts.messages++;
    if (message.role === "user" && message.text.trim() !== "") facts.title ??= shownLine(message.text, titleCharacters);
    this.#inContext.push(message.id);
    this.#recalls.take(message, start);
  }

  #compacted({ firstKeptId, summary, at }: Extract<TranscriptEntry, { kind: "compaction" }>, start: number): void {
    const facts = this.#facts;
    const first = firstKeptId === undefined ? -1 : this.#inContext.lastIndexOf(firstKeptId);
    const dropped = first < 0 ? this.#inContext : this.#inContext.slice(0, first);
    this.#inContext = first < 0 ? [] : this.#inContext.slice(first);
    const fates: Partial<Record<HandOver["state"] | "kept", number>> = {};
    for (const id of dropped) {
      const fate = this.#fateOf(facts.sessionId ?? "", id);
      if (fate !== undefined) fates[fate] = (fates[fate] ?? 0) + 1;
    }
    facts.compactions.push({ start, at, dropped: dropped.length, fates, ...shownText(summary, summaryCharacters) });
    if (facts.compactions.length > mostCompactions) facts.compactions.shift();
    facts.compactionCount++;
  }
}
