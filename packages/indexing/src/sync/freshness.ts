import { messageOf, type SearchCondition } from "@memslot/core";
import type { FileKey } from "../chunk-store.ts";
import type { LongWork, LongWorkParts } from "./long-work.ts";
import type { StoredListing } from "./stored-files.ts";
import { HeldElsewhere, withWriteRight } from "./write-right.ts";

/** How long a search waits for the files to be indexed, before it answers from what is there. */
const searchWaitsMs = 300;
/** How long of that for another process that writes, so that there is time left to say which one. */
export const othersMayTakeMs = 200;
/** How long it waits for another process that makes the first index. */
const firstIndexWaitsMs = 10_000;

/** A look at the files for searches. */
interface Sweep {
  outcome: Promise<SearchCondition | undefined>;
  /** How many files have changed; undefined until all were looked at. */
  changed: number | undefined;
}

/** What looking at the files for searches works with. */
interface FreshnessParts extends LongWorkParts {
  listing: StoredListing;
  longWork: LongWork;
  /** False: a search does not look at the files. */
  onSearch: boolean;
  /** Runs a look at the files when those before it have ended. */
  inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Whether a look at the files would find nothing that the index does not hold, where that is known without one. */
  isUnchanged: () => Promise<boolean>;
  /** Looks at the files and writes what has changed. */
  pass: (waitMs: () => number, onPlanned: (changed: number) => void) => Promise<void>;
}

/** What a search waits for before it asks, and what it may say of the answer then. */
export class Freshness {
  readonly #parts: FreshnessParts;
  /** A look at the files that some search waits for and that has not begun: later searches wait for the same. */
  #next: Sweep | undefined;
  /** The state of the index that the facts were counted at. */
  #followed: string | undefined;

  constructor(parts: FreshnessParts) {
    this.#parts = parts;
  }

  /** Waits for a look at the files that begins now. Says why the answer cannot be taken as fresh, where it cannot. */
  async freshen(signal: AbortSignal): Promise<SearchCondition | undefined> {
    // Another process may have made the index, or changed it, since this one counted.
    await this.#follow();
    if (!this.#parts.onSearch) {
      const reason = this.#parts.record.whyStale();
      return reason === undefined ? undefined : { state: "stale", reason };
    }
    // One that runs already may have passed the note that was saved a moment ago.
    const sweep = (this.#next ??= this.#plan(() => void (this.#next = undefined)));
    const before = this.#parts.longWork.behind;
    const limitMs = this.#isEmpty() ? undefined : searchWaitsMs;
    const unfresh = await waitFor(sweep.outcome, limitMs, signal, () => soFar(sweep));
    // Vectors of a note or two are there in a moment, and the answer is better with them.
    const { behind } = this.#parts.longWork;
    if (this.#parts.vectors && behind && behind !== before)
      await waitFor(behind, searchWaitsMs, signal, () => undefined);
    return unfresh;
  }

  /** Reads these files again, whatever their records say, and looks at all others. Says why that is not done yet. */
  async reread(keys: readonly FileKey[], signal: AbortSignal): Promise<SearchCondition | undefined> {
    const sweep = this.#plan(() => this.#distrust(keys));
    await this.#parts.record.count();
    const limitMs = this.#isEmpty() ? firstIndexWaitsMs : searchWaitsMs;
    return await waitFor(sweep.outcome, limitMs, signal, () => soFar(sweep));
  }

  /** How long a look for a search waits for another process that writes. */
  patience(): number {
    return this.#isEmpty() ? firstIndexWaitsMs : othersMayTakeMs;
  }

  #isEmpty(): boolean {
    return this.#parts.record.facts.stats.chunks === 0;
  }

  /** Counts again where the files that answer have changed since, whichever process has done it. */
  async #follow(): Promise<void> {
    const revision = await this.#parts.index.revision?.({ anew: true });
    if (revision === undefined || revision !== this.#followed) {
      await this.#parts.record.count();
      await this.#parts.vectors?.count();
      this.#followed = revision;
      // Vectors that others make change no file.
    } else if ((this.#parts.vectors?.facts().missing ?? 0) > 0) await this.#parts.vectors?.count();
  }

  /** A look that begins, with `first`, when those before it have ended. */
  #plan(first: () => Promise<void> | void): Sweep {
    const sweep: Sweep = { changed: undefined, outcome: this.#parts.inTurn(() => this.#look(sweep, first)) };
    return sweep;
  }

  async #look(sweep: Sweep, first: () => Promise<void> | void): Promise<SearchCondition | undefined> {
    try {
      await first();
      if (await this.#parts.isUnchanged()) return undefined;
      await this.#parts.pass(
        () => this.patience(),
        (changed) => (sweep.changed = changed),
      );
      return undefined;
    } catch (error) {
      if (error instanceof HeldElsewhere) {
        const reason = `${changedFiles(sweep.changed)} and ${error.message}`;
        return { state: "stale", reason, count: sweep.changed };
      }
      return { state: "stale", reason: `the index could not be brought up to date: ${messageOf(error)}` };
    }
  }

  /** Makes files count as changed. */
  async #distrust(keys: readonly FileKey[]): Promise<void> {
    // Somebody who edits the index by hand does not say that it has changed.
    this.#parts.listing.forget();
    const known = await this.#parts.listing.files();
    const records = keys.flatMap(({ source, path }) => {
      const record = known.get(source)?.get(path);
      return record === undefined ? [] : [{ ...record, hash: "", mtimeMs: -1, cursor: undefined }];
    });
    if (records.length === 0) return;
    const right = { reason: "search", waitMs: () => this.patience(), signal: this.#parts.closing };
    await withWriteRight(this.#parts.index, "files", right, () => this.#parts.index.touchFiles(records));
  }
}

/** What is known of the files when a search goes on without the end of its look at them. */
function soFar({ changed }: Sweep): SearchCondition | undefined {
  // Nothing has changed: what is left of the look is to count.
  if (changed === 0) return undefined;
  if (changed === undefined) return { state: "stale", reason: "not all files were looked at yet" };
  const verb = changed === 1 ? "is" : "are";
  return { state: "stale", reason: `${changedFiles(changed)} and ${verb} still being indexed`, count: changed };
}

function changedFiles(count: number | undefined): string {
  if (count === undefined) return "files have changed";
  return count === 1 ? "1 file has changed" : `${count} files have changed`;
}

/** What an outcome is, or after `limitMs` what there is to say without it. Rejects with the reason of an abort. */
async function waitFor<Outcome>(
  outcome: Promise<Outcome>,
  limitMs: number | undefined,
  signal: AbortSignal,
  otherwise: () => Outcome,
): Promise<Outcome> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const timer = limitMs === undefined ? undefined : setTimeout(() => resolve(otherwise()), limitMs);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    outcome.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
