import type {
  EmbeddingBatches,
  EmbeddingPrice,
  EmbeddingProvider,
  MemorySearchSettings,
  SyncEstimate,
} from "@memslot/core";
import type { ChunkStore, FileChunks, StoredFile, VectorSpace } from "../chunk-store.ts";
import { readChunks } from "../read-chunks.ts";
import { type ScannedFile, scanMemory } from "../scan.ts";
import { countRequests, packText, type RequestLimits, requestLimits, type TextWeight, tokensOf } from "./pack.ts";

const source = "memory";
const askedAtOnce = 2048;
const mostQuarantined = 1_000_000;

/**
 * What a sync would cost now. Reads and cuts every file as a sync does, and asks the store which of the texts have their
 * vector; writes nothing and sends nothing. Without a space no text has a vector. Without a provider nothing would be
 * sent, and `reason` says why.
 */
export async function estimateSync(input: {
  store: Pick<ChunkStore, "listFiles" | "knownVectors" | "quarantined">;
  /** Canonical absolute path. */
  workspaceDir: string;
  settings: MemorySearchSettings;
  space: VectorSpace | undefined;
  provider: EmbeddingProvider | undefined;
  reason: string | undefined;
  signal: AbortSignal;
}): Promise<SyncEstimate> {
  const { store, workspaceDir, settings, space, provider, reason, signal } = input;
  const scan = await scanMemory({ workspaceDir, extraPaths: settings.extraPaths, signal });
  const stored = new Map(
    (await store.listFiles()).filter((file) => file.source === source).map((file) => [file.path, file]),
  );
  let files = 0;
  let changedFiles = 0;
  let chunks = 0;
  /** Every text once. */
  const texts = new Map<string, TextWeight>();
  for (const file of scan.files) {
    const cut = await cutFile(file, settings, signal);
    if (!cut) continue;
    files++;
    if (!isSame(cut, stored.get(file.path))) changedFiles++;
    chunks += cut.chunks.length;
    for (const chunk of cut.chunks) {
      if (!provider || texts.has(chunk.hash)) continue;
      // Only the weight is kept: the texts of a large memory are better not held all at once.
      const { tokens, bytes } = packText(chunk, provider);
      texts.set(chunk.hash, { tokens, bytes });
    }
  }

  const distinct = texts.size;
  const withVector = space ? await knownAmong([...texts.keys()], space, store) : [];
  for (const hash of withVector) texts.delete(hash);
  const cachedTexts = distinct - texts.size;
  const refused = space ? await store.quarantined(space, mostQuarantined) : [];
  for (const { hash } of refused) texts.delete(hash);

  const pending = [...texts.values()];
  const tokens = Math.ceil(tokensOf(pending));
  const batches = settings.remote.batch.enabled ? provider?.batches : undefined;
  return {
    files,
    changedFiles,
    chunks,
    cachedTexts,
    pendingTexts: pending.length,
    tokens,
    requests: provider ? countRequests(pending, batches ? jobLimits(batches) : requestLimits(provider)) : 0,
    provider: provider?.id ?? "none",
    model: provider?.model,
    reason: provider ? undefined : reason,
    price: provider?.price && priceOf(provider.price, tokens, batches !== undefined),
  };
}

/** The chunks of a file; undefined for one that is gone or cannot be read, which a sync reports. */
async function cutFile(
  file: ScannedFile,
  { chunking }: MemorySearchSettings,
  signal: AbortSignal,
): Promise<FileChunks | undefined> {
  try {
    return (await readChunks(file, source, undefined, chunking, signal))?.changed;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Whether the store holds these very chunks of the file. */
function isSame(file: FileChunks, stored: StoredFile | undefined): boolean {
  return stored?.hash === file.hash && stored.recipe === file.recipe;
}

async function knownAmong(
  hashes: readonly string[],
  space: VectorSpace,
  store: Pick<ChunkStore, "knownVectors">,
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
