import { createHash } from "node:crypto";
import type { Chunk } from "../chunk-store.ts";
import { estimateTokens } from "../text/token-weight.ts";
import { chunkTerms } from "../text/languages/chunk-terms.ts";
import type { Stemmers } from "../text/languages/stemmers.ts";

/** Messages farther apart than this, with tool noise between them, do not share a chunk. It bounds what is read again. */
const maxSpreadBytes = 256 * 1024;

/** A message that is cut: where its line begins, and its lines as they are shown. */
interface RenderedMessage<Origin> {
  /** JSONL line, 1-based. */
  line: number;
  startByte: number;
  role: "user" | "assistant";
  /** ISO; empty where it is not known. */
  day: string;
  rendered: readonly string[];
  origin: Origin;
}

/** Where cutting can begin anew and gives the same chunks: before the line of `origin`, without its first rendered lines. */
interface ChunkStart<Origin> {
  origin: Origin;
  skip: number;
}

interface Piece<Origin> {
  message: RenderedMessage<Origin>;
  index: number;
  text: string;
  tokens: number;
}

/** Gathers messages into chunks of at most `tokens`, as estimated. */
export interface MessageChunker<Origin> {
  /** Is told of every line of the file, at its first byte, before the message that it holds. */
  reach(startByte: number): void;
  /** Adds rendered lines of a message, in their order, those from `from` up to `to`. */
  add(message: RenderedMessage<Origin>, from: number, to: number): void;
  /** Where the chunk that is not full yet has to be cut again from; undefined where nothing is open. */
  open(): ChunkStart<Origin> | undefined;
  /** How much was added. */
  characters(): number;
  /** The chunks so far, with the open one as it is now. */
  chunks(): Chunk[];
}

/**
 * A chunk ends when it is full, where the day changes, where a user speaks and it is half full, and where the next
 * message is far away in the file. All of it follows from the chunk's own messages, so that a file that grew can be cut
 * from the last chunk on. The context of a chunk is its day.
 */
export function createMessageChunker<Origin>(tokens: number, stemmers: Stemmers): MessageChunker<Origin> {
  const done: Chunk[] = [];
  let pending: Piece<Origin>[] = [];
  let pendingTokens = 0;
  let characters = 0;
  /** The first chunk that begins in the line where the open one begins. */
  let start: Piece<Origin> | undefined;

  function flush(): void {
    if (pending.length > 0) done.push(toChunk(pending, stemmers));
    pending = [];
    pendingTokens = 0;
  }

  return {
    reach(startByte) {
      const first = pending[0];
      if (first && startByte - first.message.startByte > maxSpreadBytes) flush();
    },
    add(message, from, to) {
      const before = pending.at(-1)?.message;
      const halfFull = message.role === "user" && pendingTokens > tokens / 2;
      if (before && before !== message && (halfFull || before.day !== message.day)) flush();
      for (const [offset, text] of message.rendered.slice(from, to).entries()) {
        const index = from + offset;
        const piece = { message, index, text, tokens: estimateTokens(text) + 0.25 };
        if (pendingTokens + piece.tokens > tokens) flush();
        if (pending.length === 0 && start?.message !== message) start = piece;
        pending.push(piece);
        pendingTokens += piece.tokens;
        characters += text.length;
      }
    },
    open: () => (pending.length > 0 && start ? { origin: start.message.origin, skip: start.index } : undefined),
    characters: () => characters,
    chunks: () => (pending.length > 0 ? [...done, toChunk(pending, stemmers)] : done),
  };
}

function toChunk<Origin>(pieces: readonly Piece<Origin>[], stemmers: Stemmers): Chunk {
  const text = pieces.map((piece) => piece.text).join("\n");
  const context = pieces[0]?.message.day ?? "";
  return {
    startLine: pieces[0]?.message.line ?? 1,
    endLine: pieces.at(-1)?.message.line ?? 1,
    text,
    context,
    terms: chunkTerms(`${text}\n${context}`, stemmers),
    hash: createHash("sha256").update(context).update("\0").update(text).digest("hex"),
  };
}
