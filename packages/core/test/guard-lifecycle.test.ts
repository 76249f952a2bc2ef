import { afterEach, describe, expect, test, vi } from "vitest";
import { type Memory, type MemorySearchManager, type MemorySearchResult, createMemory, isAbort } from "@memslot/core";
import { fakeManager, gate, guarded, hang, result, settle, settings } from "./support/fakes.ts";

const short = { searchMs: 20, readFileMs: 20, probeMs: 20, syncIdleMs: 20, upkeepMs: 20, closeMs: 20 };

const calls: [string, (memory: Memory, signal?: AbortSignal) => Promise<unknown>][] = [
  ["search", (memory, signal) => memory.search("q", { signal })],
  ["readFile", (memory, signal) => memory.readFile({ relPath: "a.md", signal })],
  ["sync", (memory, signal) => memory.sync({ signal })],
  ["check", (memory, signal) => memory.check({ signal })],
  ["compact", (memory, signal) => memory.compact({ signal })],
  ["details", (memory, signal) => memory.details({ signal })],
  ["releaseQuarantine", (memory, signal) => memory.releaseQuarantine({ signal })],
  ["probeEmbeddingAvailability", (memory, signal) => memory.probeEmbeddingAvailability({ signal })],
  ["probeVectorAvailability", (memory, signal) => memory.probeVectorAvailability({ signal })],
];

/** A manager that never answers and listens to no signal, and the signals that it was given. */
function deaf(): { own: Partial<MemorySearchManager>; signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const never = async ({ signal }: { signal: AbortSignal }): Promise<never> => {
    signals.push(signal);
    return hang();
  };
  const own: Partial<MemorySearchManager> = {
    search: (_query, options) => never(options),
    readFile: never,
    sync: never,
    check: never,
    compact: never,
    details: never,
    releaseQuarantine: never,
    probeEmbeddingAvailability: (signal) => never({ signal }),
    probeVectorAvailability: (signal) => never({ signal }),
  };
  return { own, signals };
}

describe("a deadline", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test.each(calls)("makes a %s that hangs UNAVAILABLE and aborts its signal", async (name, call) => {
    const { own, signals } = deaf();
    const error = await call(guarded(own, { deadlines: short })).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining(`${name} gave no answer within 0.02 s`),
    });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test.each([
    ["search", 30_000, calls[0]?.[1]],
    ["readFile", 10_000, calls[1]?.[1]],
    ["check", 600_000, calls[3]?.[1]],
    ["compact", 600_000, calls[4]?.[1]],
    ["probeEmbeddingAvailability", 60_000, calls[7]?.[1]],
    ["probeVectorAvailability", 60_000, calls[8]?.[1]],
  ])("of %s is %i ms unless told otherwise", async (_name, deadlineMs, call) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const outcome = call?.(guarded(deaf().own)).catch((error: unknown) => error);
    await settle();
    await vi.advanceTimersByTimeAsync(deadlineMs - 1);
    expect(await Promise.race([outcome, settle().then(() => "running")])).toBe("running");
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({ code: "UNAVAILABLE" });
  });

  test("does not hold a call that ends in time", async () => {
    await expect(guarded({}, { deadlines: { searchMs: 20 } }).search("q")).resolves.toEqual([]);
  });

  test("that passed tells what a person can do", async () => {
    const search = guarded(deaf().own, { deadlines: short }).search("q");
    await expect(search).rejects.toThrow("; run `memslot memory status --deep`");
  });

  test("that passed leaves the memory open for the next call", async () => {
    let turn = 0;
    const search = async (): Promise<MemorySearchResult[]> => {
      turn += 1;
      return turn === 1 ? hang() : [result()];
    };
    const memory = guarded({ search }, { deadlines: short });
    await expect(memory.search("q")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(memory.search("q")).resolves.toHaveLength(1);
  });
});

describe("an abort", () => {
  test.each(calls)("before a %s is an AbortError, and the manager is not asked", async (_name, call) => {
    const { own, signals } = deaf();
    const error = await call(guarded(own), AbortSignal.abort()).catch((caught: unknown) => caught);
    expect(isAbort(error)).toBe(true);
    expect(signals).toEqual([]);
  });

  test.each(calls)(
    "during a %s is an AbortError at once, also when the manager does not listen",
    async (_name, call) => {
      const { own, signals } = deaf();
      const controller = new AbortController();
      const running = call(guarded(own), controller.signal).catch((caught: unknown) => caught);
      await settle();
      controller.abort();
      expect(isAbort(await running)).toBe(true);
      expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    },
  );

  test("with another reason is an AbortError too, with the reason as its cause", async () => {
    const controller = new AbortController();
    const running = guarded(deaf().own).search("q", { signal: controller.signal });
    const reason = new Error("changed my mind");
    controller.abort(reason);
    await expect(running).rejects.toMatchObject({ name: "AbortError", cause: reason });
  });

  test("of a blank query is an AbortError too", async () => {
    const error = await guarded()
      .search(" ", { signal: AbortSignal.abort() })
      .catch((caught: unknown) => caught);
    expect(isAbort(error)).toBe(true);
  });

  test("after the answer changes nothing", async () => {
    const controller = new AbortController();
    const memory = guarded({ search: async () => [result()] });
    await expect(memory.search("q", { signal: controller.signal })).resolves.toHaveLength(1);
    controller.abort();
    await expect(memory.search("q")).resolves.toHaveLength(1);
  });

  test("gives no search report", async () => {
    const controller = new AbortController();
    const reports: unknown[] = [];
    const running = guarded(deaf().own).search("q", {
      signal: controller.signal,
      onDebug: (given) => reports.push(given),
    });
    controller.abort();
    await expect(running).rejects.toThrow("aborted");
    expect(reports).toEqual([]);
  });
});

describe("a closed memory", () => {
  test.each(calls)("refuses %s with CLOSED", async (_name, call) => {
    const memory = guarded();
    await memory.close();
    await expect(call(memory)).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("says CLOSED also for a blank query, wrong arguments and an aborted signal", async () => {
    const memory = guarded();
    await memory.close();
    await expect(memory.search("")).rejects.toMatchObject({ code: "CLOSED" });
    await expect(memory.search(5 as never)).rejects.toMatchObject({ code: "CLOSED" });
    await expect(memory.sync({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("still gives the status that was known when it was closed", async () => {
    const manager = fakeManager({
      status: () => ({ backend: "fake", provider: "none", files: manager.closed === 0 ? 3 : 0 }),
    });
    const memory = createMemory(manager, {
      agentId: "main",
      workspaceDir: "/notes",
      backend: "fake",
      settings: settings(),
    });
    await memory.close();
    expect(memory.status().files).toBe(3);
  });

  test("closes its manager once, however often and from wherever it is closed", async () => {
    const manager = fakeManager();
    let freed = 0;
    const onClose = async (): Promise<void> => {
      freed += 1;
    };
    const memory = createMemory(manager, {
      agentId: "main",
      workspaceDir: "/notes",
      backend: "fake",
      settings: settings(),
      onClose,
    });
    await Promise.all([memory.close(), memory.close()]);
    await memory.close();
    expect([manager.closed, freed]).toEqual([1, 1]);
  });

  test("has a manager without close", async () => {
    await expect(guarded({ close: undefined as never }).close()).resolves.toBeUndefined();
  });

  test.each(calls)("ends a running %s with CLOSED and aborts its signal", async (_name, call) => {
    const { own, signals } = deaf();
    const memory = guarded(own, { deadlines: { closeMs: 20 } });
    const running = call(memory).catch((caught: unknown) => caught);
    await settle();
    await memory.close();
    expect(await running).toMatchObject({ code: "CLOSED" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("waits for the running calls to end before it closes the manager", async () => {
    const events: string[] = [];
    const ending = gate();
    const memory = guarded({
      search: async (_query, { signal }) => {
        signal.addEventListener("abort", () => events.push("aborted"));
        await ending.opened;
        events.push("ended");
        return [];
      },
      close: async () => {
        events.push("closed");
      },
    });
    const running = memory.search("q").catch(() => undefined);
    await settle();
    const closing = memory.close();
    await running;
    await settle();
    expect(events).toEqual(["aborted"]);
    ending.open();
    await closing;
    expect(events).toEqual(["aborted", "ended", "closed"]);
  });

  test("does not wait for ever for a call that does not end", async () => {
    const manager = fakeManager({ search: hang });
    const memory = createMemory(manager, {
      agentId: "main",
      workspaceDir: "/notes",
      backend: "fake",
      settings: settings(),
      deadlines: { closeMs: 20 },
    });
    const running = memory.search("q").catch(() => undefined);
    await memory.close();
    await running;
    expect(manager.closed).toBe(1);
  });

  test("says UNAVAILABLE when its manager does not close, and frees the rest", async () => {
    let freed = 0;
    const onClose = async (): Promise<void> => {
      freed += 1;
    };
    const memory = guarded({ close: hang }, { deadlines: { closeMs: 20 }, onClose });
    await expect(memory.close()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(freed).toBe(1);
  });

  test("gives the error of a manager that fails to close, each time, and frees the rest", async () => {
    let freed = 0;
    const onClose = async (): Promise<void> => {
      freed += 1;
    };
    const memory = guarded({ close: async () => Promise.reject(new Error("disk gone")) }, { onClose });
    await expect(memory.close()).rejects.toThrow("disk gone");
    await expect(memory.close()).rejects.toThrow("disk gone");
    expect(freed).toBe(1);
  });
});
