import type { ManagerSearchOptions, MemoryPlugin, MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { Chunk, ChunkStore, FileChunks, ScoredChunk, StoreBuild, VectorQuery } from "@memslot/indexing";
import { createReferencePlugin, type InMemoryStore } from "@memslot/testkit";

/** Implementations that keep their contract but for one fault: by the check that has to notice it, then by the fault. */
export type Wrong<Spoil> = Readonly<Record<string, Readonly<Record<string, Spoil>>>>;

/** What differs from the right store. Called for each store that is opened. */
export type WrongStores = Wrong<(right: InMemoryStore) => Partial<ChunkStore>>;

/** What differs from the right manager, or what opens in place of the right plugin. */
export type SpoilManager = (right: MemorySearchManager, context: MemoryPluginContext) => Partial<MemorySearchManager>;
interface OpenWrongly {
  open(right: MemoryPlugin, context: MemoryPluginContext): Promise<MemorySearchManager>;
}
export type WrongManagers = Wrong<SpoilManager | OpenWrongly>;

/** One row for each fault: its name, the check that has to notice it, and the implementation. */
export function rowsOf<Spoil>(...tables: readonly Wrong<Spoil>[]): [fault: string, caughtBy: string, spoil: Spoil][] {
  return tables.flatMap((table) =>
    Object.entries(table).flatMap(([caughtBy, faults]) =>
      Object.entries(faults).map(([fault, spoil]): [string, string, Spoil] => [fault, caughtBy, spoil]),
    ),
  );
}

export function wrongPlugin(spoil: SpoilManager | OpenWrongly): MemoryPlugin {
  const reference = createReferencePlugin();
  return {
    ...reference,
    async open(context) {
      if (typeof spoil !== "function") return await spoil.open(reference, context);
      const right = await reference.open(context);
      return { ...right, ...spoil(right, context) };
    },
  };
}

type StoredFile = Awaited<ReturnType<ChunkStore["listFiles"]>>[number];

type Deeds<Right> = {
  [Name in keyof Right]?: NonNullable<Right[Name]> extends (...given: infer Given) => unknown
    ? (...given: Given) => unknown
    : never;
};

/** Does something before each call of some methods, which then do what is right. */
export function beforeCalls<Right extends object>(right: Right, deeds: Deeds<Right>): Partial<Right> {
  const calls = right as Record<string, (...given: unknown[]) => unknown>;
  const changed = Object.entries(deeds as typeof calls).map(([name, deed]) => [
    name,
    async (...given: unknown[]) => {
      await deed(...given);
      return await calls[name]?.(...given);
    },
  ]);
  return Object.fromEntries(changed) as Partial<Right>;
}

type Changes<Right> = {
  [Name in keyof Right]?: NonNullable<Right[Name]> extends (...given: infer Given) => infer Answer
    ? (answer: Awaited<Answer>, ...given: Given) => Awaited<Answer> | Promise<Awaited<Answer>>
    : never;
};

/** Changes the answers of some methods. */
export function changeAnswers<Right extends object>(right: Right, changes: Changes<Right>): Partial<Right> {
  const calls = right as Record<string, (...given: unknown[]) => unknown>;
  const changed = Object.entries(changes as typeof calls).map(([name, change]) => [
    name,
    async (...given: unknown[]) => await change(await calls[name]?.(...given), ...given),
  ]);
  return Object.fromEntries(changed) as Partial<Right>;
}

/** Changes the rows that a search by vectors returns. */
export function changeRows(
  right: InMemoryStore,
  change: (rows: readonly ScoredChunk[], query: VectorQuery) => readonly ScoredChunk[],
): Partial<InMemoryStore> {
  return changeAnswers(right, { searchVector: ({ rows }, query) => ({ rows: change(rows, query) }) });
}

/** Changes some methods of each build that is started. */
export function changeBuild(
  right: InMemoryStore,
  spoil: (build: StoreBuild) => Partial<StoreBuild>,
): Partial<InMemoryStore> {
  return changeAnswers(right, { build: (build) => ({ ...build, ...spoil(build) }) });
}

export function addAll<Item>(kept: Set<Item>, items: Iterable<Item>): void {
  for (const item of items) kept.add(item);
}

export function pathsOf(files: readonly { path: string }[]): string[] {
  return files.map(({ path }) => path);
}

export function hashesOf(files: readonly FileChunks[]): string[] {
  return files.flatMap(({ chunks }) => chunks.map(({ hash }) => hash));
}

/** Changes each file that is written. */
export function eachFile(
  right: InMemoryStore,
  change: (file: FileChunks) => FileChunks,
): Pick<ChunkStore, "replaceFiles"> {
  return { replaceFiles: (files) => right.replaceFiles(files.map(change)) };
}

/** Changes each chunk that is written. */
export function eachChunk(right: InMemoryStore, change: (chunk: Chunk) => Chunk): Pick<ChunkStore, "replaceFiles"> {
  return eachFile(right, (file) => ({ ...file, chunks: file.chunks.map(change) }));
}

/** Changes each file that is listed. */
export function eachListed(right: InMemoryStore, change: (file: StoredFile) => StoredFile): Partial<InMemoryStore> {
  return changeAnswers(right, { listFiles: (files) => files.map(change) });
}

/** Searches with other options than those of the caller. */
export function askWith(
  right: MemorySearchManager,
  changed: Partial<ManagerSearchOptions>,
): Partial<MemorySearchManager> {
  return { search: (query, options) => right.search(query, { ...options, ...changed }) };
}

export const everySource: readonly string[] = ["memory", "sessions"];

export const neverAborted = (): AbortSignal => new AbortController().signal;
