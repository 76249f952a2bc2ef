import type { Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { aboutOf, tableOf } from "../lance/arrow-rows.ts";
import { equals } from "../lance/filter.ts";
import { type BuildFacts, fileColumns, filesTable, type IndexOwner, partOf, type Tables } from "./tables.ts";

/** A table of files. The highest number that is finished answers. */
export interface Build {
  number: number;
  table: Table;
  facts: BuildFacts;
}

/** What is at the place. */
export interface Found {
  active: Build | undefined;
  next: Build | undefined;
  /** Numbers of builds that are over. */
  over: number[];
  /** Of all tables at the place. */
  names: readonly string[];
}

/** The line of the row that says that a build is finished. */
const finishedLine = -1;

/**
 * Which build answers. A reader asks only whether the table that it knows has changed. A build that takes over leaves the
 * older table to be deleted before anything is written to its own: so whoever still reads the older one reads the same
 * files, and looks anew when it is gone.
 */
export class Builds {
  readonly #tables: Tables;
  readonly #owner: IndexOwner | undefined;
  /** The build that answered at the last look. */
  #current: Build | undefined;
  #spaces: readonly string[] = [];
  #names: readonly string[] | undefined;
  /** What the caller was told of the last look at all tables. */
  #told: string | undefined;
  /** Builds that are known to be finished, which they stay. */
  readonly #finished = new Set<string>();

  /** Other indexes of the agent at the place, when the first build is made. */
  beside: readonly string[] = [];
  /** Names that were read a moment ago, for the first look. */
  #justRead: readonly string[] | undefined;

  constructor(tables: Tables, owner: IndexOwner | undefined, names?: readonly string[]) {
    this.#tables = tables;
    this.#owner = owner;
    this.#justRead = names;
  }

  /** The build that answers, at its newest version; undefined where nothing has been written. */
  async look(): Promise<Build | undefined> {
    const again = this.#current && (await this.#open(this.#current.number));
    this.#current = again ?? (await this.find()).active;
    return this.#current;
  }

  /** The same, as it was at the last look for a caller who was told of that one. */
  async at(state: string | undefined): Promise<Build | undefined> {
    return this.isTold(state) ? await this.latest() : await this.look();
  }

  /** The same, as it was known at the last look. */
  async latest(): Promise<Build | undefined> {
    return this.#current ?? (await this.look());
  }

  /** True where the last look at all tables is the one that the caller was told of: none has to be looked at again. */
  isTold(state: string | undefined): boolean {
    return state !== undefined && state === this.#told;
  }

  tell(state: string): void {
    this.#told = state;
  }

  /** The spaces that had a table when all names were read last. */
  spaces(): readonly string[] {
    return this.#spaces;
  }

  /** The names of all tables, as they were read last. */
  async names(): Promise<readonly string[]> {
    return (this.#names ??= await this.#tables.names());
  }

  /** Looks at all tables. */
  async find(): Promise<Found> {
    const names = this.#justRead ?? (await this.#tables.names());
    this.#justRead = undefined;
    this.#names = names;
    this.#spaces = names.flatMap((name) => partOf(name, "vectors") ?? []);
    const numbers = names.flatMap((name) => partOf(name, "files") ?? []).map(Number);
    const found: Found = { active: undefined, next: undefined, over: [], names };
    for (const number of numbers.toSorted((left, right) => right - left)) {
      const build = found.active ? undefined : await this.#open(number);
      if (build && (await this.#isFinished(build))) found.active = build;
      else if (build && !found.next) found.next = build;
      else if (build || found.active) found.over.push(number);
    }
    this.#current = found.active;
    return found;
  }

  /** The same, and deletes those of builds that are over: before each write. This and all below is within one. */
  async tidied(): Promise<Found> {
    const found = await this.find();
    for (const number of found.over) await this.#tables.drop(filesTable(number));
    return found;
  }

  /** Where there is no build that answers, but perhaps one that is being made. */
  async makeFirst(next: Build | undefined): Promise<Build> {
    const index = next?.facts.index ?? crypto.randomUUID();
    return (this.#current = await this.#make(1, { index, owner: this.#owner, beside: this.beside }));
  }

  async start(name: string): Promise<Build> {
    const { active, next } = await this.tidied();
    if (next?.facts.next === name) return next;
    // Never a number that was there before: another process may still write to what it knows by it.
    const number = Math.max(Date.now(), (next ?? active)?.number ?? 0) + 1;
    const index = (active ?? next)?.facts.index ?? crypto.randomUUID();
    const made = await this.#make(number, { index, owner: active?.facts.owner ?? this.#owner, next: name });
    if (next) await this.#tables.drop(filesTable(next.number));
    return made;
  }

  /** Throws `BUSY` where another process has ended it. */
  async expectNext(number: number): Promise<Build> {
    const { next } = await this.find();
    if (next?.number === number) return next;
    throw new MemoryError("BUSY", "another process has ended this rebuild of the index; start it again");
  }

  async finish(number: number): Promise<void> {
    const { table } = await this.expectNext(number);
    // In one commit: whoever searches finds all of the old one or all of the new one.
    const mark = { id: "finished", source: "", path: "", line: finishedLine, row: "null", terms: null };
    await table
      .mergeInsert("id")
      .whenNotMatchedInsertAll()
      .execute(tableOf(fileColumns, [mark]));
    await this.tidied();
  }

  async abandon(number: number): Promise<void> {
    const { next } = await this.find();
    if (next?.number === number) await this.#tables.drop(filesTable(number));
  }

  forget(): void {
    this.#current = undefined;
    this.#names = undefined;
    this.#told = undefined;
    this.#tables.forget();
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
    // Of two that make it at once, one is there first.
    const kept = aboutOf(await table.schema()) as BuildFacts | undefined;
    if (kept) return { number, table, facts: kept };
    throw new MemoryError("UNAVAILABLE", "LanceDB does not keep what is written into the schema of a table there");
  }
}
