import type { LeaseName, IndexLeases } from "@memslot/indexing";

/** Leases that this store takes for itself, beside those that are taken through it. */
export interface SharedLeases {
  /** For whoever uses the store. */
  leases: IndexLeases;
  /**
   * Runs work that no other process may meet, if nobody else writes just now; undefined where somebody does. What is
   * held through `leases` meanwhile stays held.
   */
  alone<Result>(reason: string, work: () => Promise<Result>): Promise<Result | undefined>;
  /** Gives back everything. */
  close(): Promise<void>;
}

type Holder = "caller" | "store";

const names: readonly LeaseName[] = ["files", "build"];

/** One lease may be held for the caller and for the store at the same time: it is given back when neither needs it. */
export function shareLeases(place: IndexLeases): SharedLeases {
  const held: Record<LeaseName, Set<Holder>> = { files: new Set(), build: new Set() };
  let turn: Promise<unknown> = Promise.resolve();

  /** One after the other, so that a lease that is being taken is not given back in between. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  }

  async function acquire(name: LeaseName, holder: Holder, reason: string): Promise<boolean> {
    return await inTurn(async () => {
      const isOurs = held[name].size > 0 || (await place.acquire(name, reason));
      if (isOurs) held[name].add(holder);
      return isOurs;
    });
  }

  async function release(name: LeaseName, holder: Holder): Promise<void> {
    await inTurn(async () => {
      if (!held[name].delete(holder) || held[name].size > 0) return;
      await place.release(name);
    });
  }

  return {
    leases: {
      acquire: (name, reason) => acquire(name, "caller", reason),
      release: (name) => release(name, "caller"),
      report: (progress) => place.report(progress),
      holder: (name) => place.holder(name),
    },
    async alone(reason, work) {
      const taken: LeaseName[] = [];
      try {
        for (const name of names) {
          if (!(await acquire(name, "store", reason))) return undefined;
          taken.push(name);
        }
        return await work();
      } finally {
        for (const name of taken) await release(name, "store");
      }
    },
    async close() {
      for (const name of names) {
        await release(name, "caller");
        await release(name, "store");
      }
    },
  };
}
