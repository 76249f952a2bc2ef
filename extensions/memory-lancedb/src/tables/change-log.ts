/** Texts that may have changed since, by their hashes; beyond this many it is quicker to look at all of them. */
const keptEntries = 20_000;

/** What has changed, for whoever keeps something that follows from it. */
export interface ChangeLog {
  add(hash: string): void;
  /** Where the log is now. */
  end(): number;
  /** The entries from there on; undefined where they are not kept any more. */
  since(place: number): readonly string[] | undefined;
}

export function createChangeLog(): ChangeLog {
  let entries: string[] = [];
  let first = 0;
  return {
    add(hash) {
      if (entries.length >= keptEntries) {
        first += entries.length;
        entries = [];
      }
      entries.push(hash);
    },
    end: () => first + entries.length,
    since: (place) => (place < first ? undefined : entries.slice(place - first)),
  };
}
