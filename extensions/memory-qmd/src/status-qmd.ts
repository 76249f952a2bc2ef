import type { MemoryProviderStatus } from "@memslot/core";
import { join } from "node:path";
import type { QmdContext } from "./qmd-context.ts";
import { indexBytes, indexFile } from "./state-folder.ts";

/** The status of the files, with what is known of qmd. Looks at nothing. */
export function statusOfQmd(
  inner: MemoryProviderStatus,
  { found, folder, updates, record, options, ...parts }: QmdContext,
): MemoryProviderStatus {
  const process = parts.process.state();
  const meaning = parts.meaning.state();
  const { lastError, index } = updates.facts();
  const { updatedAt, updateMs } = record.state;
  const unseen = updates.index.unseen();
  const byMeaning = meaning.wanted && meaning.modelsPresent === true && meaning.resting === undefined;
  // Those that qmd has been told of and passes over: it will never have them.
  const passedOver = unseen.filter(({ seen, hash }) => seen === hash);
  const notices = [
    ...(inner.custom?.notices ?? []),
    ...(passedOver.length === 0
      ? []
      : [
          `qmd does not index ${passedOver.length} notes, which memslot searches itself: ${passedOver
            .slice(0, 3)
            .map(({ path }) => path)
            .join(", ")}${passedOver.length > 3 ? ", …" : ""}`,
        ]),
  ];
  const { roots = [], storage } = inner;
  return {
    ...inner,
    dbPath: join(folder, indexFile),
    storage: storage && { ...storage, databaseBytes: storage.databaseBytes + indexBytes(folder) },
    generation: undefined,
    // What it reads beside the settings is to be known before the first look at the files too.
    roots: roots.length > 0 ? roots : options.paths.map(({ path }) => ({ path, state: "indexed" })),
    lastSyncError: inner.lastSyncError ?? lastError?.message,
    lastError: inner.lastError ?? (lastError && { message: lastError.message, at: lastError.at }),
    custom: {
      ...inner.custom,
      searchMode: byMeaning && index?.hasVectorIndex === true ? "hybrid" : "keyword",
      providerUnavailableReason: "qmd finds by words, and by meaning with models of its own",
      notices,
      qmd: {
        version: found.version,
        location: found.location,
        folder,
        searchMode: options.searchMode,
        mode: byMeaning ? "semantic" : "lexical",
        ...(meaning.resting !== undefined && { resting: meaning.resting }),
        ...(meaning.modelsPresent !== undefined && { modelsPresent: meaning.modelsPresent }),
        transport: process.transport,
        ...(process.pid !== undefined && { pid: process.pid }),
        restarts: process.restarts,
        ...(process.activity !== undefined && { activity: process.activity }),
        ...(process.lastError !== undefined && { lastError: { ...process.lastError } }),
        ...(index !== undefined && { documents: index.documents, needsEmbedding: index.needsEmbedding }),
        waiting: unseen.length - passedOver.length,
        passedOver: passedOver.length,
        ...(updatedAt !== undefined && { lastUpdate: updatedAt, lastUpdateMs: updateMs }),
      },
    },
  };
}
