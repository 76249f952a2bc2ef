import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createProgressTeller } from "./tell-progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const total = 2000;

test("of 2,000 files at once others are told of the first, and half a second later of the last", async () => {
  const told: number[] = [];
  const tell = createProgressTeller(async ({ completed }) => void told.push(completed));
  for (let completed = 1; completed <= total; completed++) {
    tell({ completed, total });
    await Promise.resolve();
  }
  expect(told).toEqual([1]);
  await vi.advanceTimersByTimeAsync(499);
  expect(told).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toEqual([1, total]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual([1, total]);
  expect(vi.getTimerCount()).toBe(0);
  // Work that begins later is told at once again.
  tell({ completed: 7, total });
  expect(told).toEqual([1, total, 7]);
});

test("one message is on its way at a time, and one that fails is not the last", async () => {
  const told: number[] = [];
  let arrive: () => void = () => {};
  const tell = createProgressTeller(async ({ completed }) => {
    told.push(completed);
    await new Promise<void>((resolve) => (arrive = resolve));
    throw new Error("the index does not answer");
  });
  tell({ completed: 1, total });
  tell({ completed: 2, total });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual([1]);
  arrive();
  await vi.advanceTimersByTimeAsync(500);
  expect(told).toEqual([1, 2]);
});
