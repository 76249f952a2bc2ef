import type Database from "better-sqlite3";
import type { Generations, IndexPart, Look } from "@memslot/indexing/ledger-tables";
import { type BitMaker, createBitMaker, sumOfThresholds } from "./quantized/bit-blocks.ts";
import { type CodeLayout, hasManyHoles } from "./quantized/code-layout.ts";
import { codeTable } from "./quantized/code-tables.ts";
import { blockRows, checksumOf } from "./quantized/quantize-vector.ts";

export function layoutPart(input: {
  db: Database.Database;
  generations: Generations;
  layout: Pick<CodeLayout, "named" | "tables" | "bitBlocks"> & { layOutAnew(generation: number): void };
}): IndexPart {
  const { db, generations, layout } = input;

  function lookAt(generation: number, spaceId: number): Look {
    const table = codeTable(generation);
    if (!layout.tables(generation).exists()) return { ok: false, message: `the table ${table} is missing` };
    const embedded = `SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id
      JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId WHERE f.generation = :generation`;
    const counts = `SELECT (SELECT count(*) FROM ${table}_places), (SELECT count(*) FROM ${table}_slots),
      (SELECT count(*) FROM (${embedded})),
      (SELECT count(*) FROM (${embedded}) WHERE id NOT IN (SELECT id FROM ${table}_places)),
      (SELECT count(*) FROM ${table}_places WHERE id NOT IN (${embedded}))`;
    const [rows = 0, blocks = 0, wanted = 0, missing = 0, extra = 0] =
      db.prepare<[Record<string, number>], number[]>(counts).raw().get({ spaceId, generation }) ?? [];
    if (missing + extra > 0)
      return { ok: false, message: `${missing} of ${wanted} vectors are missing, and ${extra} are of no chunk` };
    const spoilt = spoiltBlocks(generation);
    if (spoilt > 0) return { ok: false, message: `${spoilt} of ${blocks} blocks are not what was written` };
    if (hasManyHoles({ rows, blocks }))
      return { ok: false, message: `${rows} vectors in ${blocks} blocks: it is full of holes` };
    return { ok: true, message: `${rows} vectors in ${blocks} blocks` };
  }

  function spoiltBlocks(generation: number): number {
    const tables = layout.tables(generation);
    const rowsOf = db
      .prepare<[number], number>(`SELECT id FROM ${codeTable(generation)}_places WHERE block = ?`)
      .pluck();
    const thresholds = tables.bits()?.thresholds;
    const storedBits = layout.bitBlocks(generation);
    const makeBits = bitMakerFor(tables.width(), storedBits.exists() ? thresholds : undefined);
    const thresholdsSum = thresholds === undefined ? 0 : sumOfThresholds(thresholds);
    return tables.versions().filter(({ block }) => {
      const slots = tables.slots(block);
      const codes = tables.codes(block);
      if (slots?.ids.length !== blockRows || slots.files.length !== blockRows || codes === undefined) return true;
      const ids = [...slots.ids].filter((id) => id !== 0).toSorted((left, right) => left - right);
      if (checksumOf(new Uint8Array(codes)) !== slots.sum || ids.join() !== rowsOf.all(block).join()) return true;
      const stored = makeBits && storedBits.find({ block, codesSum: slots.sum, thresholdsSum });
      return stored !== undefined && makeBits?.(codes)?.bits.equals(stored.bits) !== true;
    }).length;
  }

  /** Undefined without bits or WebAssembly. */
  function bitMakerFor(width: number | undefined, thresholds: Int8Array | undefined): BitMaker | undefined {
    if (width === undefined || thresholds?.length !== width) return undefined;
    try {
      return createBitMaker(width, thresholds);
    } catch {
      return undefined;
    }
  }

  function looks(): { generation: number; found: Look }[] {
    return generations.live().flatMap((generation) => {
      const spaceId = layout.named(generation);
      return spaceId === undefined ? [] : [{ generation, found: lookAt(generation, spaceId) }];
    });
  }

  return {
    name: "vectors",
    look() {
      const all = looks();
      if (all.length === 0) return { ok: true, message: "none in the accelerated index" };
      const bad = all.filter(({ found }) => !found.ok);
      return {
        ok: bad.length === 0,
        message: (bad.length > 0 ? bad : all).map(({ found }) => found.message).join("; "),
      };
    },
    async *repair() {
      for (const { generation } of looks().filter(({ found }) => !found.ok)) {
        layout.layOutAnew(generation);
        yield;
      }
      return "laid out again from the stored vectors";
    },
  };
}
