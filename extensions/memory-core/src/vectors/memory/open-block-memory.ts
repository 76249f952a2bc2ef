import { type BlockMemory, entryNumbers, mostRegions, places, seatBytes, seats, states } from "./block-memory.ts";

/** How long a thread waits for another one that changes the ledger: longer than any change takes. */
const lockWaitMs = 1000;
const lockPauseMs = 1;
const pageBytes = 65_536;
/** Memory is taken in steps of so many pages. */
const growPages = 64;

/** What is needed of a block: its number and the checksum of its bytes name it, whichever thread has put it in. */
interface BlockName {
  block: number;
  sum: number;
}

/**
 * One thread's view of the blocks that the threads of a process hold in common. A block is written once and never changes;
 * a region is given to another block, the one that was used longest ago first, when no thread reads it.
 */
export interface OpenBlockMemory {
  /** This thread's own bytes. */
  own: { at: number; bytes: number };
  /** A new search begins: what it uses is used now. */
  begin(): void;
  /**
   * The place of a block, which stays there until the next call of `hold` or `release`. Where it is not there yet, `fill`
   * writes it, or the first part of it, and says whether that is all. Undefined where there is no room for it now.
   */
  hold(name: BlockName, fill: (at: number) => boolean): number | undefined;
  /** Whether all of the block that is held is there. */
  isWhole(): boolean;
  /** Writes the rest of the block that is held. Threads that do it at once write the same. */
  complete(fill: (at: number) => void): void;
  release(): void;
  /** Views of the memory as it is now. It may have grown with each `hold`. */
  bytes(): Uint8Array;
}

/** Undefined where regions of another size are in the memory. */
export function openBlockMemory(shared: BlockMemory, seat: number, regionBytes: number): OpenBlockMemory | undefined {
  const numbers = new Int32Array(shared.ledger);
  const first = Atomics.compareExchange(numbers, places.regionBytes, 0, regionBytes);
  if (first !== 0 && first !== regionBytes) return undefined;
  const capacity = Math.max(1, Math.min(mostRegions, Math.floor(shared.limitBytes / regionBytes)));
  const regionAt = (region: number): number => seats * seatBytes + region * regionBytes;
  const entryOf = (region: number): number => places.entries + region * entryNumbers;
  /** Where blocks were when it was looked. */
  const known = new Map<number, number>();
  let seenLoads = -1;
  /** Where something else stood under the name that was looked for last. */
  let outdated: number | undefined;
  let now = 0;
  let view = new Uint8Array(shared.memory.buffer);

  /** True where the region holds the block, and nobody takes it away before `release`. */
  function holds(region: number, { block, sum }: BlockName): boolean {
    const entry = entryOf(region);
    // First it is said that it is read, then looked what it is: who takes it does both the other way round.
    Atomics.store(numbers, places.held + seat, region + 1);
    const state = Atomics.load(numbers, entry);
    if (
      (state === states.ready || state === states.begun) &&
      Atomics.load(numbers, entry + 1) === block &&
      Atomics.load(numbers, entry + 2) === sum
    ) {
      Atomics.store(numbers, entry + 3, now);
      return true;
    }
    release();
    return false;
  }

  function find(name: BlockName): number | undefined {
    outdated = undefined;
    const loads = Atomics.load(numbers, places.loads);
    if (!known.has(name.block) && loads !== seenLoads) {
      seenLoads = loads;
      for (let region = 0; region < Atomics.load(numbers, places.regions); region++)
        known.set(Atomics.load(numbers, entryOf(region) + 1), region);
    }
    const region = known.get(name.block);
    if (region === undefined) return undefined;
    if (holds(region, name)) return region;
    known.delete(name.block);
    outdated = region;
    return undefined;
  }

  function release(): void {
    Atomics.store(numbers, places.held + seat, 0);
  }

  function heldRegion(): number {
    return Atomics.load(numbers, places.held + seat) - 1;
  }

  function isRead(region: number): boolean {
    for (let other = 0; other < seats; other++)
      if (Atomics.load(numbers, places.held + other) === region + 1) return true;
    return false;
  }

  /** A region that nobody else has or reads, marked as being loaded. Called with the lock. */
  function take(): number | undefined {
    const used = Atomics.load(numbers, places.regions);
    // What was laid out anew has the numbers of what it replaces.
    if (outdated !== undefined && isTaken(outdated)) return outdated;
    if (used < capacity && grow(regionAt(used + 1))) {
      Atomics.store(numbers, entryOf(used), states.loading + seat);
      Atomics.store(numbers, places.regions, used + 1);
      return used;
    }
    for (const region of byUse(used)) if (isTaken(region)) return region;
    return undefined;
  }

  /** Takes a region that nobody reads or fills. */
  function isTaken(region: number): boolean {
    const state = Atomics.load(numbers, entryOf(region));
    if (state >= states.loading) return false;
    Atomics.store(numbers, entryOf(region), states.loading + seat);
    if (!isRead(region)) return true;
    Atomics.store(numbers, entryOf(region), state);
    return false;
  }

  /** The one that was used longest ago first; of the others only as many as are asked for are put into order. */
  function* byUse(used: number): Generator<number> {
    let oldest = 0;
    for (let region = 1; region < used; region++)
      if (Atomics.load(numbers, entryOf(region) + 3) < Atomics.load(numbers, entryOf(oldest) + 3)) oldest = region;
    if (used > 0) yield oldest;
    for (let region = 0; region < used; region++) if (region !== oldest) yield region;
  }

  /** False where the host gives no more memory. */
  function grow(bytes: number): boolean {
    const missing = Math.ceil((bytes - shared.memory.buffer.byteLength) / pageBytes);
    if (missing <= 0) return true;
    for (const pages of [Math.max(missing, growPages), missing]) {
      try {
        shared.memory.grow(pages);
        return true;
      } catch {
        // It is at its end, or the host is: a smaller step may do.
      }
    }
    return false;
  }

  return {
    own: { at: seat * seatBytes, bytes: seatBytes },
    begin() {
      now = Atomics.add(numbers, places.clock, 1) + 1;
    },
    hold(name, fill) {
      const found = find(name);
      if (found !== undefined) return regionAt(found);
      if (!lock(numbers, seat)) return undefined;
      let region: number | undefined;
      try {
        region = take();
      } finally {
        Atomics.compareExchange(numbers, places.lock, seat + 1, 0);
      }
      if (region === undefined) return undefined;
      const entry = entryOf(region);
      let isAll: boolean | undefined;
      try {
        isAll = fill(regionAt(region));
      } finally {
        if (isAll === undefined) Atomics.store(numbers, entry, states.empty);
      }
      Atomics.store(numbers, entry + 1, name.block);
      Atomics.store(numbers, entry + 2, name.sum);
      Atomics.store(numbers, entry + 3, now);
      Atomics.store(numbers, places.held + seat, region + 1);
      Atomics.store(numbers, entry, isAll ? states.ready : states.begun);
      if (Atomics.add(numbers, places.loads, 1) === seenLoads) seenLoads++;
      known.set(name.block, region);
      return regionAt(region);
    },
    isWhole: () => Atomics.load(numbers, entryOf(heldRegion())) === states.ready,
    complete(fill) {
      const region = heldRegion();
      fill(regionAt(region));
      Atomics.compareExchange(numbers, entryOf(region), states.begun, states.ready);
    },
    release,
    bytes() {
      if (view.byteLength !== shared.memory.buffer.byteLength) view = new Uint8Array(shared.memory.buffer);
      return view;
    },
  };
}

/** False where another thread has it for longer than any change takes. */
function lock(numbers: Int32Array, seat: number): boolean {
  const until = Date.now() + lockWaitMs;
  while (Atomics.compareExchange(numbers, places.lock, 0, seat + 1) !== 0) {
    if (Date.now() > until) return false;
    Atomics.wait(numbers, places.lock, Atomics.load(numbers, places.lock), lockPauseMs);
  }
  return true;
}
