import { type SharedMemory, webAssembly } from "../kernel/web-assembly.ts";

/** What threads of one process share: plain data, to be handed to each of them. */
export interface BlockMemory {
  memory: SharedMemory;
  /** Who holds what, as `open-block-memory.ts` reads it. */
  ledger: SharedArrayBuffer;
  /** Bytes of blocks at most. */
  limitBytes: number;
}

/** A thread's own place in the memory, and what it may write there: `[seat × seatBytes, (seat + 1) × seatBytes)`. */
export const seatBytes = 65_536;
/** Threads that can share one memory. */
export const seats = 16;
/** Regions at most. One holds a block. */
export const mostRegions = 16_384;

/** Places of whole numbers in the ledger. */
export const places: Record<"lock" | "regionBytes" | "regions" | "loads" | "clock" | "held" | "entries", number> = {
  /** The seat that is changing the ledger, plus one; 0 where nobody is. */
  lock: 0,
  /** Bytes of a region; 0 until the first is needed. */
  regionBytes: 1,
  /** Regions that were ever used. */
  regions: 2,
  /** Goes up with each block that is put in. */
  loads: 3,
  /** Goes up with each search. */
  clock: 4,
  /** For each seat the region that it is reading, plus one; 0 where it reads none. */
  held: 5,
  /** For each region: state, block, checksum of what is in it, when it was used. */
  entries: 5 + seats,
};
export const entryNumbers = 4;
/** States of a region. `begun`: the first part of a block is there. `loading` has the seat added. */
export const states = { empty: 0, ready: 1, begun: 2, loading: 3 } as const;

const pageBytes = 65_536;
const mostPages = 65_536;
/** One region always fits, however small the limit is. */
const spareBytes = 8 * 1024 * 1024;

/** Reserves addresses; nothing is used until blocks are put in. Throws what the host throws where it cannot. */
export function createBlockMemory(limitBytes: number): BlockMemory {
  const { Memory } = webAssembly();
  const ownPages = (seats * seatBytes) / pageBytes;
  const maximum = Math.min(mostPages, ownPages + Math.ceil((limitBytes + spareBytes) / pageBytes));
  return {
    memory: new Memory({ initial: ownPages, maximum, shared: true }),
    ledger: new SharedArrayBuffer((places.entries + mostRegions * entryNumbers) * Int32Array.BYTES_PER_ELEMENT),
    limitBytes: Math.min(limitBytes, (maximum - ownPages) * pageBytes),
  };
}

/** Takes back what a thread held that has ended, however it ended. */
export function leaveSeat({ ledger }: BlockMemory, seat: number): void {
  const numbers = new Int32Array(ledger);
  Atomics.store(numbers, places.held + seat, 0);
  for (let region = 0; region < Atomics.load(numbers, places.regions); region++)
    Atomics.compareExchange(numbers, places.entries + region * entryNumbers, states.loading + seat, states.empty);
  Atomics.compareExchange(numbers, places.lock, seat + 1, 0);
}
