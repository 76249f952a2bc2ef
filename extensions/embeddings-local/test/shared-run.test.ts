import { describe, expect, test } from "vitest";
import { createSharedRun } from "../src/shared-run.ts";
import data from "./data/shared-run.json" with { type: "json" };

describe("work that many ask for", () => {
  function lab() {
    const runs: { resolve: () => void; reject: (error: unknown) => void; signal: AbortSignal }[] = [];
    let tell: (completed: number) => void = () => {};
    const ask = createSharedRun(({ signal, progress }) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      tell = (completed) => progress({ completed, total: 9 });
      runs.push({ resolve, reject, signal });
      return promise;
    });
    return { runs, ask, tell: (completed: number) => tell(completed) };
  }

  test("is done once, and whoever joins is told how far it is", async () => {
    const { runs, ask, tell } = lab();
    const seen: number[][] = [[], []];
    const callers = seen.map((list) => ({
      progress: ({ completed }: { completed: number }) => void list.push(completed),
    }));
    const first = ask({ ...callers[0] });
    tell(3);
    const second = ask({ ...callers[1] });
    tell(5);
    runs[0]?.resolve();
    await Promise.all([first, second]);
    expect(seen).toEqual(data.onceForAll);
    expect(runs.length).toBe(1);
  });

  test("goes on while one caller is left, and is aborted when all have left", async () => {
    const { runs, ask } = lab();
    const controllers = [new AbortController(), new AbortController()];
    const calls = controllers.map(({ signal }) => ask({ signal }));
    controllers[0]?.abort();
    await expect(calls[0]).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
    expect(runs[0]?.signal.aborted).toBe(false);
    controllers[1]?.abort();
    await expect(calls[1]).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
    expect(runs[0]?.signal.aborted).toBe(true);
    // The next caller does not join what is being given up.
    const next = ask({});
    expect(runs.length).toBe(2);
    runs[0]?.reject(new Error("given up"));
    runs[1]?.resolve();
    await next;
  });

  test("that has failed is begun anew", async () => {
    const { runs, ask } = lab();
    const first = ask({});
    runs[0]?.reject(new Error("no network"));
    await expect(first).rejects.toThrow("no network");
    const second = ask({});
    runs[1]?.resolve();
    await second;
  });

  test("is not begun for a caller that was aborted before", async () => {
    const { runs, ask } = lab();
    await expect(ask({ signal: AbortSignal.abort() })).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
    expect(runs.length).toBe(0);
  });
});
