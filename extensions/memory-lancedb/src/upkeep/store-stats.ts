import type { GenerationFacts, IndexStats } from "@memslot/indexing";
import type { ChunkListing } from "../tables/chunk-listing.ts";
import type { Meta } from "../tables/meta.ts";

/** Files, chunks and their bytes, in all and by source. */
export function countsOf({ files, chunkCount }: ChunkListing): Pick<IndexStats, "files" | "chunks" | "sources"> {
  const sources = new Map<string, IndexStats["sources"][number]>();
  for (const { source, facts, chunks } of files.values()) {
    const count = sources.get(source) ?? { source, files: 0, chunks: 0, bytes: 0, chunkBytes: 0 };
    sources.set(source, count);
    count.files++;
    count.chunks += chunks.length;
    count.bytes += facts.size;
    for (const { bytes } of chunks) count.chunkBytes += bytes;
  }
  const sorted = [...sources.values()].toSorted((left, right) => (left.source < right.source ? -1 : 1));
  return { files: files.size, chunks: chunkCount, sources: sorted };
}

export function generationOf({ active, next }: Meta, listing: ChunkListing | undefined): GenerationFacts {
  return {
    id: active.id,
    builtAt: active.builtAt,
    next: next && {
      id: next.id,
      name: next.name,
      startedAt: next.startedAt,
      files: listing?.files.size ?? 0,
      chunks: listing?.chunkCount ?? 0,
    },
  };
}
