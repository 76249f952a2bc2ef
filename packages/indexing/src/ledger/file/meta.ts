import type Database from "better-sqlite3";

export interface Meta {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
  delete(key: string): void;
  startingWith(prefix: string): { key: string; value: string }[];
}

export const metaKeys = {
  /** Space id by generation: the space with a vector layout. Absent: the layout is unreliable. */
  vectorSpace: "vector_space:",
  /** Followed by a store; incremented by every change of its active files. */
  revision: "revision:",
  /** Set when chunks were written by a process that could not index their words. */
  wordsStale: "words_stale",
  wordsMissing: "words_missing:",
  unwiped: "unwiped",
  /** Largest number of chunks that the index has had. */
  mostChunks: "most_chunks",
  writer: "writer:",
  /** The agent and the workspace that the index is made for, as JSON. */
  owner: "owner",
  /** Followed by a store and a lease: its last owner and progress. Ignored if the lock is free. */
  lease: "lease:",
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
