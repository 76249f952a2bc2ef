import type { Table } from "@lancedb/lancedb";
import { generationTable } from "../generations.ts";
import type { SharedLeases } from "../leases.ts";
import { metaKeys, type MetaRow, type MetaTable } from "../tables/meta.ts";
import { isDue, optimizeTable } from "./optimize.ts";
import type { VectorSettling } from "../vectors/settle-vectors.ts";
import type { Tables } from "../tables/tables.ts";
import type { WriteQueue } from "../tables/write-queue.ts";

export interface TidySettings {
  /** How long after a write, if no other follows. */
  afterMs: number;
  /** Writes after which it is not put off any longer. */
  afterWrites: number;
  /** Versions of a table that readers of other processes may still be at. */
  keepVersionsMs: number;
  /** How long closing waits for it. */
  closingMs: number;
}

export const usualTidying: TidySettings = {
  afterMs: 3000,
  afterWrites: 100,
  keepVersionsMs: 120_000,
  closingMs: 60_000,
};

/** Keeps tables small and searches fast, behind the work that somebody waits for. */
export interface Tidy {
  /** Something was written to the table. */
  wrote(table: Table): void;
  /** A build was dropped. */
  dropped(): void;
  /** Deletes the builds that are dropped. */
  dropBuilds(): Promise<void>;
  /** Does what is due, within bounds, and nothing any more afterwards. */
  close(): Promise<void>;
}

export function createTidy(input: {
  tables: Tables;
  meta: MetaTable;
  settling: VectorSettling;
  writes: WriteQueue;
  leases: SharedLeases | undefined;
  settings: TidySettings;
}): Tidy {
  const { tables, meta, settling, writes, leases, settings } = input;
  const touched = new Set<Table>();
  let writesSince = 0;
  let hasDropped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;

  async function dropBuilds(): Promise<void> {
    hasDropped = false;
    const { generations } = await meta.read();
    const dropped = generations.filter(({ state }) => state === "dropped");
    for (const { id } of dropped) await tables.drop(generationTable(id));
    await meta.remove(dropped.flatMap(({ id }) => [metaKeys.generation(id), metaKeys.tidied(generationTable(id))]));
  }

  async function work(): Promise<void> {
    const due = [...touched];
    touched.clear();
    writesSince = 0;
    await writes.run(async () => {
      if (hasDropped) await dropBuilds();
      await settling.settle();
      const { keepVersionsMs } = settings;
      const { tidied } = await meta.read();
      const done: MetaRow[] = [];
      for (const table of due) {
        if (!table.isOpen() || !(await isDue(table, tidied.get(table.name)))) continue;
        await optimizeTable(table, { keepVersionsMs, isAlone: false });
        done.push({ key: metaKeys.tidied(table.name), value: await table.version() });
      }
      await meta.write(done);
    });
  }

  /** Nobody waits for it: where another process is at work, it does the same. What fails is met by the next write too. */
  async function tidy(): Promise<void> {
    try {
      const changing = (): Promise<void> => tables.changing(work);
      if (leases) await leases.alone("tidying the index", changing);
      else await changing();
    } catch {
      // The next write brings it up again.
    }
  }

  function start(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    return (running ??= tidy().finally(() => (running = undefined)));
  }

  function later(): void {
    if (isClosed || running) return;
    if (writesSince >= settings.afterWrites) return void start();
    clearTimeout(timer);
    timer = setTimeout(() => void start(), settings.afterMs).unref();
  }

  return {
    wrote(table) {
      touched.add(table);
      writesSince++;
      later();
    },
    dropped() {
      hasDropped = true;
      later();
    },
    dropBuilds,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      const rest = (async () => {
        await running;
        if (touched.size > 0 || hasDropped) await start();
      })();
      let enough: NodeJS.Timeout | undefined;
      const bound = new Promise<void>((resolve) => (enough = setTimeout(resolve, settings.closingMs)));
      await Promise.race([rest, bound]);
      clearTimeout(enough);
    },
  };
}
