import { existsSync } from "node:fs";
import path from "node:path";
import { type Collection, pathIn } from "../update/collections.ts";
import { keyOf, type QmdFile } from "../update/qmd-record.ts";
import type { QmdRow } from "../qmd-contract.ts";
import type { QmdContext } from "../qmd-context.ts";

/** A memory file that qmd has found. */
export interface FoundFile {
  file: QmdFile;
  /** Where qmd believes the match to be. */
  line: number | undefined;
}

/**
 * The memory files behind the rows of an answer, each once, in their order. What is no memory file any more, or never
 * was one, is dropped. `isLost` says that none of the rows leads anywhere: the index of qmd is about other folders.
 */
export function placesOfRows(
  rows: readonly QmdRow[],
  collections: readonly Collection[],
  { record, sessions, workspaceDir }: Pick<QmdContext, "record" | "sessions" | "workspaceDir">,
): { places: FoundFile[]; isLost: boolean } {
  const byKey = new Map<string, FoundFile>();
  const gone = new Set(record.gone());
  const transcripts = lazily(() => record.files.flatMap((file) => (file.source === "sessions" ? [file.path] : [])));
  // Some file systems give a name in another form than the one it was written in.
  const composed = lazily(() => new Map(record.files.map((file) => [keyOf(file).normalize("NFC"), file])));
  let known = 0;
  for (const row of rows) {
    const collection = collections.find(({ name }) => name === row.collection);
    if (collection === undefined) continue;
    const { source } = collection;
    const shown =
      source === "sessions" ? sessions.pathOf(row.path, transcripts()) : pathIn(collection, row.path, workspaceDir);
    if (shown === undefined) continue;
    const key = keyOf({ source, path: shown });
    const file = record.get({ source, path: shown }) ?? composed().get(key.normalize("NFC"));
    if (file !== undefined || gone.has(shown) || existsSync(path.resolve(collection.root, row.path))) known++;
    if (file !== undefined && !byKey.has(keyOf(file))) byKey.set(keyOf(file), { file, line: row.line });
  }
  return { places: [...byKey.values()], isLost: rows.length > 0 && known === 0 };
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
