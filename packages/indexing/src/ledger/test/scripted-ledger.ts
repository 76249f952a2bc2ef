import { expect } from "vitest";
import type { FileKey, VectorSpace } from "../../chunk-store.ts";
import type { IndexedFile } from "../../index-records.ts";
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

/** One store of a script: each verb is a call of the ledger in few words. */
export class ScriptedLedger {
  readonly ledger: OpenedStore;
  readonly #texts: Map<string, string>;
  #build: number | undefined;
  #revision = "";

  constructor(ledger: OpenedStore, texts: Map<string, string>) {
    this.ledger = ledger;
    this.#texts = texts;
  }

  #textOf = (hash: string): string => this.#texts.get(hash) ?? `unknown ${hash}`;
  #noted = (texts: readonly string[]): string[] => texts.map((text) => (this.#texts.set(sha256(text), text), text));
  #filesIn(specs: readonly FileSpec[]): IndexedFile[] {
    for (const [, ...rest] of specs) this.#noted(rest.filter((each) => typeof each === "string"));
    return specs.map(fileIn);
  }

  put = (...files: FileSpec[]) => void this.ledger.replaceFiles(this.#filesIn(files));
  touch = (...files: FileSpec[]) => void this.ledger.touchFiles(this.#filesIn(files));
  remove = (...paths: string[]) => void this.ledger.removeFiles(paths.map((path) => fileIn([path])));
  paths = () => this.ledger.listFiles().map(nameOf);
  texts = () => this.ledger.listChunks({ sources: both, withText: true }).map(({ text }) => text);
  files = () => this.ledger.listFiles();
  counts = () => this.ledger.stats();
  /** Whether the revision has changed since the last time. */
  changed = () => this.#revision !== (this.#revision = this.ledger.revision());
  note = (name: string, value?: string) => this.ledger.note(name, value);
  noted = (name: string) => this.ledger.noted(name);
  tidy = async () => {
    while (await this.ledger.tidy());
  };
  build = (name: string, ...files: FileSpec[]) => {
    this.#build = this.ledger.startBuild(name);
    this.ledger.replaceFiles(this.#filesIn(files), this.#build);
  };
  inBuild = () => this.ledger.listFiles(this.#build).map(nameOf);
  finish = () => this.ledger.finishBuild();
  abandon = () => this.ledger.abandonBuild();
  embed = (space: string, ...texts: string[]) => embed(this.ledger, spaceIn(space), ...this.#noted(texts));
  use = (space: string) => this.ledger.useSpace(spaceIn(space));
  pending = (space: string, limit = 100) => {
    const pending = this.ledger.pendingVectors(spaceIn(space), limit);
    return limit < 100 ? pending.length : pending.map(({ text }) => text).toSorted();
  };
  known = (space: string, ...texts: string[]) =>
    this.ledger.knownVectors(spaceIn(space), this.#noted(texts).map(sha256)).map(this.#textOf);
  hasNumbers = (space: string, text: string) => this.ledger.vectorOf(spaceIn(space), sha256(text)) !== undefined;
  stats = (space: string, within?: string[], without: string[] = [], sources: string[] = ["memory"]) =>
    this.ledger.spaceStats(spaceIn(space), within && { sources, scope: { within, without } });
  refuse = (space: string, reason: string, ...texts: string[]) =>
    this.ledger.quarantine(
      spaceIn(space),
      this.#noted(texts).map((text) => ({ ...hashOf(text), reason })),
    );
  refused = (space: string, limit = 100) =>
    this.ledger
      .quarantined(spaceIn(space), limit)
      .map(({ path, startLine, hash, reason }) => `${path}:${startLine} ${this.#textOf(hash)}: ${reason}`);
  release = (space: string) => this.ledger.releaseQuarantine(spaceIn(space));
  sample = (space: string, count: number) =>
    this.ledger
      .sampleVectors(spaceIn(space), count)
      .map(({ hash, text, vector }) => {
        expectVector(this.#textOf(hash), vector);
        return text;
      })
      .toSorted();
  /** The store is to have the vectors of the space. */
  request = (space: string) => this.ledger.requestVectors(spaceIn(space));
  /** The texts whose vectors the store does not have yet, each with its numbers. */
  owed = () => {
    const batch = this.ledger.unacknowledgedVectors(100);
    for (const { hash, vector } of batch?.entries ?? []) expectVector(this.#textOf(hash), vector);
    return batch?.entries.map(({ hash }) => this.#textOf(hash)).toSorted() ?? [];
  };
  acknowledge = (space: string, ...texts: string[]) =>
    this.ledger.acknowledgeVectors(spaceIn(space), texts.map(sha256));
  /** The store gets all of them, two at a time. Their number. */
  acknowledgeAll = () => {
    for (let count = 0; ;) {
      const batch = this.ledger.unacknowledgedVectors(2);
      if (batch === undefined) return count;
      count += batch.entries.length;
      this.ledger.acknowledgeVectors(
        batch.space,
        batch.entries.map(({ hash }) => hash),
      );
    }
  };
  import = (space: string, ...paths: string[]) =>
    this.ledger.importVectors(
      spaceIn(space),
      paths.map((path) => fileIn([path])),
    );
  /** The store holds these files; `embedded` names spaces. */
  reconcile = (build: boolean, ...files: FileSpec[]) => {
    const held = this.#filesIn(files).map(({ path, source, hash, recipe, ...more }) => {
      const { embedded } = more as { embedded?: string[] };
      return { path, source, hash, recipe, embedded: embedded?.map(spaceIn) };
    });
    const { lost, unknown } = this.ledger.reconcile(held, build ? this.#build : undefined);
    return { lost: lost.map(nameOf), unknown: unknown.map(nameOf) };
  };
}
