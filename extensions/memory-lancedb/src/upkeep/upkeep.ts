import type { IndexFinding } from "@memslot/core";
import type { FileTable, IndexUpkeep } from "@memslot/indexing";
import { allRows } from "../tables/arrow-rows.ts";
import { oneOf } from "../tables/filter.ts";
import { folderBytes } from "./folder-size.ts";
import { type Generations, generationTable } from "../generations.ts";
import type { IndexView } from "../index-view.ts";
import type { SharedLeases } from "../leases.ts";
import type { MetaTable } from "../tables/meta.ts";
import { optimizeTable } from "./optimize.ts";
import type { VectorSettling } from "../vectors/settle-vectors.ts";
import { type Spaces, spaceTable } from "../vectors/spaces.ts";
import { ensureWordIndex, makeWordIndex, type Tables } from "../tables/tables.ts";
import type { Tidy } from "./tidy.ts";
import type { Vectors } from "../vectors/vectors.ts";
import type { WriteQueue } from "../tables/write-queue.ts";

const namesShown = 3;

interface Look {
  ok: boolean;
  message: string;
}

/** A part of the index that can be looked at by itself. */
interface IndexPart {
  name: string;
  look(): Promise<Look>;
  /** Says what was done. */
  mend?(): Promise<string>;
}

export function createUpkeep(input: {
  tables: Tables;
  meta: MetaTable;
  generations: Generations;
  spaces: Spaces;
  view: IndexView;
  vectors: Vectors;
  settling: VectorSettling;
  writes: WriteQueue;
  tidy: Tidy;
  leases: SharedLeases | undefined;
  filesOf: (generation: number) => FileTable;
  /** Undefined where the index lies in no folder of this machine. */
  folder: string | undefined;
  keepVersionsMs: number;
  /** Other machines have it open too, and what they are about to commit must stay. */
  isShared: boolean;
}): IndexUpkeep {
  const { tables, meta, generations, spaces, view, vectors, settling, writes, tidy, leases } = input;

  const files: IndexPart = {
    name: "files",
    async look() {
      const { active, next } = await view.read();
      const faults = [...active.faults, ...(next?.faults ?? [])];
      if (faults.length === 0) return fine(`${active.chunkCount} chunks of ${active.files.size} files`);
      return wrong(`${faults.length} files are not whole: ${some(faults.map(({ path }) => path))}`);
    },
    async mend() {
      const { meta: known, active, next } = await view.read();
      await input.filesOf(known.active.id).removeFiles(active.faults);
      if (known.next && next) await input.filesOf(known.next.id).removeFiles(next.faults);
      const count = active.faults.length + (next?.faults.length ?? 0);
      return `${count} files are forgotten, and the next sync reads them again`;
    },
  };

  const words: IndexPart = {
    name: "words",
    async look() {
      const { generation, active } = await view.read();
      const table = await generations.table(generation);
      if (!table) return fine("none, as nothing is indexed yet");
      const stats = await table.indexStats("terms_idx");
      if (!stats) return wrong("the index of the words is missing");
      return fine(`those of ${active.chunkCount} chunks, ${stats.numUnindexedRows} rows of them not in the index yet`);
    },
    async mend() {
      const { generation } = await view.read();
      const table = await generations.table(generation);
      if (table) await ensureWordIndex(table);
      return "made anew from the words of the chunks";
    },
  };

  const vectorPart: IndexPart = {
    name: "vectors",
    async look() {
      const { meta: known } = await view.read();
      const lines: string[] = [];
      let doubles = 0;
      for (const { id, provider, model, dimensions } of known.spaces) {
        const listing = await spaces.listing(id);
        doubles += listing.doubles;
        lines.push(`${listing.vectors.size} of ${provider}/${model} with ${dimensions} numbers`);
      }
      if (doubles > 0) return wrong(`${doubles} vectors are there more than once`);
      return fine(lines.length === 0 ? "none" : lines.join(", "));
    },
    async mend() {
      const { meta: known } = await view.read();
      for (const { id } of known.spaces) await removeDoubles(id);
      return "each is kept once";
    },
  };

  const leftovers: IndexPart = {
    name: "leftovers",
    async look() {
      const names = await unknownTables();
      return names.length === 0 ? fine("none") : wrong(`${names.length} tables belong to nothing: ${some(names)}`);
    },
    async mend() {
      for (const name of await unknownTables()) await tables.drop(name);
      return "deleted";
    },
  };

  const parts: readonly IndexPart[] = [files, words, vectorPart, leftovers];

  async function unknownTables(): Promise<string[]> {
    const { generations: all, active, spaces: known } = await meta.read();
    const wanted = new Set([
      "meta",
      generationTable(active.id),
      ...all.map(({ id }) => generationTable(id)),
      ...known.map(({ id }) => spaceTable(id)),
    ]);
    const names = await tables.names();
    return names.filter((name) => /^(?:chunks|vectors)_/.test(name) && !wanted.has(name));
  }

  /** All rows of such a text go, and one of them is put back. */
  async function removeDoubles(id: string): Promise<void> {
    const table = await spaces.table(id);
    if (!table) return;
    const seen = new Set<string>();
    const double = new Set<string>();
    for (const { hash } of await allRows<{ hash: string }>(table.query().select(["hash"]))) {
      if (seen.has(hash)) double.add(hash);
      seen.add(hash);
    }
    spaces.distrust(id);
    // The next sync asks for these few again, or finds them in the cache that is shared with memory-core.
    if (double.size > 0) await writes.run(async () => void (await table.delete(oneOf("hash", double))));
  }

  async function ownTables(): Promise<string[]> {
    const names = await tables.names();
    return names.filter((name) => /^(?:meta$|chunks_|vectors_)/.test(name));
  }

  async function bytesOf(name: string): Promise<number> {
    if (input.folder !== undefined) return await folderBytes(`${input.folder}/${name}.lance`);
    return (await (await tables.open(name))?.stats())?.totalBytes ?? 0;
  }

  async function allBytes(): Promise<number> {
    let bytes = 0;
    for (const name of await ownTables()) bytes += await bytesOf(name);
    return bytes;
  }

  async function compactAll(isAlone: boolean): Promise<void> {
    await writes.run(async () => {
      await tidy.dropBuilds();
      await settling.dropUnused();
      const keepVersionsMs = isAlone ? 0 : input.keepVersionsMs;
      for (const name of await ownTables()) {
        const table = await tables.open(name);
        if (!table) continue;
        if (name.startsWith("chunks_")) await makeWordIndex(table);
        await optimizeTable(table, { keepVersionsMs, isAlone });
      }
    });
  }

  return {
    async check() {
      const findings: IndexFinding[] = [];
      for (const { name, look } of parts) findings.push({ name, ...(await look()) });
      return findings;
    },
    async repair() {
      const findings: IndexFinding[] = [];
      for (const { name, look, mend } of parts) {
        const before = await look();
        const fixed = before.ok || !mend ? undefined : `${before.message}: ${await mend()}`;
        findings.push(fixed === undefined ? { name, ...before } : { name, ...(await look()), fixed });
      }
      return findings;
    },
    async compact() {
      const beforeBytes = await allBytes();
      // Where another process is at work, what its readers may need stays.
      const work = async (): Promise<true> => {
        await compactAll(!input.isShared);
        return true;
      };
      if (!leases) await work();
      else if ((await leases.alone("compacting the index", work)) === undefined) await compactAll(false);
      return { beforeBytes, afterBytes: await allBytes() };
    },
    async tables() {
      const sizes: { name: string; bytes: number }[] = [];
      for (const name of await ownTables()) sizes.push({ name, bytes: await bytesOf(name) });
      return sizes.toSorted((left, right) => right.bytes - left.bytes);
    },
    async sample(count) {
      const { generation, active } = await view.read();
      const table = await generations.table(generation);
      const chosen = drawn(
        [...active.files.values()].flatMap(({ chunks }) => chunks),
        count,
      );
      if (!table || chosen.length === 0) return [];
      const query = table
        .query()
        .where(
          oneOf(
            "id",
            chosen.map(({ id }) => id),
          ),
        )
        .select(["id", "text", "context"]);
      const texts = new Map(
        (await allRows<{ id: number; text: string; context: string }>(query)).map((row) => [row.id, row]),
      );
      return chosen.flatMap(({ id, path, source, startLine, endLine, hash }) => {
        const row = texts.get(id);
        return row ? [{ id, path, source, startLine, endLine, text: row.text, context: row.context, hash }] : [];
      });
    },
    vectorOf: (space, hash) => vectors.vectorOf(space, hash),
  };
}

/** So many of them, each as likely as the others. */
function drawn<Item>(items: Item[], count: number): Item[] {
  const wanted = Math.min(count, items.length);
  for (let index = 0; index < wanted; index++) {
    const other = index + Math.floor(Math.random() * (items.length - index));
    [items[index], items[other]] = [items[other] as Item, items[index] as Item];
  }
  return items.slice(0, wanted);
}

function fine(message: string): Look {
  return { ok: true, message };
}

function wrong(message: string): Look {
  return { ok: false, message };
}

function some(names: readonly string[]): string {
  const rest = names.length - namesShown;
  return `${names.slice(0, namesShown).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
