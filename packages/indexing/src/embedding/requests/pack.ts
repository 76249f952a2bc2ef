import type { EmbeddingProvider } from "@memslot/core";
import { embeddedContext } from "../../text/note-context.ts";
import { estimateTokens, indexAtTokens } from "../../text/split-by-tokens.ts";

const defaultItems = 64;
const defaultTokens = 8000;
const margin = 0.8;

export interface PendingChunk {
  hash: string;
  context: string;
  text: string;
}

export interface TextWeight {
  /** Estimated. */
  tokens: number;
  /** UTF-8. */
  bytes: number;
}

export interface PackedText extends TextWeight {
  hash: string;
  text: string;
}

export interface RequestLimits {
  items: number;
  /** Estimated. */
  tokens: number;
  /** UTF-8; unlimited if left out. */
  bytes?: number | undefined;
}

export type ProviderLimits = Pick<EmbeddingProvider, "maxInputTokens" | "maxBatchItems" | "maxBatchTokens">;

export function embeddingText({ context, text }: { context: string; text: string }): string {
  return context === "" ? text : `${embeddedContext(context)}\n\n${text}`;
}

export function requestLimits({ maxBatchItems, maxBatchTokens }: ProviderLimits): RequestLimits {
  return {
    items: maxBatchItems ?? defaultItems,
    tokens: maxBatchTokens === undefined ? defaultTokens : maxBatchTokens * margin,
  };
}

/** The text of a chunk as it is sent: its headings and lines, cut to the limit of the provider. */
export function packText(chunk: PendingChunk, provider: ProviderLimits): PackedText {
  const whole = embeddingText(chunk);
  const tokens = estimateTokens(whole);
  const limit = inputLimit(provider);
  if (limit === undefined || tokens <= limit * margin) return packed(chunk.hash, whole);
  return packed(chunk.hash, whole.slice(0, indexAtTokens(whole, 0, limit * margin)));
}

/** Cuts a refused text below the token limit; undefined if it is already that short. */
export function shortenText({ hash, text }: PackedText, provider: ProviderLimits): PackedText | undefined {
  const limit = inputLimit(provider);
  if (limit === undefined) return undefined;
  // Models add a few tokens of their own to each text.
  const bytes = Math.max(1, Math.floor(limit) - 8);
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return read === 0 || read === text.length ? undefined : packed(hash, text.slice(0, read));
}

/** How many texts from `start` on fit into one request; one at least. */
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

export function countRequests(texts: readonly TextWeight[], limits: RequestLimits): number {
  let requests = 0;
  for (let start = 0; start < texts.length; requests++) start += countFitting(texts, limits, start);
  return requests;
}

export function tokensOf(texts: readonly TextWeight[]): number {
  return texts.reduce((sum, { tokens }) => sum + tokens, 0);
}

function packed(hash: string, text: string): PackedText {
  return { hash, text, tokens: estimateTokens(text), bytes: Buffer.byteLength(text) };
}

function inputLimit({ maxInputTokens, maxBatchTokens }: ProviderLimits): number | undefined {
  const stated = [maxInputTokens, maxBatchTokens].filter((limit) => limit !== undefined);
  return stated.length === 0 ? undefined : Math.min(...stated);
}
