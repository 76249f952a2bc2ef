import { createHash } from "node:crypto";
import type { Chunk } from "../chunk-store.ts";
import { estimateTokens } from "../text/token-weight.ts";
import { chunkTerms } from "../text/languages/chunk-terms.ts";
import type { Stemmers } from "../text/languages/stemmers.ts";
import type { Turn } from "./message-text.ts";

/** Messages farther apart than this, with tool noise between them, do not share a chunk. It bounds what is read again. */
const maxSpreadBytes = 256 * 1024;

/** A place before a line of a transcript, with what the lines before it say about those behind it. */
export interface Origin {
  bytes: number;
  /** Lines before it. */
  lines: number;
  turn: Turn;
  /** ISO day of the last time that was seen; empty where none was. */
  day: string;
  /** Lines that could not be read, or not to their end. */
  passedOver: number;
}

/** A message that is cut, with its lines as they are shown. */
export interface RenderedMessage {
  /** Before its line. */
  origin: Origin;
  role: "user" | "assistant";
  /** ISO; empty where it is not known. */
  day: string;
  rendered: readonly string[];
}

interface Piece {
  message: RenderedMessage;
  index: number;
  text: string;
}

/**
 * Gathers messages into chunks of at most `tokens`, as estimated. A chunk ends when it is full, where the day changes,
 * where a user speaks and it is half full, and where the next message is far away in the file. All of it follows from the
 * chunk's own messages, so that a file that grew can be cut from the last chunk on. The context of a chunk is its day.
 */
export class MessageChunker {
  /** How much was added. */
  characters = 0;
  readonly #tokens: number;
  readonly #stemmers: Stemmers;
  readonly #done: Chunk[] = [];
  #pending: Piece[] = [];
  #pendingTokens = 0;
  /** The first chunk that begins in the line where the open one begins. */
  #start: Piece | undefined;

  constructor(tokens: number, stemmers: Stemmers) {
    this.#tokens = tokens;
    this.#stemmers = stemmers;
  }

  /** To be called for every line of the file, with its first byte, before the message that it holds. */
  reach(startByte: number): void {
    const first = this.#pending[0];
    if (first && startByte - first.message.origin.bytes > maxSpreadBytes) this.#flush();
  }

  /** Adds rendered lines of a message, in their order, those from `from` up to `to`. */
  add(message: RenderedMessage, from: number, to: number): void {
    const before = this.#pending.at(-1)?.message;
    const halfFull = message.role === "user" && this.#pendingTokens > this.#tokens / 2;
    if (before && before !== message && (halfFull || before.day !== message.day)) this.#flush();
    for (const [offset, text] of message.rendered.slice(from, to).entries()) {
      const piece = { message, index: from + offset, text };
      const tokens = estimateTokens(text) + 0.25;
      if (this.#pendingTokens + tokens > this.#tokens) this.#flush();
      if (this.#pending.length === 0 && this.#start?.message !== message) this.#start = piece;
      this.#pending.push(piece);
      this.#pendingTokens += tokens;
      this.characters += text.length;
    }
  }

  /** Where the chunk that is not full yet has to be cut again from: before this line, without its first rendered lines. */
  open(): { origin: Origin; skip: number } | undefined {
    const start = this.#pending.length > 0 ? this.#start : undefined;
    return start && { origin: start.message.origin, skip: start.index };
  }

  /** The chunks so far, with the open one as it is now. */
  chunks(): Chunk[] {
    return this.#pending.length > 0 ? [...this.#done, this.#toChunk()] : this.#done;
  }

  #flush(): void {
    if (this.#pending.length > 0) this.#done.push(this.#toChunk());
    this.#pending = [];
    this.#pendingTokens = 0;
  }

  #toChunk(): Chunk {
    const pieces = this.#pending;
    const text = pieces.map((piece) => piece.text).join("\n");
    const context = pieces[0]?.message.day ?? "";
    return {
      startLine: (pieces[0]?.message.origin.lines ?? 0) + 1,
      endLine: (pieces.at(-1)?.message.origin.lines ?? 0) + 1,
      text,
      context,
      terms: chunkTerms(`${text}\n${context}`, this.#stemmers),
      hash: createHash("sha256").update(context).update("\0").update(text).digest("hex"),
    };
  }
}
