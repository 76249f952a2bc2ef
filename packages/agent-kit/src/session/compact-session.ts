import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import { estimateTokens } from "@memslot/indexing/host";
import { type ConversationMessage, handedOver, tokensOf } from "../conversation-messages.ts";
import { invalid } from "../state-locks.ts";
import type { Session } from "./session-types.ts";

const summaryDeadlineMs = 60_000;
const handOverDeadlineMs = 60_000;
const maxSummaryLength = 16_000;
const messageTokens = 4;

/** Summarises messages that are about to leave the context, with the summary of earlier ones. */
export type Summarize = (input: {
  previousSummary?: string | undefined;
  messages: readonly ConversationMessage[];
  signal: AbortSignal;
}) => Promise<string>;

export interface CompactSessionOptions {
  session: Pick<Session, "id" | "key" | "context" | "recorded" | "compact">;
  /** Estimated tokens of the messages that stay, at least the last turn of the user. */
  keepTokens: number;
  /** Called before with exactly the messages that are dropped. */
  flush?:
    | {
        beforeDrop(messages: readonly ConversationMessage[], options: { signal: AbortSignal }): Promise<unknown>;
      }
    | undefined;
  /** If left out or failing, a plain digest is the summary. */
  summarize?: Summarize | undefined;
  signal?: AbortSignal | undefined;
}

export interface CompactionReport {
  /** Dropped messages. 0: nothing was done. */
  readonly dropped: number;
  readonly kept: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly summary?: string | undefined;
  /** Undefined if nothing was dropped. */
  readonly summarizedBy?: "model" | "digest" | undefined;
  /** Why there is no summary by the model, why nothing was dropped, or why more is kept than requested. */
  readonly reason?: string | undefined;
}

/** Compacts a session: older messages go to `flush` and become a summary. Rejects, with nothing dropped, on failure. */
export async function compactSession(options: CompactSessionOptions): Promise<CompactionReport> {
  const { session, keepTokens, flush, signal } = options;
  if (!(keepTokens >= 0)) throw invalid("keepTokens must be a number, 0 or more");
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
    // Another compaction was faster.
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

function contextTokens(messages: readonly ConversationMessage[], summary: string | undefined): number {
  return tokensOf(messages, messageTokens) + estimateTokens(summary ?? "");
}

function cutOf(messages: readonly ConversationMessage[], keepTokens: number): { index: number; reason?: string } {
  let tokens = 0;
  let cut: number | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (message === undefined) break;
    tokens += tokensOf([message], messageTokens);
    if (message.role !== "user") continue;
    if (tokens > keepTokens && cut === undefined)
      return { index, reason: `the last turn alone is larger than ${keepTokens} tokens, and is kept whole` };
    if (tokens > keepTokens) break;
    cut = index;
  }
  // All of it fits, also messages before the first one of the user.
  if (tokens <= keepTokens) return { index: 0, reason: `all of it fits in ${keepTokens} tokens` };
  return { index: cut ?? 0 };
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
  if (!summarize) return digest("no model to summarise");
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

/** The summary without a model: first lines and sentences of the newest messages, behind the earlier summary. */
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
  const gap = missing > 0 ? [`${cutMark} ${missing} earlier lines excluded`] : [];
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

function carry(summary: string): string {
  const text = summary.trim();
  if (text.length <= maxCarriedLength) return text;
  const begin = text.slice(0, maxCarriedLength / 4);
  const end = text.slice(-(maxCarriedLength * 3) / 4);
  const lastBreak = begin.lastIndexOf("\n");
  return `${lastBreak > 0 ? begin.slice(0, lastBreak) : begin}\n${cutMark}\n${end.slice(end.indexOf("\n") + 1)}`;
}
