import { lazily } from "@memslot/core/host";
import { redactLines } from "../secrets/redact-secrets.ts";
import { withoutData, withoutPictures } from "../text/encoded-data.ts";
import { splitLines } from "../text/file-text.ts";
import { estimateTokens, splitLongLine } from "../text/split-by-tokens.ts";
import type { SaidRecord } from "./transcript-lines.ts";
import { createHash } from "node:crypto";
import type { Chunk } from "../chunk-store.ts";
import { chunkTerms, type Stemmers } from "../text/languages/chunk-terms.ts";

export type Turn = "plain" | "heartbeat" | "flush";

const maxAckLength = 300;
const maxTokenLength = 200;
const maxLineTokens = 200;
const wholeLineTokens = 1_000;
const labels = { user: "User: ", assistant: "Assistant: " } as const;
const saysSomething = /[\p{L}\p{N}\p{S}]/u;

const flushPrompt = /^Pre-compaction memory flush\b/i;
const heartbeatPrompt =
  /^(?:Read HEARTBEAT\.md\b|\[[\w ]{0,30}heartbeat (?:poll|check|wake)\]|<heartbeat>|HEARTBEAT$)/i;
/** Custom heartbeat prompts end with the expected answer. */
const heartbeatOrder =
  /(?:\b(?:reply|respond|answer|return|output)\b|回复|回答|返回|输出)[^\n]{0,40}HEARTBEAT_OK[^\p{L}\p{N}?？]{0,20}$/iu;
const eventPrompt =
  /^(?:\[cron:[^\]\n]+\]|\[Scheduled [^\]\n]+\]|A scheduled (?:reminder|cron event) (?:has been|was) triggered|An async command you ran earlier has completed|Exec finished(?::|\s?\()|Exec (?:completed|failed) \([\w-]{1,64}, (?:code|signal) |A new session was started via \/new or \/reset|\[(?:Subagent Context|System Message|Inter-session message)\b[^\]\n]*\])/i;

const silentReply = lazily(() => /^(?:[\s\p{P}\p{S}]*NO_REPLY[\s\p{P}\p{S}]*|\{\s*"action"\s*:\s*"NO_REPLY"\s*\})$/iu);
const heartbeatReply = lazily(() => /^[\s\p{P}\p{S}]*HEARTBEAT_OK[\s\p{P}\p{S}]*$/iu);
const heartbeatToken = /^[^\p{L}\p{N}]{0,10}HEARTBEAT_OK\b|\bHEARTBEAT_OK[^\p{L}\p{N}]{0,10}$/u;
const silentEdges = /^\s*NO_REPLY[ \t]*\n|\n[ \t]*NO_REPLY\s*$/g;

/** A message without texts of the host, as lines for chunks of `tokens`, and the kind of the turn that follows. */
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

/** A message as one line of any length, with and without its label. */
export function renderWhole(record: SaidRecord): { line: string; text: string } {
  const label = labels[record.role];
  const { rendered } = renderSaid(record, "plain", wholeLineTokens);
  const text = rendered.map((line) => line.slice(label.length)).join(" ");
  return { line: rendered.length === 0 ? "" : label + text, text };
}

function turnOf(text: string): Turn {
  if (flushPrompt.test(text)) return "flush";
  const isHeartbeat = heartbeatPrompt.test(text) || heartbeatOrder.test(text.slice(-maxTokenLength));
  return isHeartbeat ? "heartbeat" : "plain";
}

function keptOfAnswer(text: string, turn: Turn): string {
  if (turn === "flush" || isSilent(text)) return "";
  if (text.length <= maxTokenLength && heartbeatReply().test(text)) return "";
  if (turn === "heartbeat" && text.length <= maxAckLength && heartbeatToken.test(text)) return "";
  return text.replace(silentEdges, "");
}

function isSilent(text: string): boolean {
  return text.length <= maxTokenLength && silentReply().test(text);
}

/** A message as labelled lines. Redacts before cutting, so that no cut hides a secret. */
function renderMessage(role: "user" | "assistant", text: string, tokens: number): string[] {
  const clean = text.toWellFormed().replaceAll("\0", " ").normalize("NFC");
  const joined = redactLines(withoutPictures(splitLines(clean)))
    .join(" ")
    .replaceAll(/[\s\0]+/g, " ")
    .trim();
  const [content = ""] = withoutData(redactLines([joined]));
  if (!saysSomething.test(content)) return [];
  const label = labels[role];
  // At least one character of any script, however small a chunk is.
  const budget = Math.max(Math.min(tokens - estimateTokens(label) - 0.25, maxLineTokens), 2);
  return Array.from(splitLongLine(content, budget, 0), (line) => label + line);
}

/** Messages farther apart do not share a chunk. It limits what is read again. */
const maxSpreadBytes = 256 * 1024;

/** A position before a line of a transcript, with the state from the lines before it. */
export interface Origin {
  bytes: number;
  lines: number;
  turn: Turn;
  /** The last ISO day; empty if unknown. */
  day: string;
  /** Lines that were skipped or cut. */
  passedOver: number;
}

export interface RenderedMessage {
  origin: Origin;
  role: "user" | "assistant";
  day: string;
  rendered: readonly string[];
}

interface Piece {
  message: RenderedMessage;
  index: number;
  text: string;
}

/** Joins messages into chunks of at most `tokens`; deterministic, so that a grown file can be resumed. */
export class MessageChunker {
  characters = 0;
  readonly #tokens: number;
  readonly #stemmers: Stemmers;
  readonly #done: Chunk[] = [];
  #pending: Piece[] = [];
  #pendingTokens = 0;
  /** The first chunk that begins in the first line of the open one. */
  #start: Piece | undefined;

  constructor(tokens: number, stemmers: Stemmers) {
    this.#tokens = tokens;
    this.#stemmers = stemmers;
  }

  /** Call it for every line with its first byte, before `add`. */
  reach(startByte: number): void {
    const first = this.#pending[0];
    if (first && startByte - first.message.origin.bytes > maxSpreadBytes) this.#flush();
  }

  /** Adds lines of a message, those from `from` up to `to`. */
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

  /** Where the open chunk is cut again: before this line, without its first rendered lines. */
  open(): { origin: Origin; skip: number } | undefined {
    const start = this.#pending.length > 0 ? this.#start : undefined;
    return start && { origin: start.message.origin, skip: start.index };
  }

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
