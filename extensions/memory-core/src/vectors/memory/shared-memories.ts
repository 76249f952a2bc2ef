import { type BlockMemory, createBlockMemory, leaveSeat, seats } from "./block-memory.ts";

/** A thread's place in a memory that it shares with the other threads of this process that have the same index open. */
export interface Seat {
  memory: BlockMemory;
  seat: number;
  /** The thread has ended. The memory goes with the last one. */
  leave(): void;
}

const mebibyte = 1024 * 1024;

/**
 * By index and limit. It lasts as long as somebody has a seat: connections that know nothing of each other can share
 * something only where the process keeps it.
 */
const memories = new Map<string, { memory: BlockMemory; taken: Set<number> }>();

/** Undefined where every seat is taken, or the host has no such memory: then the thread has one of its own. */
export function takeSeat(path: string, memoryMB: number): Seat | undefined {
  const key = `${memoryMB} ${path}`;
  const shared = memories.get(key) ?? make(memoryMB);
  const seat = Array.from({ length: seats }, (_, index) => index).find((index) => !shared?.taken.has(index));
  if (shared === undefined || seat === undefined) return undefined;
  memories.set(key, shared);
  shared.taken.add(seat);
  return {
    memory: shared.memory,
    seat,
    leave() {
      leaveSeat(shared.memory, seat);
      shared.taken.delete(seat);
      if (shared.taken.size === 0 && memories.get(key) === shared) memories.delete(key);
    },
  };
}

function make(memoryMB: number): { memory: BlockMemory; taken: Set<number> } | undefined {
  try {
    return { memory: createBlockMemory(memoryMB * mebibyte), taken: new Set() };
  } catch {
    // The thread finds out why, and says so.
    return undefined;
  }
}
