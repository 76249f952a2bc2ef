import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBurst } from "./triggers.ts";

let log: string[];
beforeEach(() => {
  log = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

function burstOf(quietMs: number, ceilingMs = quietMs * 10): ReturnType<typeof createBurst> {
  const note = (what: string): void => void log.push(`${what} ${performance.now() - start}`);
  const start = performance.now();
  return createBurst({ quietMs, ceilingMs, began: () => note("began"), ended: () => note("ended") });
}

test("begins at once and ends after the quiet", () => {
  const burst = burstOf(100);
  burst.touch();
  vi.advanceTimersByTime(60);
  burst.touch();
  burst.touch();
  vi.advanceTimersByTime(99);
  expect(log).toEqual(["began 0"]);
  vi.advanceTimersByTime(1000);
  expect(log).toEqual(["began 0", "ended 160"]);
  burst.touch();
  vi.advanceTimersByTime(1000);
  expect(log.slice(2)).toEqual(["began 1159", "ended 1259"]);
});

test("that never ends is cut at the ceiling, again and again", () => {
  const burst = burstOf(100, 1000);
  for (let at = 0; at < 2500; at += 10) {
    burst.touch();
    vi.advanceTimersByTime(10);
  }
  const ends = log.filter((line) => line.startsWith("ended")).map((line) => Number(line.split(" ")[1]));
  expect(ends).toHaveLength(2);
  expect(ends[0]).toBeLessThanOrEqual(1000);
  expect(ends[0]).toBeGreaterThan(800);
});

test("cancelled, it does not end", () => {
  const burst = burstOf(100);
  burst.touch();
  burst.cancel();
  vi.advanceTimersByTime(10_000);
  expect(log).toEqual(["began 0"]);
});
