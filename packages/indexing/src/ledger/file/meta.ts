import type Database from "better-sqlite3";

/** Facts about the database as a whole, one line each. */
export interface Meta {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
  delete(key: string): void;
  /** Keys and values of all entries whose key begins so. */
  startingWith(prefix: string): { key: string; value: string }[];
}

export const metaKeys = {
  /**
   * Followed by a generation: the id of the space whose vectors are laid out for it, one for each chunk that has one.
   * Absent: the layout cannot be relied on.
   */
  vectorSpace: "vector_space:",
  /** Followed by a store: goes up with every change of its files that answer. */
  revision: "revision:",
  /** Set when chunks were written by a process that could not index their words. */
  wordsStale: "words_stale",
  /** Followed by a generation: some of its chunks lack their words, which are made from the texts that are there. */
  wordsMissing: "words_missing:",
  /** Set while pages that became free may hold texts of older rules for secrets. */
  unwiped: "unwiped",
  /** As many chunks as the index has ever had. */
  mostChunks: "most_chunks",
  /** Followed by an id: a process that has written and has not closed yet. */
  writer: "writer:",
  /** The agent and the workspace that the index is made for, as JSON. */
  owner: "owner",
  /** Followed by a store and the name of a lease: who took it last, how far they are. Counts for nothing when its lock is free. */
  lease: "lease:",
  /** Followed by a store and a name: a small fact about the store. */
  note: "note:",
  /** Followed by a store and the id of a space: the store is to have its vectors. */
  owes: "owes:",
} as const;

export function openMeta(db: Database.Database): Meta {
  const get = db.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck();
  const set = db.prepare<[string, string]>("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
  const remove = db.prepare<[string]>("DELETE FROM meta WHERE key = ?");
  const startingWith = db.prepare<[string, string], { key: string; value: string }>(
    "SELECT key, value FROM meta WHERE key >= ? AND key < ?",
  );
  return {
    get: (key) => get.get(key),
    set: (key, value) => void set.run(key, value),
    delete: (key) => void remove.run(key),
    startingWith: (prefix) => startingWith.all(prefix, `${prefix}\u{10ffff}`),
  };
}
