import type { IndexFinding } from "@memslot/core";
import type { ChunkRow } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type Database from "better-sqlite3";
import type { Companion } from "../database/companion.ts";
import { compact } from "./compact.ts";
import { toVector } from "../cache/stored-vector.ts";
import type { DroppedGenerations } from "../generations/dropped-generations.ts";
import { Damage } from "../file/file-faults.ts";
import type { FileTables } from "../files/file-tables.ts";
import type { FreePages } from "./free-pages.ts";
import type { Generations } from "../generations/generations.ts";
import { type HashKey, toHash, toKey } from "../cache/hash-key.ts";
import { cachePart, chunksPart, filePart, type IndexPart, leftoversPart, type Look, spacePart } from "./index-parts.ts";
import type { Pieces } from "../thread/pieces.ts";
import { isCorrupt } from "../file/store-errors.ts";
import type { Upkeep } from "../thread/protocol.ts";
import { reasonOf } from "../thread/store-failure.ts";
import { tableBytes } from "./table-bytes.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Vectors } from "../vectors/vectors.ts";

export function createUpkeep(input: {
  db: Database.Database;
  transactions: Transactions;
  generations: Generations;
  filesOf: (generation: () => number) => Pick<FileTables, "removeFiles">;
  vectors: Pick<Vectors, "embeddingOf" | "dead">;
  companion: Pick<Companion, "parts" | "compact">;
  dropped: DroppedGenerations;
  freePages: FreePages;
  /** Undefined where the index is in memory. */
  path: string | undefined;
  busyTimeoutMs: number;
}): Upkeep {
  const { db, transactions, generations } = input;
  const parts: readonly IndexPart[] = [
    filePart(db, input.path),
    ...input.companion.parts.first,
    chunksPart(input),
    leftoversPart(db, transactions),
    cachePart(db, transactions),
    ...input.companion.parts.last,
    spacePart(db),
  ];
  const sample = db.prepare<[number, number], ChunkRow & { hash: HashKey }>(`
    SELECT c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context, c.hash
    FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id IN (
      SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.generation = ? ORDER BY random() LIMIT ?)
  `);

  /** To look is not to mend: a page that cannot be read is told, and the file stays where it is. */
  function lookClosely(look: IndexPart["look"]): Look {
    try {
      return transactions.read(look);
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      return { ok: false, message: `it cannot be read: ${reasonOf(error)}` };
    }
  }

  async function* mendPart({ name, look, mend }: IndexPart): Pieces<IndexFinding> {
    const before = transactions.read(look);
    if (before.ok) return { name, ...before };
    // The pages themselves are wrong: there is nothing in this file to mend it from.
    if (!mend) throw new Damage(before.message);
    const fixed = `${before.message}: ${yield* mend()}`;
    return { name, ...transactions.read(look), fixed };
  }

  function vectorOf(space: VectorSpace, hash: string): Float32Array | undefined {
    const bytes = input.vectors.embeddingOf(space, toKey(hash));
    // A copy: it goes to another thread, and would bring the buffer that it was cut from.
    return bytes && toVector(bytes).slice();
  }

  return {
    async *check() {
      const findings: IndexFinding[] = [];
      for (const { name, look } of parts) {
        findings.push({ name, ...lookClosely(look) });
        yield;
      }
      return findings;
    },
    async *repair() {
      const findings: IndexFinding[] = [];
      for (const part of parts) {
        findings.push(yield* mendPart(part));
        yield;
      }
      return findings;
    },
    compact: () => compact(input),
    tables: () => transactions.read(() => tableBytes(db)),
    sample: (count) =>
      transactions.read(() =>
        sample.all(generations.active().id, count).map((row) => ({ ...row, hash: toHash(row.hash) })),
      ),
    vectorOf,
  };
}
