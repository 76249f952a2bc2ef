import { expect } from "vitest";
import type { FileKey, VectorSpace } from "../../chunk-store.ts";
import type { IndexedFile } from "../../index-row-types.ts";
import type { OpenedStore } from "../database-store.ts";
import { embed, fileOf, sha256, spaceOf, vectorOf } from "./ledgers.ts";

/** A file as the scripts write it: its path, which may begin with a source and a colon, and its texts; more by name. */
type FileSpec = [path: string, ...texts: (string | Partial<IndexedFile>)[]];

function fileIn([named, ...rest]: FileSpec): IndexedFile {
  const [, source = "memory", path = ""] = /^(?:(\w+):)?(.*)$/u.exec(named) ?? [];
  const more = rest.filter((each) => typeof each === "object");
  const texts = rest.filter((each) => typeof each === "string");
  const file = Object.assign(fileOf(path, texts, source), ...more) as IndexedFile;
  return { ...file, chunks: file.chunks.filter(({ startLine }) => startLine >= (file.fromLine ?? 0)) };
}

/** `name`, or `name:dimensions`. */
function spaceIn(named: string): VectorSpace {
  const [model = "", dimensions = "8"] = named.split(":");
  return spaceOf(model, Number(dimensions));
}

const both = ["memory", "sessions"];
const hashOf = (text: string) => ({ hash: sha256(text) });
const nameOf = ({ source, path }: FileKey): string => (source === "memory" ? path : `${source}:${path}`);

function expectVector(text: string, vector: Float32Array): void {
  expect(vector, text).toEqual(vectorOf(text, vector.length));
}

/** The verbs of a script for one store, each a call of its ledger in few words. `texts`: by hash, for all stores. */
export function verbsOf(
  ledger: OpenedStore,
  texts: Map<string, string>,
): Readonly<Record<string, (...given: never[]) => unknown>> {
  let build: number | undefined;
  let revision = "";
  const textOf = (hash: string): string => texts.get(hash) ?? `unknown ${hash}`;
  const remember = (given: readonly string[]): string[] => given.map((text) => (texts.set(sha256(text), text), text));
  function filesIn(specs: readonly FileSpec[]): IndexedFile[] {
    for (const [, ...rest] of specs) remember(rest.filter((each) => typeof each === "string"));
    return specs.map(fileIn);
  }

  return {
    put: (...files: FileSpec[]) => void ledger.replaceFiles(filesIn(files)),
    touch: (...files: FileSpec[]) => void ledger.touchFiles(filesIn(files)),
    remove: (...paths: string[]) => void ledger.removeFiles(paths.map((path) => fileIn([path]))),
    paths: () => ledger.listFiles().map(nameOf),
    texts: () => ledger.listChunks({ sources: both, withText: true }).map(({ text }) => text),
    files: () => ledger.listFiles(),
    counts: () => ledger.stats(),
    /** Whether the revision has changed since the last time. */
    changed: () => revision !== (revision = ledger.revision()),
    note: (name: string, value?: string) => ledger.note(name, value),
    noted: (name: string) => ledger.noted(name),
    tidy: async () => {
      while (await ledger.tidy());
    },
    build: (name: string, ...files: FileSpec[]) => {
      build = ledger.startBuild(name);
      ledger.replaceFiles(filesIn(files), build);
    },
    inBuild: () => ledger.listFiles(build).map(nameOf),
    finish: () => ledger.finishBuild(),
    abandon: () => ledger.abandonBuild(),
    embed: (space: string, ...texts: string[]) => embed(ledger, spaceIn(space), ...remember(texts)),
    use: (space: string) => ledger.useSpace(spaceIn(space)),
    pending: (space: string, limit = 100) => {
      const pending = ledger.pendingVectors(spaceIn(space), limit);
      return limit < 100 ? pending.length : pending.map(({ text }) => text).toSorted();
    },
    known: (space: string, ...texts: string[]) =>
      ledger.knownVectors(spaceIn(space), remember(texts).map(sha256)).map(textOf),
    hasNumbers: (space: string, text: string) => ledger.vectorOf(spaceIn(space), sha256(text)) !== undefined,
    stats: (space: string, within?: string[], without: string[] = [], sources: string[] = ["memory"]) =>
      ledger.spaceStats(spaceIn(space), within && { sources, scope: { within, without } }),
    refuse: (space: string, reason: string, ...texts: string[]) =>
      ledger.quarantine(
        spaceIn(space),
        remember(texts).map((text) => ({ ...hashOf(text), reason })),
      ),
    refused: (space: string, limit = 100) =>
      ledger
        .quarantined(spaceIn(space), limit)
        .map(({ path, startLine, hash, reason }) => `${path}:${startLine} ${textOf(hash)}: ${reason}`),
    release: (space: string) => ledger.releaseQuarantine(spaceIn(space)),
    sample: (space: string, count: number) =>
      ledger
        .sampleVectors(spaceIn(space), count)
        .map(({ hash, text, vector }) => {
          expectVector(textOf(hash), vector);
          return text;
        })
        .toSorted(),
    /** The store is to have the vectors of the space. */
    request: (space: string) => ledger.requestVectors(spaceIn(space)),
    /** The texts whose vectors the store does not have yet, each with its numbers. */
    owed: () => {
      const batch = ledger.unacknowledgedVectors(100);
      for (const { hash, vector } of batch?.entries ?? []) expectVector(textOf(hash), vector);
      return batch?.entries.map(({ hash }) => textOf(hash)).toSorted() ?? [];
    },
    acknowledge: (space: string, ...texts: string[]) => ledger.acknowledgeVectors(spaceIn(space), texts.map(sha256)),
    /** The store gets all of them, two at a time. Their number. */
    acknowledgeAll: () => {
      for (let count = 0; ;) {
        const batch = ledger.unacknowledgedVectors(2);
        if (batch === undefined) return count;
        count += batch.entries.length;
        ledger.acknowledgeVectors(
          batch.space,
          batch.entries.map(({ hash }) => hash),
        );
      }
    },
    import: (space: string, ...paths: string[]) =>
      ledger.importVectors(
        spaceIn(space),
        paths.map((path) => fileIn([path])),
      ),
    /** The store holds these files; `embedded` names spaces. */
    reconcile: (isInBuild: boolean, ...files: FileSpec[]) => {
      const held = filesIn(files).map(({ path, source, hash, recipe, ...more }) => {
        const { embedded } = more as { embedded?: string[] };
        return { path, source, hash, recipe, embedded: embedded?.map(spaceIn) };
      });
      const { lost, unknown } = ledger.reconcile(held, isInBuild ? build : undefined);
      return { lost: lost.map(nameOf), unknown: unknown.map(nameOf) };
    },
  };
}
