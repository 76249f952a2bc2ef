import { type CompactReport, type IndexFinding, messageOf } from "@memslot/core";
import type { IndexLeases, IndexUpkeep } from "../chunk-index.ts";
import type { StoreParts } from "./agreement.ts";

/** Looks after a ledger and its store. */
export function createStoreUpkeep(
  { ledger, store, agreement }: StoreParts,
  leases: IndexLeases | undefined,
): IndexUpkeep | undefined {
  const { upkeep } = ledger;
  if (upkeep === undefined) return undefined;

  /** Compares the lists and the counts. Reads only. */
  async function look(): Promise<IndexFinding & { sameFiles: boolean }> {
    const [files, held] = [await ledger.listFiles(), await store.listFiles()];
    const [{ chunks }, kept] = [await ledger.stats(), await store.stats()];
    const known = new Map(files.map((file) => [JSON.stringify([file.source, file.path]), file]));
    const others = held.filter((file) => {
      const own = known.get(JSON.stringify([file.source, file.path]));
      return own?.hash !== file.hash || own.recipe !== file.recipe;
    });
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

  /** Who may write is told by the place that hosts share. */
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
      return [...(await upkeep.check()), ...(await lookAtLeases()), finding];
    },
    async repair() {
      const findings = [...(await upkeep.repair()), ...(await lookAtLeases())];
      const { sameFiles, ...before } = await look();
      if (before.ok) return [...findings, before];
      // The lists agree and the counts do not: nobody can tell which file lacks some. All are taken out of both, as what the
      // store still lists would not be given to it again.
      if (sameFiles)
        await agreement.write(async () => {
          await store.removeFiles(await store.listFiles());
          await ledger.reconcile([]);
        });
      await agreement.compare();
      const fixed = `${before.message}: ${sameFiles ? "all files" : "they"} are given to it again with the next sync`;
      return [...findings, { name: "store", ok: true, message: before.message, fixed }];
    },
    async compact(): Promise<CompactReport> {
      const own = await upkeep.compact();
      const kept = await store.compact?.();
      if (kept === undefined) return own;
      return { beforeBytes: own.beforeBytes + kept.beforeBytes, afterBytes: own.afterBytes + kept.afterBytes };
    },
    tables: () => upkeep.tables(),
    sample: (count) => upkeep.sample(count),
    vectorOf: (space, hash) => upkeep.vectorOf(space, hash),
  };
}
