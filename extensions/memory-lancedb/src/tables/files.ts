import { createHash } from "node:crypto";
import type { Chunk, FileChunks, FileKey } from "@memslot/indexing";
import { type Cell, tableOf } from "../lance/arrow-rows.ts";
import type { Build } from "./builds.ts";
import { allOf, anyOf, atLeast, equals, type Filter, oneOf } from "../lance/filter.ts";
import { chunkRow, type FileChange, fileRow, keyOf, type ListedFile, type Listing } from "./listing.ts";
import { fileColumns } from "./tables.ts";

/** What a write has made: the version of the table, and the files in it. */
export interface Written {
  version: number;
  changes: readonly FileChange[];
}

/** One file as several versions of it in one call leave it: the chunks that come, and the line from which old ones go. */
interface Replacement {
  file: FileChunks;
  fromLine: number;
}

/**
 * Puts files into a build, in one commit. A row is named for what it holds, and the row of a file for the file: of two
 * hosts that put in the same file at once, LanceDB lets the later one look again, and it is there once. `known` is what
 * is in the build where others hardly ever write: files that are not are put at the end, and nothing is looked for.
 */
export async function putFiles({ table }: Build, files: readonly FileChunks[], known?: Listing): Promise<Written> {
  const replacements = foldVersions(files);
  const rows = tableOf(fileColumns, replacements.flatMap(rowsFor));
  const changes = replacements.map(changeOf);
  if (known && files.every((file) => !known.files.has(keyOf(file)))) {
    const { version } = await table.add(rows);
    if (version === known.version + 1) return { version, changes };
    // Somebody has written in between, perhaps the same files.
    await table.delete(ofFiles(files));
  }
  const { version } = await table
    .mergeInsert("id")
    .whenMatchedUpdateAll()
    .whenNotMatchedInsertAll()
    .whenNotMatchedBySourceDelete({ where: superseded(replacements) })
    .execute(rows);
  return { version, changes };
}

/** Undefined where none of them is there. */
export async function takeFiles({ table }: Build, files: readonly FileKey[]): Promise<Written | undefined> {
  const filter = ofFiles(files);
  // Not for nothing: each commit is a version more, and another revision.
  if ((await table.countRows(filter)) === 0) return undefined;
  const { version } = await table.delete(filter);
  return { version, changes: files.map((key) => ({ key, fromLine: 0 })) };
}

function rowsFor({ file }: Replacement): Record<string, Cell>[] {
  const { source, path, hash, recipe } = file;
  const seen = new Map<string, number>();
  const own = {
    id: idOf([source, path]),
    source,
    path,
    line: 0,
    row: fileRow({ source, path, hash, recipe }),
    terms: null,
  };
  const chunks = file.chunks.map((chunk) => {
    const { startLine } = chunk;
    const row = chunkRow({ source, path, startLine, hash: chunk.hash });
    const again = (seen.get(row) ?? 0) + 1;
    seen.set(row, again);
    // With the space before them each word, the first too, is found by its beginning.
    return { id: idOf([row, recipe, again]), source, path, line: startLine, row, terms: ` ${chunk.terms}` };
  });
  return [own, ...chunks];
}

function idOf(parts: readonly (string | number)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 24);
}

function changeOf({ file, fromLine }: Replacement): FileChange {
  const { path, source, hash, recipe } = file;
  const chunks = file.chunks.map(({ startLine, hash: own, terms }: Chunk) => ({
    path,
    source,
    startLine,
    hash: own,
    terms,
  }));
  const listed: ListedFile = { path, source, hash, recipe, chunks };
  return { key: file, file: listed, fromLine };
}

/** Rows of any of these files. */
function ofFiles(files: readonly FileKey[]): Filter {
  const bySource = Map.groupBy(files, ({ source }) => source);
  const paths = (own: readonly FileKey[]): Filter =>
    oneOf(
      "path",
      own.map(({ path }) => path),
    );
  return anyOf(...Array.from(bySource, ([source, own]) => allOf(equals("source", source), paths(own))));
}

/** The rows that go when these come, unless they come again: all, or the chunks that begin at the line or later. */
function superseded(replacements: readonly Replacement[]): Filter {
  const [tails, whole] = [
    replacements.filter(({ fromLine }) => fromLine > 1),
    replacements.filter(({ fromLine }) => fromLine <= 1),
  ];
  return anyOf(
    ofFiles(whole.map(({ file }) => file)),
    ...tails.map(({ file, fromLine }) => allOf(ofFiles([file]), atLeast("line", fromLine))),
  );
}

/** One after the other as they were given, each on what the one before has left. */
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
