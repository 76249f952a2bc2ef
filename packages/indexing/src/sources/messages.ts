import { lazily } from "@memslot/core";
import { redactLines } from "../secrets/redact-secrets.ts";
import { withoutData, withoutPictures } from "../text/embedded-data.ts";
import { splitLines } from "../text/file-text.ts";
import { estimateTokens, splitLongLine } from "../text/token-weight.ts";
import type { SaidRecord } from "./lines.ts";
import { createHash } from "node:crypto";
import type { Chunk } from "../chunk-store.ts";
import { chunkTerms } from "../text/languages/chunk-terms.ts";
import type { Stemmers } from "../text/languages/stemmers.ts";

/** What a turn is about: a person's message, the check of a heartbeat, or the saving of notes before compaction. */
export type Turn = "plain" | "heartbeat" | "flush";

/** An answer to a heartbeat with at most so many characters says with the token that all is well. */
const maxAckLength = 300;
/** A longer text is no token between punctuation, and is not searched for one. */
const maxTokenLength = 200;
/** At a quarter of a token for a character: no line has more than 800 characters of what was said. */
const maxLineTokens = 200;
/** For lines that are joined again: only that one of them does not end in a word. */
const wholeLineTokens = 1_000;
const labels = { user: "User: ", assistant: "Assistant: " } as const;
const saysSomething = /[\p{L}\p{N}\p{S}]/u;

const flushPrompt = /^Pre-compaction memory flush\b/i;
const heartbeatPrompt =
  /^(?:Read HEARTBEAT\.md\b|\[[\w ]{0,30}heartbeat (?:poll|check|wake)\]|<heartbeat>|HEARTBEAT$)/i;
/** Heartbeat prompts of one's own end with the answer that is expected. */
const heartbeatOrder =
  /(?:\b(?:reply|respond|answer|return|output)\b|回复|回答|返回|输出)[^\n]{0,40}HEARTBEAT_OK[^\p{L}\p{N}?？]{0,20}$/iu;
/** What hosts say in a user's place: timers, finished commands, a new session, orders to a helper. */
const eventPrompt =
  /^(?:\[cron:[^\]\n]+\]|\[Scheduled [^\]\n]+\]|A scheduled (?:reminder|cron event) (?:has been|was) triggered|An async command you ran earlier has completed|Exec finished(?::|\s?\()|Exec (?:completed|failed) \([\w-]{1,64}, (?:code|signal) |A new session was started via \/new or \/reset|\[(?:Subagent Context|System Message|Inter-session message)\b[^\]\n]*\])/i;

const silentReply = lazily(() => /^(?:[\s\p{P}\p{S}]*NO_REPLY[\s\p{P}\p{S}]*|\{\s*"action"\s*:\s*"NO_REPLY"\s*\})$/iu);
const heartbeatReply = lazily(() => /^[\s\p{P}\p{S}]*HEARTBEAT_OK[\s\p{P}\p{S}]*$/iu);
const heartbeatToken = /^[^\p{L}\p{N}]{0,10}HEARTBEAT_OK\b|\bHEARTBEAT_OK[^\p{L}\p{N}]{0,10}$/u;
const silentEdges = /^\s*NO_REPLY[ \t]*\n|\n[ \t]*NO_REPLY\s*$/g;

/** A message without what hosts have put into it, as lines for chunks of `tokens`, and the kind of turn that follows. */
export function renderSaid(
  { role, text }: Pick<SaidRecord, "role" | "text">,
  turn: Turn,
  tokens: number,
): { turn: Turn; rendered: string[] } {
  if (role === "assistant") return { turn, rendered: renderMessage(role, keptOfAnswer(text, turn), tokens) };
  const begun = turnOf(text);
  const isKept = begun === "plain" && !eventPrompt.test(text) && !isSilent(text);
  return { turn: begun, rendered: isKept ? renderMessage(role, text, tokens) : [] };
}

/** A message as one line, whatever its length, and the same without its label. */
export function renderWhole(record: SaidRecord): { line: string; text: string } {
  const label = labels[record.role];
  const { rendered } = renderSaid(record, "plain", wholeLineTokens);
  const text = rendered.map((line) => line.slice(label.length)).join(" ");
  return { line: rendered.length === 0 ? "" : label + text, text };
}

/** Which turn a user's text begins. */
function turnOf(text: string): Turn {
  if (flushPrompt.test(text)) return "flush";
  const isHeartbeat = heartbeatPrompt.test(text) || heartbeatOrder.test(text.slice(-maxTokenLength));
  return isHeartbeat ? "heartbeat" : "plain";
}

/** What of an answer is kept, by the turn that it belongs to. */
function keptOfAnswer(text: string, turn: Turn): string {
  if (turn === "flush" || isSilent(text)) return "";
  if (text.length <= maxTokenLength && heartbeatReply().test(text)) return "";
  if (turn === "heartbeat" && text.length <= maxAckLength && heartbeatToken.test(text)) return "";
  return text.replace(silentEdges, "");
}

function isSilent(text: string): boolean {
  return text.length <= maxTokenLength && silentReply().test(text);
}

/**
 * A message as lines that can stand alone: `User: …` or `Assistant: …`, each short enough for a chunk of `tokens`.
 * Secrets are taken out before anything is cut, once with the lines as they were written and once joined: neither a line
 * end nor a cut may hide one. Empty where nothing was said.
 */
function renderMessage(role: "user" | "assistant", text: string, tokens: number): string[] {
  const clean = text.toWellFormed().replaceAll("\0", " ").normalize("NFC");
  const joined = redactLines(withoutPictures(splitLines(clean)))
    .join(" ")
    .replaceAll(/[\s\0]+/g, " ")
    .trim();
  const [content = ""] = withoutData(redactLines([joined]));
  if (!saysSomething.test(content)) return [];
  const label = labels[role];
  // Leaves room for one character of any script, however small a chunk is.
  const budget = Math.max(Math.min(tokens - estimateTokens(label) - 0.25, maxLineTokens), 2);
  return Array.from(splitLongLine(content, budget, 0), (line) => label + line);
}

/** The day on the clock of this machine, by which "yesterday" in a question is counted too. */
export function localDay(timeMs: number): string {
  const time = new Date(timeMs);
  const pad = (value: number, length: number): string => String(value).padStart(length, "0");
  return `${pad(time.getFullYear(), 4)}-${pad(time.getMonth() + 1, 2)}-${pad(time.getDate(), 2)}`;
}

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
