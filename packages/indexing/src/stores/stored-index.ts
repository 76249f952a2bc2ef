import type { NoteIndex } from "../note-index.ts";
import type { IndexHealth, FoundRow, IndexKeywordAnswer, IndexVectorAnswer } from "../index-row-types.ts";
import type { IndexLeases, Ledger } from "../ledger/ledger.ts";
import type { ChunkStore, StoreStats, ScoredChunk } from "../chunk-store.ts";
import { Agreement, otherFiles, type StoreParts } from "./store-consistency.ts";
import { createStoredBuilds, createStoredFiles, indexRevision } from "./store-and-ledger-writes.ts";
import { type CallOptions, type CompactReport, type IndexFinding, messageOf } from "@memslot/core";

export interface StoredIndexOptions {
  ledger: Ledger;
  store: ChunkStore;
  /** The right to work on a store that other hosts write to. Absent: that on the ledger, which is of this machine. */
  leases?: IndexLeases | undefined;
  /** False: it finds by keywords only, and is given no vectors. */
  keepsVectors?: boolean | undefined;
  readOnly?: boolean | undefined;
}

/** An index whose chunks are kept in a store, and all that is known of them in a ledger. Closes both. */
export async function createStoredIndex(options: StoredIndexOptions): Promise<NoteIndex> {
  const { ledger, store, keepsVectors = true, readOnly = false } = options;
  const agreement = new Agreement({ ledger, store, keepsVectors, readOnly });
  const parts = { ledger, store, agreement };
  let known: StoreStats = await store.stats();
  let differing = "";
  let countedAt = agreement.edits;

  /** Counted only after a possible change: in a bucket each count costs requests. */
  async function countStore(): Promise<StoreStats> {
    if (countedAt !== agreement.edits) {
      const at = agreement.edits;
      known = await store.stats({ at: agreement.at });
      countedAt = at;
    }
    return known;
  }

  return {
    ...ledger,
    ...createStoredFiles(parts),
    ...createStoredBuilds(parts),
    ...createStoredSearch(parts),
    ...createStoreUpkeep(parts, options.leases),
    leases: options.leases ?? ledger.leases,
    async revision(how) {
      await agreement.follow(how);
      return indexRevision(await ledger.revision(how), agreement.changes);
    },
    async useSpace(space) {
      await ledger.useSpace(space);
      await agreement.requestVectors(space);
    },
    giveVectors: (space) => agreement.requestVectors(space),
    async putVectors(space, entries) {
      // Save paid vectors before the store is called.
      await ledger.putVectors(space, entries);
      await agreement.write(async () => undefined);
    },
    async stats() {
      const [own, kept] = [await ledger.stats(), await countStore()];
      const counts = `${own.chunks} ${kept.chunks}`;
      if (own.chunks !== kept.chunks && counts !== differing) agreement.distrust();
      differing = own.chunks === kept.chunks ? "" : counts;
      return { ...own, databaseBytes: own.databaseBytes + kept.bytes };
    },
    health(): IndexHealth {
      const own = ledger.health();
      return {
        location: known.location,
        isTemporary: own.isTemporary,
        fts: { enabled: true, available: true },
        vector: { enabled: keepsVectors, available: keepsVectors },
        remade: (own.remade ?? 0) + agreement.losses,
        notices: [...new Set([...own.notices, ...(known.notices ?? [])])],
        remarks: known.remarks,
      };
    },
    async close() {
      await agreement.written();
      const ended = await Promise.allSettled([store.close(), ledger.close()]);
      const failed = ended.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") throw failed.reason;
    },
  };
}

function createStoredSearch({
  ledger,
  store,
  agreement,
}: StoreParts): Pick<NoteIndex, "searchKeyword" | "searchVector"> {
  /** Queries the store. After a failure it may have been recreated, so the query runs once more. */
  async function ask<Answer>({ signal }: CallOptions, question: () => Promise<Answer>): Promise<Answer> {
    signal?.throwIfAborted();
    try {
      return await question();
    } catch (error) {
      signal?.throwIfAborted();
      const hasLost = await agreement.compare().catch(() => false);
      if (!hasLost) throw error;
      return await question();
    }
  }

  async function resolve(found: readonly ScoredChunk[]): Promise<{ rows: FoundRow[]; left: number }> {
    let rows = await ledger.rowsOf(found);
    // The ledger gets what the store already has in a moment.
    if (rows.length < found.length && (await agreement.written())) rows = await ledger.rowsOf(found);
    const left = found.length - rows.length;
    if (left > 0) agreement.distrust();
    return { rows, left };
  }

  return {
    async searchKeyword(query, options = {}): Promise<IndexKeywordAnswer> {
      const answer = await ask(options, () => store.searchKeyword({ ...query, at: agreement.at }, options));
      const { rows, left } = await resolve(answer.rows);
      const lack = left === 0 ? undefined : `the store names ${left} chunks that are not in the index any more`;
      const { chunkCount, documentFrequencies, incomplete = lack } = answer;
      return { rows, chunkCount, documentFrequencies, ...(incomplete !== undefined && { incomplete }) };
    },
    async searchVector(query, options = {}): Promise<IndexVectorAnswer> {
      const { rows } = await ask(options, () => store.searchVector({ ...query, at: agreement.at }, options));
      return { rows: (await resolve(rows)).rows };
    },
  };
}

function createStoreUpkeep(
  { ledger, store, agreement }: StoreParts,
  leases: IndexLeases | undefined,
): Pick<NoteIndex, "check" | "repair" | "compact"> {
  async function look(): Promise<IndexFinding & { sameFiles: boolean }> {
    const [files, held] = [await ledger.listFiles(), await store.listFiles()];
    const [{ chunks }, kept] = [await ledger.stats(), await store.stats()];
    const others = otherFiles(held, files);
    const lacking = files.length - (held.length - others.length);
    const faults = [
      `${lacking} of ${files.length} files are not in it as they should be`,
      `${others.length} files in it are not known`,
      `it holds ${kept.chunks} chunks in place of ${chunks}`,
    ].filter((_, index) => [lacking > 0, others.length > 0, kept.chunks !== chunks][index]);
    const sameFiles = lacking === 0 && others.length === 0;
    const ok = faults.length === 0;
    return {
      name: "store",
      ok,
      message: ok ? `${chunks} chunks of ${held.length} files` : faults.join("; "),
      sameFiles,
    };
  }

  /** The place that hosts share decides who may write. */
  async function lookAtLeases(): Promise<IndexFinding[]> {
    if (leases === undefined) return [];
    try {
      const holders = [await leases.holder("files"), await leases.holder("build")].filter(Boolean);
      return [{ name: "leases", ok: true, message: holders.length === 0 ? "free" : "held by a host at work" }];
    } catch (error) {
      return [{ name: "leases", ok: false, message: messageOf(error) }];
    }
  }

  return {
    async check() {
      const { sameFiles: _sameFiles, ...finding } = await look();
      return [...(await ledger.check()), ...(await lookAtLeases()), finding];
    },
    async repair() {
      const findings = [...(await ledger.repair()), ...(await lookAtLeases())];
      const { sameFiles, ...before } = await look();
      if (before.ok) return [...findings, before];
      // The lists agree and the counts differ: all files are removed from both and indexed again.
      if (sameFiles)
        await agreement.write(async () => {
          await store.removeFiles(await store.listFiles());
          await ledger.reconcile([]);
        });
      await agreement.compare();
      const fixed = `${before.message}: ${sameFiles ? "all files" : "they"} are given to it again with the next sync`;
      return [...findings, { name: "store", ok: true, message: before.message, fixed }];
    },
    async compact(options): Promise<CompactReport> {
      const own = await ledger.compact();
      const kept = await store.compact?.(options);
      if (kept === undefined) return own;
      return { beforeBytes: own.beforeBytes + kept.beforeBytes, afterBytes: own.afterBytes + kept.afterBytes };
    },
  };
}
