import type { Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { aboutOf, tableOf } from "./arrow-rows.ts";
import { equals } from "./filter.ts";
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
  /** Of all tables at the place. */
  names: readonly string[];
}

/** What one look is enough for, once each. */
const legs = ["files", "spaces", "keyword", "vector", "space"] as const;
type Leg = (typeof legs)[number];

/** How long a look that was made for a whole search serves the legs of it. */
const looksServeMs = 2000;
/** The line of the row that says that a build is finished. */
const finishedLine = -1;

/**
 * Which build answers. A reader asks only whether the table that it knows has changed. A build that takes over leaves the
 * older table to be deleted before anything is written to its own: so whoever still reads the older one reads the same
 * files, and looks anew when it is gone.
 */
export interface Builds {
  /** The build that answers, at its newest version; undefined where nothing has been written. */
  look(): Promise<Build | undefined>;
  /** The same, for what follows a question for the revision: that look serves each leg of a search once. */
  lookFor(leg: Leg): Promise<Build | undefined>;
  /** The same, as it was known at the last look. */
  latest(): Promise<Build | undefined>;
  /** True once for a leg, where all was looked at a moment ago. */
  wasLooked(leg: Leg): boolean;
  lookedAtAll(): void;
  /** The spaces that had a table when all names were read last. */
  spaces(): readonly string[];
  /** The names of all tables, as they were read a moment ago, or else now. */
  names(): Promise<readonly string[]>;
  /** Looks at all tables. */
  find(): Promise<Found>;
  /** The same, and deletes those of builds that are over: before each write. This and all below is within one. */
  tidied(): Promise<Found>;
  /** Where there is no build that answers, but perhaps one that is being made. */
  makeFirst(next: Build | undefined): Promise<Build>;
  start(name: string): Promise<Build>;
  /** Throws `BUSY` where another process has ended it. */
  expectNext(number: number): Promise<Build>;
  finish(number: number): Promise<void>;
  abandon(number: number): Promise<void>;
  forget(): void;
}

export function createBuilds(tables: Tables, owner: IndexOwner | undefined): Builds {
  let current: Build | undefined;
  let spaces: readonly string[] = [];
  let named: { at: number; names: readonly string[] } | undefined;
  let looked = { at: 0, legs: new Set<Leg>() };
  const finished = new Set<string>();

  async function openBuild(number: number): Promise<Build | undefined> {
    const table = await tables.open(filesTable(number), true);
    const facts = table && (aboutOf(await table.schema()) as BuildFacts | undefined);
    return table && facts && { number, table, facts };
  }

  async function isFinished({ number, table, facts }: Build): Promise<boolean> {
    const key = `${facts.index} ${number}`;
    if (facts.next === undefined || finished.has(key)) return true;
    if ((await table.countRows(equals("line", finishedLine))) === 0) return false;
    finished.add(key);
    return true;
  }

  async function find(): Promise<Found & { over: number[] }> {
    const names = await tables.names();
    named = { at: performance.now(), names };
    spaces = names.flatMap((name) => partOf(name, "vectors") ?? []);
    const numbers = names.flatMap((name) => partOf(name, "files") ?? []).map(Number);
    const found: Found & { over: number[] } = { active: undefined, next: undefined, names, over: [] };
    for (const number of numbers.toSorted((left, right) => right - left)) {
      const build = found.active ? undefined : await openBuild(number);
      if (build && (await isFinished(build))) found.active = build;
      else if (build && !found.next) found.next = build;
      else if (build || found.active) found.over.push(number);
    }
    current = found.active;
    return found;
  }

  async function look(): Promise<Build | undefined> {
    const again = current && (await openBuild(current.number));
    current = again ?? (await find()).active;
    return current;
  }

  async function latest(): Promise<Build | undefined> {
    return current ?? (await look());
  }

  function wasLooked(leg: Leg): boolean {
    return looked.legs.delete(leg) && performance.now() - looked.at < looksServeMs;
  }

  async function tidied(): Promise<Found> {
    const { over, ...found } = await find();
    for (const number of over) await tables.drop(filesTable(number));
    return found;
  }

  async function expectNext(number: number): Promise<Build> {
    const { next } = await find();
    if (next?.number === number) return next;
    throw new MemoryError("BUSY", "another process has ended this rebuild of the index; start it again");
  }

  async function make(number: number, facts: BuildFacts): Promise<Build> {
    const table = await tables.makeFiles(number, facts);
    // Of two that make it at once, one is there first.
    const kept = aboutOf(await table.schema()) as BuildFacts | undefined;
    if (kept) return { number, table, facts: kept };
    throw new MemoryError("UNAVAILABLE", "LanceDB does not keep what is written into the schema of a table there");
  }

  return {
    look,
    lookFor: async (leg) => (wasLooked(leg) ? await latest() : await look()),
    latest,
    wasLooked,
    lookedAtAll: () => (looked = { at: performance.now(), legs: new Set(legs) }),
    spaces: () => spaces,
    async names() {
      if (named && performance.now() - named.at < looksServeMs) return named.names;
      return await tables.names();
    },
    find,
    tidied,
    makeFirst: async (next) => (current = await make(1, { index: next?.facts.index ?? crypto.randomUUID(), owner })),
    async start(name) {
      const { active, next } = await tidied();
      if (next?.facts.next === name) return next;
      // Never a number that was there before: another process may still write to what it knows by it.
      const number = Math.max(Date.now(), (next ?? active)?.number ?? 0) + 1;
      const index = (active ?? next)?.facts.index ?? crypto.randomUUID();
      const made = await make(number, { index, owner: active?.facts.owner ?? owner, next: name });
      if (next) await tables.drop(filesTable(next.number));
      return made;
    },
    expectNext,
    async finish(number) {
      const { table } = await expectNext(number);
      // In one commit: whoever searches finds all of the old one or all of the new one.
      const mark = { id: "finished", source: "", path: "", line: finishedLine, row: "null", terms: null };
      await table
        .mergeInsert("id")
        .whenNotMatchedInsertAll()
        .execute(tableOf(fileColumns, [mark]));
      await tidied();
    },
    async abandon(number) {
      const { next } = await find();
      if (next?.number === number) await tables.drop(filesTable(number));
    },
    forget() {
      current = undefined;
      tables.forget();
    },
  };
}
