import { expect, test } from "vitest";
import { usualMemoryMB } from "../engines/vector-settings.ts";
import { createBlockMemory, entryNumbers, leaveSeat, places, seats, states } from "./block-memory.ts";
import { openBlockMemory, type OpenBlockMemory } from "./open-block-memory.ts";
import { takeSeat } from "./shared-memories.ts";
import { fileOf, open, spaceOf, tempPath, vectorOf } from "../../test/stores.ts";

const mebibyte = 1024 * 1024;
const regionBytes = mebibyte / 4;

function opened(memory: ReturnType<typeof createBlockMemory>, seat: number): OpenBlockMemory {
  return openBlockMemory(memory, seat, regionBytes) ?? expect.fail("regions of another size");
}

/** Asks for a block; its number is written where it is. Gives whether it had to be read. */
function read(blocks: OpenBlockMemory, block: number, sum = block): boolean {
  let isRead = false;
  const at = blocks.hold({ block, sum }, (place) => {
    isRead = true;
    blocks.bytes()[place] = block + sum;
    return true;
  });
  expect(blocks.bytes()[at ?? expect.fail("no room")]).toBe(block + sum);
  return isRead;
}

test("a block is read once for all threads, and the one that was used longest ago gives way within the limit", () => {
  const memory = createBlockMemory(mebibyte);
  const [one, two] = [opened(memory, 0), opened(memory, 1)];
  const ask = (blocks: OpenBlockMemory, ...numbers: number[]): boolean[] => {
    blocks.begin();
    const found = numbers.map((block) => read(blocks, block));
    blocks.release();
    return found;
  };
  expect(ask(one, 1, 2, 3, 4)).toEqual([true, true, true, true]);
  expect(ask(two, 1, 2, 3, 4)).toEqual([false, false, false, false]);
  ask(one, 1, 2, 4);
  // 3 gives way to 5, and is read again in place of 1 or 2 or 4, none of which was used since.
  expect(ask(two, 5)).toEqual([true]);
  expect(ask(two, 1, 2, 4, 5)).toEqual([false, false, false, false]);
  expect(ask(one, 3)).toEqual([true]);
  const numbers = new Int32Array(memory.ledger);
  expect(numbers[places.regions]).toBe(4);
  expect(openBlockMemory(memory, 2, regionBytes * 2)).toBeUndefined();
});

test("another block under the same number is read anew, in the same place", () => {
  const memory = createBlockMemory(mebibyte);
  const blocks = opened(memory, 0);
  expect([read(blocks, 1, 7), read(blocks, 1, 7), read(blocks, 1, 8)]).toEqual([true, false, true]);
  blocks.release();
  expect(new Int32Array(memory.ledger)[places.regions]).toBe(1);
});

test("what a thread reads is not taken from it, and what one held that has ended is free again", () => {
  const memory = createBlockMemory(1);
  const [one, two] = [opened(memory, 0), opened(memory, 1)];
  read(one, 1);
  expect(two.hold({ block: 2, sum: 2 }, () => true)).toBeUndefined();
  leaveSeat(memory, 0);
  expect(read(two, 2)).toBe(true);
  two.release();
  const numbers = new Int32Array(memory.ledger);
  Atomics.store(numbers, places.entries, states.loading + 5);
  Atomics.store(numbers, places.lock, 6);
  leaveSeat(memory, 5);
  expect([numbers[places.entries], numbers[places.lock]]).toEqual([states.empty, 0]);
  expect(entryNumbers).toBe(4);
});

test("of a block that is begun the rest is written once for all threads, and what fails leaves it begun", () => {
  const memory = createBlockMemory(mebibyte);
  const [one, two] = [opened(memory, 0), opened(memory, 1)];
  const name = { block: 1, sum: 1 };
  for (const blocks of [one, two]) expect(blocks.hold(name, () => false)).toBeDefined();
  expect([one.isWhole(), two.isWhole()]).toEqual([false, false]);
  const fail = (): never => {
    throw new Error("unreadable");
  };
  expect(() => two.complete(fail)).toThrow("unreadable");
  expect(two.isWhole()).toBe(false);
  const written: number[] = [];
  two.complete((at) => written.push(at));
  expect([one.isWhole(), two.isWhole(), written.length]).toEqual([true, true, 1]);
  // Neither is it taken while it is read, begun or whole.
  const full = createBlockMemory(1);
  const [reader, other] = [opened(full, 0), opened(full, 1)];
  reader.hold(name, () => false);
  expect(other.hold({ block: 2, sum: 2 }, () => true)).toBeUndefined();
  reader.release();
  expect(other.hold({ block: 2, sum: 2 }, () => false)).toBeDefined();
  expect([other.isWhole(), reader.hold(name, () => true)]).toEqual([false, undefined]);
});

test("a block that cannot be read leaves its place free", () => {
  const blocks = opened(createBlockMemory(1), 0);
  const fail = (): never => {
    throw new Error("unreadable");
  };
  expect(() => blocks.hold({ block: 1, sum: 1 }, fail)).toThrow("unreadable");
  expect(read(blocks, 1)).toBe(true);
});

test("two connections of a process to one index keep its blocks once, and the memory goes with the last of them", async () => {
  const path = await tempPath();
  const space = spaceOf("m", 16);
  const file = fileOf(
    "a.md",
    Array.from({ length: 600 }, (_, index) => `text ${index}`),
  );
  const one = await open(path);
  await one.replaceFiles([file]);
  await one.useSpace(space);
  await one.putVectors(
    space,
    file.chunks.map(({ hash, text }) => ({ hash, vector: vectorOf(text, 16) })),
  );
  const two = await open(path);
  await two.useSpace(space);
  const query = { space, vector: vectorOf("text 9", 16), sources: ["memory"], limit: 3 };
  const answers = [await one.searchVector(query), await two.searchVector(query), await two.searchVector(query)];
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
  const seat = takeSeat(path, usualMemoryMB) ?? expect.fail("no seat");
  expect(seat.seat).toBe(2);
  const numbers = new Int32Array(seat.memory.ledger);
  expect([numbers[places.regions], numbers[places.loads]]).toEqual([2, 2]);
  for (const store of [one, two]) await store.close();
  seat.leave();
  const fresh = takeSeat(path, usualMemoryMB) ?? expect.fail("no seat");
  expect([fresh.seat, new Int32Array(fresh.memory.ledger)[places.regions]]).toEqual([0, 0]);
  fresh.leave();
  expect(seats).toBe(16);
});
