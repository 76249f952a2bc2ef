import type { EmbeddingPrice, EmbeddingProvider, MemorySearchSettings, SyncEstimate } from "@memslot/core";
import type { NoteIndex, SpaceFacts } from "../note-index.ts";
import type { FileRecord } from "../index-row-types.ts";
import type { Chunk, VectorSpace } from "../chunk-store.ts";
import { filesBySource, type IndexedSource } from "../indexed-source.ts";
import type { ScannedFile } from "../scan/scan.ts";
import { isMeasured, measuringTexts, sampled } from "../fusion/vector-weight.ts";
import { estimateTokens } from "../text/split-by-tokens.ts";
import { countRequests, packText, requestLimits, type TextWeight, tokensOf } from "./requests/pack.ts";

const askedAtOnce = 2048;
const mostQuarantined = 1_000_000;

interface SampledChunk {
  hash: string;
  text: string;
}

/** Estimates the cost of a sync. Reads files and store; writes and sends nothing. */
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
  let [files, changedFiles, chunks] = [0, 0, 0];
  const texts = new Map<string, TextWeight>();
  let sample: SampledChunk[] = [];
  const weigh = (cut: readonly Chunk[]): void => {
    chunks += cut.length;
    for (const chunk of cut) {
      if (!provider || texts.has(chunk.hash)) continue;
      const { tokens, bytes } = packText(chunk, provider);
      texts.set(chunk.hash, { tokens, bytes });
      sample.push({ hash: chunk.hash, text: chunk.text });
      if (sample.length >= 8 * sampled) sample = lowest(sample);
    }
  };
  for (const source of input.sources) {
    const scan = await source.scan(signal, async () => stored);
    for (const file of scan.files) {
      const record = await cutFile(source, file, weigh, signal);
      if (!record) continue;
      files++;
      const before = stored.get(source.source)?.get(file.path);
      if (before?.hash !== record.hash || before.recipe !== record.recipe) changedFiles++;
    }
  }

  const distinct = texts.size;
  const hashes = [...texts.keys()];
  for (let start = 0; start < distinct; start += askedAtOnce) {
    const known = space ? await store.knownVectors(space, hashes.slice(start, start + askedAtOnce)) : [];
    for (const hash of known) texts.delete(hash);
  }
  const cachedTexts = distinct - texts.size;
  const refused = space ? await store.quarantined(space, mostQuarantined) : [];
  for (const { hash } of refused) texts.delete(hash);

  const pending = [...texts.values()];
  // Short texts that measure the semantic weight of a space are sent once.
  const isKnown = space !== undefined && (await isMeasured(store, space, chunks));
  const measuring = (isKnown ? [] : measuringTexts(lowest(sample))).map((text) => {
    return { tokens: estimateTokens(text), bytes: Buffer.byteLength(text) };
  });
  const tokens = Math.ceil(tokensOf([...pending, ...measuring]));
  const batches = settings.remote.batch.enabled ? provider?.batches : undefined;
  const direct = requestLimits(provider ?? {});
  const limits = batches && { items: batches.maxItems, bytes: batches.maxBytes, tokens: Number.POSITIVE_INFINITY };
  return {
    files,
    changedFiles,
    chunks,
    cachedTexts,
    pendingTexts: pending.length,
    tokens,
    ...(measuring.length > 0 && { measuringTexts: measuring.length }),
    requests: countRequests(pending, limits ?? direct) + countRequests(measuring, direct),
    provider: provider?.id ?? "none",
    model: provider?.model,
    reason: provider ? undefined : reason,
    price: provider?.price && priceOf(provider.price, tokens, batches !== undefined),
  };
}

function lowest(chunks: readonly SampledChunk[]): SampledChunk[] {
  return chunks.toSorted((one, other) => (one.hash < other.hash ? -1 : 1)).slice(0, sampled);
}

/** Passes the chunks of a file to `take`. Undefined if it is missing or unreadable. */
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
      // The next part may cut the end of this one again.
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

function priceOf(price: EmbeddingPrice, tokens: number, isBatch: boolean): NonNullable<SyncEstimate["price"]> {
  const { usdPerMillionTokens, batchUsdPerMillionTokens = usdPerMillionTokens } = price;
  return { ...price, usd: (tokens / 1e6) * (isBatch ? batchUsdPerMillionTokens : usdPerMillionTokens) };
}
