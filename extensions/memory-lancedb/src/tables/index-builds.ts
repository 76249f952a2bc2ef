import type { Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import type { StateAsked, StoredFile } from "@memslot/indexing";
import { equals } from "../lance/filter.ts";
import { aboutOf, tableOf } from "../lance/rows.ts";
import { type Listing, readListing, type Written } from "./cached-file-listing.ts";
import {
  type BuildFacts,
  fileColumns,
  filesTable,
  type IndexOwner,
  partOf,
  type Tables,
  VersionCache,
} from "./tables.ts";
import { Vectors } from "./vector-tables.ts";

export interface Build {
  number: number;
  table: Table;
  facts: BuildFacts;
}

export interface Found {
  /** The finished build with the highest number: it answers searches. */
  active: Build | undefined;
  next: Build | undefined;
  over: number[];
}

interface StateInput {
  tables: Tables;
  owner: IndexOwner | undefined;
  location: string;
  isShared: boolean;
}

const finishedLine = -1;

/**
 * The known state of an index. A reader only checks whether its table has changed; an older table is deleted before the
 * next write, and the reader then looks for the next build.
 */
export class IndexState {
  readonly vectors: Vectors;
  beside: readonly string[] = [];
  readonly #input: StateInput;
  readonly #tables: Tables;
  readonly #listings = new VersionCache<Listing>(2);
  readonly #finished = new Set<string>();
  #current: Build | undefined;
  #revision: string | undefined;
  #callersIndex: string | undefined;

  constructor(input: StateInput) {
    this.#input = input;
    this.#tables = input.tables;
    this.vectors = new Vectors(input.tables, input.isShared);
  }

  /** True if `at` is what `revision` returned last: nothing has to be asked of the place. */
  isCurrent(at: string | undefined): boolean {
    return at !== undefined && at === this.#revision;
  }

  async build(at?: string): Promise<Build | undefined> {
    if (this.#current && this.isCurrent(at)) return this.#current;
    const again = this.#current && (await this.#open(this.#current.number));
    this.#current = again ?? (await this.find()).active;
    return this.#current;
  }

  /** The same, for a search. Throws `UNAVAILABLE` if the caller knows another index. */
  async buildToSearch(at?: string): Promise<Build | undefined> {
    const build = await this.build(at);
    this.#expectKnown(build);
    return build;
  }

  /** The build to write to, created if there is none and `mayMake`. Call it within a write. */
  async buildToWrite(mayMake: boolean): Promise<Build | undefined> {
    const { active, next } = await this.tidied();
    this.#expectKnown(active);
    if (active || !mayMake) return active;
    const index = next?.facts.index ?? crypto.randomUUID();
    return (this.#current = await this.#make(1, { index, owner: this.#input.owner, beside: this.beside }));
  }

  listing({ number, table }: Build): Promise<Listing> {
    return this.#listings.get(filesTable(number), table, (version) =>
      readListing(table, version, this.#input.isShared),
    );
  }

  /** The files of the build that answers. From now on the caller knows this index. */
  async listFiles({ at }: StateAsked = {}): Promise<readonly StoredFile[]> {
    const build = this.isCurrent(at) ? await this.build(at) : (await this.find()).active;
    this.#callersIndex = build?.facts.index ?? "none";
    return build ? await this.filesOf(build, at) : [];
  }

  async filesOf(build: Build, at?: string): Promise<readonly StoredFile[]> {
    const { files } = await this.listing(build);
    if (this.#input.isShared) return await this.vectors.embeddedIn(files.values(), !this.isCurrent(at));
    return Array.from(files.values(), ({ chunks: _chunks, ...file }) => file);
  }

  async wrote({ number, facts }: Build, written: Written): Promise<void> {
    await this.#listings.follow(filesTable(number), written.version, (listing) => listing.apply(written));
    // Only now: an index that another host has created at the same moment may have replaced it.
    if (facts.next === undefined && (this.#callersIndex ?? "none") === "none") this.#callersIndex = facts.index;
  }

  /** From now on the caller knows this index, and answers at this state ask nothing of the place. */
  async revision(): Promise<string> {
    const known = this.#tables.spaces();
    let [build, versions] = await Promise.all([this.build(), this.vectors.versions()]);
    if (this.#tables.spaces().join() !== known.join()) versions = await this.vectors.versions();
    this.#callersIndex = build?.facts.index ?? "none";
    this.#revision = build
      ? [build.facts.index, build.number, await build.table.version(), ...versions].join(".")
      : "none";
    return this.#revision;
  }

  async dropUnusedVectors(all: boolean): Promise<void> {
    const { active, next } = await this.tidied();
    const used: ReadonlyMap<string, unknown>[] = [];
    for (const build of [active, next]) if (build) used.push((await this.listing(build)).byHash());
    await this.vectors.dropUnused(used, all);
  }

  forget(): void {
    this.#current = undefined;
    this.#revision = undefined;
    this.#tables.forget();
    this.#listings.clear();
    this.vectors.forget();
  }

  async find(): Promise<Found> {
    const names = await this.#tables.list();
    const numbers = names.flatMap((name) => partOf(name, "files") ?? []).map(Number);
    const found: Found = { active: undefined, next: undefined, over: [] };
    for (const number of numbers.toSorted((left, right) => right - left)) {
      const build = found.active ? undefined : await this.#open(number);
      if (build && (await this.#isFinished(build))) found.active = build;
      else if (build && !found.next) found.next = build;
      else if (build || found.active) found.over.push(number);
    }
    this.#current = found.active;
    return found;
  }

  /** The same, and deletes builds that are over. Call this and the methods below within a write. */
  async tidied(): Promise<Found> {
    const found = await this.find();
    for (const number of found.over) await this.#tables.drop(filesTable(number));
    return found;
  }

  async start(name: string): Promise<Build> {
    const { active, next } = await this.tidied();
    if (next?.facts.next === name) return next;
    // A new number: another process may still write to an older build.
    const number = Math.max(Date.now(), (next ?? active)?.number ?? 0) + 1;
    const index = (active ?? next)?.facts.index ?? crypto.randomUUID();
    const made = await this.#make(number, { index, owner: active?.facts.owner ?? this.#input.owner, next: name });
    if (next) await this.#tables.drop(filesTable(next.number));
    return made;
  }

  /** The build that is being made. Throws `BUSY` if another process has ended it. */
  async expectNext(number: number): Promise<Build> {
    const { next } = await this.find();
    if (next?.number === number) return next;
    throw new MemoryError("BUSY", "another process has ended this rebuild of the index; start it again");
  }

  /** Lets a build answer, in one commit: a search finds all of the old one or all of the new one. */
  async finish(number: number): Promise<void> {
    const { table } = await this.expectNext(number);
    const mark = { id: "finished", source: "", path: "", line: finishedLine, row: "null", terms: null };
    const rows = tableOf(fileColumns, [mark]);
    await table.mergeInsert("id").whenNotMatchedInsertAll().execute(rows);
    await this.tidied();
  }

  async abandon(number: number): Promise<void> {
    const { next } = await this.find();
    if (next?.number === number) await this.#tables.drop(filesTable(number));
  }

  /** A caller that knows an index is not given the answers of one that has replaced it and may have fewer files. */
  #expectKnown(build: Build | undefined): void {
    const index = build?.facts.index ?? "none";
    if ((this.#callersIndex ?? "none") !== "none" && this.#callersIndex !== index)
      throw new MemoryError(
        "UNAVAILABLE",
        `the index ${this.#input.location} was deleted or rebuilt; bring it up to date with \`memslot memory index\``,
      );
  }

  async #open(number: number): Promise<Build | undefined> {
    const table = await this.#tables.open(filesTable(number), true);
    const facts = table && (aboutOf(await table.schema()) as BuildFacts | undefined);
    return table && facts && { number, table, facts };
  }

  async #isFinished({ number, table, facts }: Build): Promise<boolean> {
    const key = `${facts.index} ${number}`;
    if (facts.next === undefined || this.#finished.has(key)) return true;
    if ((await table.countRows(equals("line", finishedLine))) === 0) return false;
    this.#finished.add(key);
    return true;
  }

  async #make(number: number, facts: BuildFacts): Promise<Build> {
    const table = await this.#tables.makeFiles(number, facts);
    // Of two processes that create it at once, one was first.
    const kept = aboutOf(await table.schema()) as BuildFacts | undefined;
    if (kept) return { number, table, facts: kept };
    throw new MemoryError("UNAVAILABLE", "LanceDB does not keep the metadata in the schema of a table there");
  }
}
