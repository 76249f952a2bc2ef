import { afterEach, describe, expect, test, vi } from "vitest";
import { type Memory, MemoryError, type MemoryPoolOptions, createMemoryPool, isAbort } from "@memslot/core";
import { gate, rejected, settle } from "./support/fakes.ts";

interface Opened {
  key: string;
  isOpen: boolean;
}

/** A pool of memories that only count. `whoAmI` gives the key that the memory was opened for. */
function poolOf(own: Partial<MemoryPoolOptions> = {}, closing: Promise<void> = Promise.resolve()) {
  const opened: Opened[] = [];
  const pool = createMemoryPool({
    open: (key) => {
      const one: Opened = { key, isOpen: true };
      opened.push(one);
      const close = async (): Promise<void> => {
        one.isOpen = false;
        await closing;
      };
      return Promise.resolve({ search: () => Promise.resolve([key]), close } as unknown as Memory);
    },
    ...own,
  });
  const open = (): string[] => opened.filter(({ isOpen }) => isOpen).map(({ key }) => key);
  const ask = (key: string): Promise<unknown> => pool.use(key, (memory) => memory.search("q"));
  return { pool, opened, open, ask };
}

afterEach(() => vi.useRealTimers());

describe("a pool of memories", () => {
  test("opens each memory once for concurrent calls of its key", async () => {
    const { ask, opened } = poolOf();
    await expect(Promise.all(["a", "b", "a", "a"].map(ask))).resolves.toEqual([["a"], ["b"], ["a"], ["a"]]);
    expect(opened.map(({ key }) => key)).toEqual(["a", "b"]);
  });

  test("never has more than max open: the least recently used one goes, and none that is in use", async () => {
    const { ask, open, pool } = poolOf({ max: 2 });
    for (const key of ["a", "b", "a", "c"]) await ask(key);
    expect(open()).toEqual(["a", "c"]);
    const busy = gate();
    const using = pool.use("a", () => busy.opened);
    await ask("d");
    expect(open()).toEqual(["a", "d"]);
    busy.open();
    await using;
  });

  test("closes one memory for one that needs its place, also while others come back", async () => {
    const [busy, closing] = [gate(), gate()];
    const { ask, open, pool } = poolOf({ max: 3 }, closing.opened);
    await ask("b");
    await ask("c");
    const using = pool.use("a", () => busy.opened);
    const waiting = ask("d");
    await settle();
    busy.open();
    await using;
    await settle();
    expect(open()).toEqual(["c", "a"]);
    closing.open();
    await waiting;
    expect(open()).toEqual(["c", "a", "d"]);
  });

  test("gives the next free place to the call that has waited longest; an aborted call leaves the line", async () => {
    const { pool } = poolOf({ max: 1 });
    const busy = gate();
    const using = pool.use("a", () => busy.opened);
    await settle();
    const order: string[] = [];
    const stop = new AbortController();
    const wait = (key: string, signal?: AbortSignal): Promise<number> =>
      pool.use(key, () => Promise.resolve(order.push(key)), { signal });
    const [b, c, d] = [wait("b"), wait("c", stop.signal), wait("d")];
    await settle();
    stop.abort();
    expect(isAbort(await rejected(c))).toBe(true);
    busy.open();
    await Promise.all([using, b, d]);
    expect(order).toEqual(["b", "d"]);
  });

  test("says that it is full after waitMs, and goes on then", async () => {
    const { ask, pool } = poolOf({ max: 1, waitMs: 5 });
    const busy = gate();
    const using = pool.use("a", () => busy.opened);
    await expect(ask("b")).rejects.toThrow(
      "the memory pool did not answer within 0.005 s; all of its 1 memories are in use",
    );
    busy.open();
    await using;
    await expect(ask("b")).resolves.toEqual(["b"]);
  });

  test("closes a memory that was not used for idleMs, and opens it again for the next call", async () => {
    vi.useFakeTimers();
    const { ask, open, opened } = poolOf({ idleMs: 1000 });
    await ask("a");
    await vi.advanceTimersByTimeAsync(900);
    await ask("a");
    await vi.advanceTimersByTimeAsync(900);
    expect(open()).toEqual(["a"]);
    await vi.advanceTimersByTimeAsync(200);
    expect(open()).toEqual([]);
    await ask("a");
    expect(opened).toHaveLength(2);
  });

  test("opens a memory again after a failed open, and after its thread has stopped", async () => {
    let failures = 1;
    const memory = { close: () => Promise.resolve() } as Memory;
    const open = vi.fn<() => Promise<Memory>>(() =>
      failures-- > 0 ? Promise.reject(new Error("no disk")) : Promise.resolve(memory),
    );
    const pool = createMemoryPool({ open });
    await expect(pool.use("a", () => Promise.resolve())).rejects.toThrow("no disk");
    expect(pool.size).toBe(0);
    await expect(pool.use("a", () => Promise.reject(new MemoryError("UNAVAILABLE", "stopped")))).rejects.toThrow(
      "stopped",
    );
    await pool.use("a", () => Promise.resolve());
    await expect(pool.use("a", () => Promise.reject(new Error("of the caller")))).rejects.toThrow("of the caller");
    await pool.use("a", () => Promise.resolve());
    expect(open).toHaveBeenCalledTimes(3);
  });

  test("closes after the last user, refuses new calls, and tells of a memory that does not close", async () => {
    const lines: string[] = [];
    const close = (): Promise<void> => Promise.reject(new Error("busy"));
    const pool = createMemoryPool({
      open: () => Promise.resolve({ close } as Memory),
      notify: (line) => void lines.push(line),
    });
    const busy = gate();
    const using = pool.use("a", () => busy.opened);
    await settle();
    const closing = pool.close();
    await expect(pool.use("b", () => Promise.resolve())).rejects.toMatchObject({ code: "CLOSED" });
    expect(pool.size).toBe(1);
    busy.open();
    await Promise.all([using, closing]);
    expect([pool.size, lines]).toEqual([0, ["the memory of a was not closed: busy"]]);
  });

  test.each([
    [{ max: 0 }, "max must be a whole number from 1 to 1000000, not 0"],
    [{ idleMs: -1 }, "idleMs must be a number from 0 to 2147483647, not -1"],
    [{ open: 1 as never }, "open must be a function, not 1"],
  ])("refuses %o", (options, message) => {
    expect(() => poolOf(options)).toThrow(message);
  });
});
