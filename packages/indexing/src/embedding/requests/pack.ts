import type { EmbeddingProvider } from "@memslot/core";
import { embeddedContext } from "../../text/note-context.ts";
import { estimateTokens, indexAtTokens } from "../../text/token-weight.ts";

const defaultItems = 64;
const defaultTokens = 8000;
/** Tokens are estimated, so that a stated limit is not used to its end. */
const margin = 0.8;

/** A chunk without a vector, as a store gives it. */
export interface PendingChunk {
  hash: string;
  context: string;
  text: string;
}

/** How much room a text takes in a request. */
export interface TextWeight {
  /** Estimated. */
  tokens: number;
  /** UTF-8. */
  bytes: number;
}

/** A text as it is sent. */
export interface PackedText extends TextWeight {
  /** Names the vector. */
  hash: string;
  text: string;
}

/** What one request may hold. */
export interface RequestLimits {
  items: number;
  /** Estimated. */
  tokens: number;
  /** UTF-8. No limit where it is left out. */
  bytes?: number | undefined;
}

/** The limits that a provider states. */
export type ProviderLimits = Pick<EmbeddingProvider, "maxInputTokens" | "maxBatchItems" | "maxBatchTokens">;

/** What is embedded for a chunk: its headings, then its text. */
export function embeddingText({ context, text }: { context: string; text: string }): string {
  return context === "" ? text : `${embeddedContext(context)}\n\n${text}`;
}

/** What one request to this provider may hold. */
export function requestLimits({ maxBatchItems, maxBatchTokens }: ProviderLimits): RequestLimits {
  return {
    items: maxBatchItems ?? defaultItems,
    tokens: maxBatchTokens === undefined ? defaultTokens : maxBatchTokens * margin,
  };
}

/** The text of a chunk as it is sent. Of one that is too long for the provider the vector stands for the beginning. */
export function packText(chunk: PendingChunk, provider: ProviderLimits): PackedText {
  const whole = embeddingText(chunk);
  const tokens = estimateTokens(whole);
  const limit = inputLimit(provider);
  if (limit === undefined || tokens <= limit * margin) return packed(chunk.hash, whole);
  return packed(chunk.hash, whole.slice(0, indexAtTokens(whole, 0, limit * margin)));
}

/**
 * A text that was refused, cut so far that its length cannot be the cause: a token stands for a byte at least. Undefined
 * where it is as short already, or where the provider states no limit.
 */
export function shortenText({ hash, text }: PackedText, provider: ProviderLimits): PackedText | undefined {
  const limit = inputLimit(provider);
  if (limit === undefined) return undefined;
  // Models add a few tokens of their own to each text.
  const bytes = Math.max(1, Math.floor(limit) - 8);
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return read === 0 || read === text.length ? undefined : packed(hash, text.slice(0, read));
}

/** How many of these texts, from `start` on, fit into one request: at least one, however long it is. */
export function countFitting(texts: readonly TextWeight[], limits: RequestLimits, start = 0): number {
  let tokens = 0;
  let bytes = 0;
  let count = 0;
  for (let text = texts[start]; text; text = texts[start + count]) {
    tokens += text.tokens;
    bytes += text.bytes;
    const fits = count < limits.items && tokens <= limits.tokens && bytes <= (limits.bytes ?? bytes);
    if (count > 0 && !fits) break;
    count++;
  }
  return count;
}

/** Into how many requests these texts go. */
export function countRequests(texts: readonly TextWeight[], limits: RequestLimits): number {
  let requests = 0;
  for (let start = 0; start < texts.length; requests++) start += countFitting(texts, limits, start);
  return requests;
}

/** Estimated tokens of texts together. */
export function tokensOf(texts: readonly TextWeight[]): number {
  return texts.reduce((sum, { tokens }) => sum + tokens, 0);
}

function packed(hash: string, text: string): PackedText {
  return { hash, text, tokens: estimateTokens(text), bytes: Buffer.byteLength(text) };
}

/** The longest text that a request can hold is not longer than the request. */
function inputLimit({ maxInputTokens, maxBatchTokens }: ProviderLimits): number | undefined {
  const stated = [maxInputTokens, maxBatchTokens].filter((limit) => limit !== undefined);
  return stated.length === 0 ? undefined : Math.min(...stated);
}
