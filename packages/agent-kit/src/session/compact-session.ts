import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import { estimateTokens } from "@memslot/indexing/host";
import { type ConversationMessage, handedOver } from "../conversation.ts";
import type { Session } from "./session.ts";

const summaryDeadlineMs = 60_000;
const handOverDeadlineMs = 60_000;
/** A model that copies instead of summing up would leave no room. */
const maxSummaryLength = 16_000;
/** What a message costs beside its words. */
const messageTokens = 4;

/** Sums up messages that are about to leave the context, with the summary of what left it before. */
export type Summarize = (input: {
  previousSummary?: string | undefined;
  messages: readonly ConversationMessage[];
  signal: AbortSignal;
}) => Promise<string>;

export interface CompactSessionOptions {
  session: Pick<Session, "id" | "key" | "context" | "recorded" | "compact">;
  /** Estimated tokens of messages that stay, at least the last turn of the user. */
  keepTokens: number;
  /** Is given exactly the messages that are about to be lost, before they are. */
  flush?:
    | {
        beforeDrop(messages: readonly ConversationMessage[], options: { signal: AbortSignal }): Promise<unknown>;
      }
    | undefined;
  /** Left out, or failing: a plain digest is the summary. */
  summarize?: Summarize | undefined;
  signal?: AbortSignal | undefined;
}

export interface CompactionReport {
  /** Messages that left the context. 0: nothing was done. */
  readonly dropped: number;
  readonly kept: number;
  /** Estimated, of the summary and the messages. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** What the context begins with now. */
  readonly summary?: string | undefined;
  /** Undefined where nothing was dropped. */
  readonly summarizedBy?: "model" | "digest" | undefined;
  /** Why there is no summary by the model, why nothing was dropped, or why more is kept than was asked for. */
  readonly reason?: string | undefined;
}

/**
 * Makes room in the context of a session: the last turns stay, the messages before them are handed to `flush` and give
 * way to a summary. Messages that are said meanwhile stay. Rejects, with nothing dropped, where `flush` fails, when
 * aborted, and where the transcript cannot be written.
 */
export async function compactSession(options: CompactSessionOptions): Promise<CompactionReport> {
  const { session, keepTokens, flush, signal } = options;
  if (!(keepTokens >= 0)) throw new MemoryError("INVALID_ARGUMENT", "keepTokens must be a number, 0 or more");
  signal?.throwIfAborted();
  const { recorded } = session;
  const previousSummary = session.context.summary;
  const tokensBefore = contextTokens(recorded, previousSummary);
  const { index, reason: keptReason } = cutOf(recorded, keepTokens);
  const nothing = (reason: string | undefined): CompactionReport => ({
    dropped: 0,
    kept: recorded.length,
    tokensBefore,
    tokensAfter: tokensBefore,
    summary: previousSummary,
    reason,
  });
  const first = recorded[index];
  if (index === 0 || first === undefined) return nothing(keptReason);

  const dropped = handedOver(recorded.slice(0, index));
  await withDeadline(
    { what: "the flush before compaction", deadlineMs: handOverDeadlineMs, signals: [signal] },
    async (inner) => await flush?.beforeDrop(dropped, { signal: inner }),
  );
  const { summary, reason, by } = await summaryOf(dropped, previousSummary, options);
  try {
    const firstDroppedId = recorded[0]?.id;
    await session.compact({ summary, firstKeptId: first.id, tokensBefore: Math.ceil(tokensBefore), firstDroppedId });
  } catch (error) {
    // Another compaction was quicker.
    if (MemoryError.is(error, "BUSY")) return nothing(messageOf(error));
    throw error;
  }
  const kept = session.recorded;
  const reasons = [reason, keptReason].filter((part) => part !== undefined);
  return {
    dropped: dropped.length,
    kept: kept.length,
    tokensBefore,
    tokensAfter: contextTokens(kept, summary),
    summary,
    summarizedBy: by,
    ...(reasons.length > 0 && { reason: reasons.join("; ") }),
  };
}

/** The estimated tokens of one message as a model gets it. */
function tokensOf(message: ConversationMessage): number {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const texts = [message.text, ...calls.flatMap((call) => [call.name, call.arguments])];
  return texts.reduce((sum, text) => sum + estimateTokens(text), messageTokens);
}

function contextTokens(messages: readonly ConversationMessage[], summary: string | undefined): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), estimateTokens(summary ?? ""));
}

/** The first message that stays: one of the user, so that no answer and no tool result stands alone. */
function cutOf(
  messages: readonly ConversationMessage[],
  keepTokens: number,
): { index: number; reason: string | undefined } {
  let tokens = 0;
  let cut: number | undefined;
  let reason: string | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (message === undefined) break;
    tokens += tokensOf(message);
    if (message.role !== "user") continue;
    if (tokens > keepTokens) {
      if (cut !== undefined) break;
      cut = index;
      reason = `the last turn alone is larger than ${keepTokens} tokens, and is kept whole`;
      break;
    }
    cut = index;
  }
  // All of it fits, also what may stand before the first message of the user.
  if (tokens <= keepTokens) return { index: 0, reason: `all of it fits in ${keepTokens} tokens` };
  return { index: cut ?? 0, reason };
}

async function summaryOf(
  messages: readonly ConversationMessage[],
  previousSummary: string | undefined,
  { summarize, signal }: CompactSessionOptions,
): Promise<{ summary: string; by: "model" | "digest"; reason: string | undefined }> {
  const digest = (reason: string) => ({
    summary: plainDigest(messages, previousSummary),
    by: "digest" as const,
    reason,
  });
  if (!summarize) return digest("no model to sum up");
  try {
    const text = await withDeadline(
      { what: "the summary", deadlineMs: summaryDeadlineMs, signals: [signal] },
      async (inner) => await summarize({ previousSummary, messages, signal: inner }),
    );
    if (typeof text !== "string" || text.trim() === "") return digest("the model gave no summary");
    if (text.length > maxSummaryLength)
      return digest(`the model's summary is longer than ${maxSummaryLength} characters`);
    return { summary: text.trim(), by: "model", reason: undefined };
  } catch (error) {
    if (signal?.aborted) throw error;
    return digest(`the model gave no summary: ${isAbort(error) ? "it was aborted" : messageOf(error)}`);
  }
}

const maxLength = 2_000;
const maxLineLength = 200;
const maxCarriedLength = 4_000;
const cutMark = "[…]";
const heading = "[Plain digest, made without a model: first lines only]";

/**
 * A summary where no model makes one: the first line of what the user said and the first sentence of each answer, at
 * most 2,000 characters of them, the newest first to be kept. The summary before stays in front, itself at most 4,000.
 */
function plainDigest(messages: readonly ConversationMessage[], previousSummary?: string | undefined): string {
  const lines = messages.map((message) => digestLine(message)).filter((line) => line !== "");
  const kept: string[] = [];
  let length = 0;
  for (const line of lines.toReversed()) {
    length += line.length + 1;
    if (length > maxLength) break;
    kept.unshift(line);
  }
  const missing = lines.length - kept.length;
  const gap = missing > 0 ? [`${cutMark} ${missing} earlier lines left out`] : [];
  const digest = [heading, ...gap, ...kept].join("\n");
  const carried = carry(previousSummary ?? "");
  return carried === "" ? digest : `${carried}\n\n${digest}`;
}

function digestLine(message: ConversationMessage): string {
  if (message.role === "tool") return "";
  const first = message.text.split(/\r?\n/).find((line) => line.trim() !== "") ?? "";
  const said = message.role === "user" ? first : (/^.*?(?:[。！？]|[.!?](?=\s|$))/u.exec(first)?.[0] ?? first);
  const clean = said
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim();
  if (clean === "") return "";
  return `${message.role === "user" ? "User" : "Assistant"}: ${shortened(clean)}`;
}

function shortened(text: string): string {
  if (text.length <= maxLineLength) return text;
  return `${text
    .slice(0, maxLineLength)
    .toWellFormed()
    .replace(/\uFFFD$/, "")
    .trimEnd()} ${cutMark}`;
}

/** The beginning and the end of a summary that grew too long: what it began with, and what came last. */
function carry(summary: string): string {
  const text = summary.trim();
  if (text.length <= maxCarriedLength) return text;
  const begin = text.slice(0, maxCarriedLength / 4);
  const end = text.slice(-(maxCarriedLength * 3) / 4);
  const lastBreak = begin.lastIndexOf("\n");
  return `${lastBreak > 0 ? begin.slice(0, lastBreak) : begin}\n${cutMark}\n${end.slice(end.indexOf("\n") + 1)}`;
}
