import type {
  EmbeddingBatches,
  EmbeddingPrice,
  EmbeddingProvider,
  MemorySearchSettings,
  SyncEstimate,
} from "@memslot/core";
import type { NoteIndex, SpaceFacts } from "../note-index.ts";
import type { FileRecord } from "../index-records.ts";
import type { Chunk, VectorSpace } from "../chunk-store.ts";
import { filesBySource, type IndexedSource } from "../indexed-source.ts";
import type { ScannedFile } from "../scan/scan.ts";
import { isMeasured, measuringTexts, sampled } from "../fusion/space-scales.ts";
import { estimateTokens } from "../text/token-weight.ts";
import {
  countRequests,
  packText,
  type RequestLimits,
  requestLimits,
  type TextWeight,
  tokensOf,
} from "./requests/pack.ts";

const askedAtOnce = 2048;
const mostQuarantined = 1_000_000;

/**
 * What a sync would cost now. Reads and cuts every file as a sync does, and asks the store which of the texts have their
 * vector; writes nothing and sends nothing. Without a space no text has a vector. Without a provider nothing would be
 * sent, and `reason` says why.
 */
export async function estimateSync(input: {
  store: Pick<NoteIndex, "listFiles" | "knownVectors" | "quarantined" | "revision"> & SpaceFacts;
  sources: readonly IndexedSource[];
  settings: MemorySearchSettings;
  space: VectorSpace | undefined;
  provider: EmbeddingProvider | undefined;
  reason: string | undefined;
  signal: AbortSignal;
}): Promise<SyncEstimate> {
  const { store, settings, space, provider, reason, signal } = input;
  const stored = filesBySource(await store.listFiles());
  let files = 0;
  let changedFiles = 0;
  let chunks = 0;
  /** Every text once. */
  const texts = new Map<string, TextWeight>();
  const sample = createLowest(sampled);
  const weigh = (cut: readonly Chunk[]): void => {
    chunks += cut.length;
    for (const chunk of cut) {
      if (!provider || texts.has(chunk.hash)) continue;
      // Only the weight is kept: the texts of a large memory are better not held all at once.
      const { tokens, bytes } = packText(chunk, provider);
      texts.set(chunk.hash, { tokens, bytes });
      sample.add(chunk);
    }
  };
  for (const source of input.sources) {
    const scan = await source.scan(signal, async () => stored);
    for (const file of scan.files) {
      const record = await cutFile(source, file, weigh, signal);
      if (!record) continue;
      files++;
      if (!isSame(record, stored.get(source.source)?.get(file.path))) changedFiles++;
    }
  }

  const distinct = texts.size;
  const withVector = space ? await knownAmong([...texts.keys()], space, store) : [];
  for (const hash of withVector) texts.delete(hash);
  const cachedTexts = distinct - texts.size;
  const refused = space ? await store.quarantined(space, mostQuarantined) : [];
  for (const { hash } of refused) texts.delete(hash);

  const pending = [...texts.values()];
  const measuring = await measuringWeights(store, space, chunks, sample.chunks());
  const tokens = Math.ceil(tokensOf(pending) + tokensOf(measuring));
  const batches = settings.remote.batch.enabled ? provider?.batches : undefined;
  return {
    files,
    changedFiles,
    chunks,
    cachedTexts,
    pendingTexts: pending.length,
    tokens,
    ...(measuring.length > 0 && { measuringTexts: measuring.length }),
    requests: provider
      ? countRequests(pending, batches ? jobLimits(batches) : requestLimits(provider)) +
        countRequests(measuring, requestLimits(provider))
      : 0,
    provider: provider?.id ?? "none",
    model: provider?.model,
    reason: provider ? undefined : reason,
    price: provider?.price && priceOf(provider.price, tokens, batches !== undefined),
  };
}

/** Those of the texts that are sent besides, once, to measure what the vectors of a space are worth beside words. */
async function measuringWeights(
  facts: SpaceFacts,
  space: VectorSpace | undefined,
  chunks: number,
  sample: readonly SampledChunk[],
): Promise<TextWeight[]> {
  if (space !== undefined && (await isMeasured(facts, space, chunks))) return [];
  return measuringTexts(sample).map((text) => ({ tokens: estimateTokens(text), bytes: Buffer.byteLength(text) }));
}

interface SampledChunk {
  hash: string;
  text: string;
}

/** The chunks with the lowest hashes, in their order, however many are added. */
function createLowest(count: number): { add(chunk: SampledChunk): void; chunks(): SampledChunk[] } {
  let kept: SampledChunk[] = [];
  const lowest = (): SampledChunk[] =>
    (kept = kept.toSorted((one, other) => (one.hash < other.hash ? -1 : 1)).slice(0, count));
  return {
    add({ hash, text }) {
      kept.push({ hash, text });
      if (kept.length >= 8 * count) lowest();
    },
    chunks: lowest,
  };
}

/**
 * Hands over the chunks of a file, as many readings as it takes, and gives its record; undefined for one that is gone or
 * cannot be read, which a sync reports.
 */
async function cutFile(
  source: IndexedSource,
  file: ScannedFile,
  take: (chunks: readonly Chunk[]) => void,
  signal: AbortSignal,
): Promise<FileRecord | undefined> {
  try {
    let record: FileRecord | undefined;
    let last: readonly Chunk[] = [];
    for (;;) {
      const reading = await source.read(file, record, signal);
      if (!reading) return undefined;
      const { changed } = reading;
      // The end of what was read before may be cut once more.
      if (changed) {
        take(last.filter(({ startLine }) => startLine < (changed.fromLine ?? 1)));
        last = changed.chunks;
      }
      record = reading.record;
      if (reading.more !== true) break;
    }
    take(last);
    return record;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Whether the store holds this very content of the file. */
function isSame(file: FileRecord, stored: FileRecord | undefined): boolean {
  return stored?.hash === file.hash && stored.recipe === file.recipe;
}

async function knownAmong(
  hashes: readonly string[],
  space: VectorSpace,
  store: Pick<NoteIndex, "knownVectors">,
): Promise<string[]> {
  const known: string[] = [];
  for (let start = 0; start < hashes.length; start += askedAtOnce)
    known.push(...(await store.knownVectors(space, hashes.slice(start, start + askedAtOnce))));
  return known;
}

function jobLimits({ maxItems, maxBytes }: EmbeddingBatches): RequestLimits {
  return { items: maxItems, bytes: maxBytes, tokens: Number.POSITIVE_INFINITY };
}

function priceOf(price: EmbeddingPrice, tokens: number, isBatch: boolean): NonNullable<SyncEstimate["price"]> {
  const { usdPerMillionTokens, batchUsdPerMillionTokens = usdPerMillionTokens } = price;
  return { ...price, usd: (tokens / 1e6) * (isBatch ? batchUsdPerMillionTokens : usdPerMillionTokens) };
}
