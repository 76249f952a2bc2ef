import { createHash } from "node:crypto";
import type { Table } from "@lancedb/lancedb";
import type { FileChunks, FileKey } from "@memslot/indexing";
import { allOf, anyOf, atLeast, equals, type Filter, oneOf } from "../lance/filter.ts";
import { type Cell, tableOf } from "../lance/rows.ts";
import { chunkRow, fileRow, keyOf, type Listing, type Replacement, type Written } from "./cached-file-listing.ts";
import { fileColumns } from "./tables.ts";

/**
 * Puts files into a table in one commit. Row ids are hashes, so that simultaneous writes of a file collapse into one.
 * `known`: the table's content if other processes rarely write.
 */
export async function putFiles(table: Table, files: readonly FileChunks[], known?: Listing): Promise<Written> {
  const replaced = foldVersions(files);
  const rows = tableOf(fileColumns, replaced.flatMap(rowsFor));
  if (known && files.every((file) => !known.files.has(keyOf(file)))) {
    const { version } = await table.add(rows);
    if (version === known.version + 1) return { version, replaced, removed: [] };
    await table.delete(ofFiles(files));
  }
  const { version } = await table
    .mergeInsert("id")
    .whenMatchedUpdateAll()
    .whenNotMatchedInsertAll()
    .whenNotMatchedBySourceDelete({ where: superseded(replaced) })
    .execute(rows);
  return { version, replaced, removed: [] };
}

export async function takeFiles(table: Table, files: readonly FileKey[]): Promise<Written | undefined> {
  const filter = ofFiles(files);
  // Each commit makes a version and another revision, also one that deletes nothing.
  if ((await table.countRows(filter)) === 0) return undefined;
  const { version } = await table.delete(filter);
  return { version, replaced: [], removed: files };
}

function rowsFor({ file }: Replacement): Record<string, Cell>[] {
  const { source, path, recipe } = file;
  const seen = new Map<string, number>();
  const own = { id: idOf([source, path]), source, path, line: 0, row: fileRow(file), terms: null };
  const chunks = file.chunks.map(({ startLine, hash, terms }) => {
    const row = chunkRow({ source, path, startLine, hash });
    const again = (seen.get(row) ?? 0) + 1;
    seen.set(row, again);
    // The start of each word, also of the first, is found by the space before it.
    return { id: idOf([row, recipe, again]), source, path, line: startLine, row, terms: ` ${terms}` };
  });
  return [own, ...chunks];
}

function idOf(parts: readonly (string | number)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 24);
}

function ofFiles(files: readonly FileKey[]): Filter {
  const filters = Array.from(
    Map.groupBy(files, ({ source }) => source),
    ([source, own]) => {
      const paths = own.map(({ path }) => path);
      return allOf(equals("source", source), oneOf("path", paths));
    },
  );
  return anyOf(...filters);
}

function superseded(replaced: readonly Replacement[]): Filter {
  const whole = replaced.filter(({ fromLine }) => fromLine <= 1);
  const tails = replaced.filter(({ fromLine }) => fromLine > 1);
  return anyOf(
    ofFiles(whole.map(({ file }) => file)),
    ...tails.map(({ file, fromLine }) => allOf(ofFiles([file]), atLeast("line", fromLine))),
  );
}

/** Several versions of a file in one call are applied in order. */
function foldVersions(files: readonly FileChunks[]): Replacement[] {
  const folded = new Map<string, Replacement>();
  for (const file of files) {
    const { fromLine = 0 } = file;
    const before = folded.get(keyOf(file));
    const kept = before?.file.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
    folded.set(keyOf(file), {
      file: { ...file, chunks: [...kept, ...file.chunks] },
      fromLine: Math.min(fromLine, before?.fromLine ?? fromLine),
    });
  }
  return [...folded.values()];
}
