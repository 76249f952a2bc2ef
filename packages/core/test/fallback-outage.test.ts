import { describe, expect, test } from "vitest";
import {
  type BreakerClock,
  type FallbackOptions,
  type FallbackPrimary,
  type ManagerSearchOptions,
  type ManagerSyncParams,
  MemoryError,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchReport,
  isAbort,
  withFallback,
} from "@memslot/core";
import { type FakeManager, fakeManager, gate, hang, report, result, settle } from "./support/fakes.ts";

/** Noon, and a clock that moves when it is told to. */
function handClock(): BreakerClock & { pass: (ms: number) => void } {
  let ms = 0;
  return {
    monotonicMs: () => ms,
    wallMs: () => Date.parse("2026-01-01T12:00:00Z") + ms,
    pass: (by) => void (ms += by),
  };
}

/** A manager that finds one note, with a report of its own. */
function finding(name: string, own: Partial<MemorySearchManager> = {}): FakeManager {
  return fakeManager({
    search: async (_query, { onDebug }) => {
      onDebug(report({ backend: name }));
      return [result({ path: `${name}.md` })];
    },
    status: () => ({ backend: name, provider: "none" }),
    ...own,
  });
}

const unavailable = (reason: string) => async (): Promise<never> =>
  Promise.reject(new MemoryError("UNAVAILABLE", reason));

function syncParams(): ManagerSyncParams {
  return { reason: "cli", force: false, wait: true, progress: () => {}, signal: new AbortController().signal };
}

interface Asked {
  results: MemorySearchResult[];
  report: SearchReport | undefined;
}

async function ask(manager: MemorySearchManager, own: Partial<ManagerSearchOptions> = {}): Promise<Asked> {
  const reports: SearchReport[] = [];
  const results = await manager.search("q", {
    maxResults: 6,
    maxTokens: 1000,
    minScore: 0,
    strict: false,
    sources: ["memory"],
    sessionKey: undefined,
    audience: "private",
    signal: new AbortController().signal,
    onDebug: (given) => reports.push(given),
    ...own,
  });
  expect(reports.length).toBeLessThanOrEqual(1);
  return { results, report: reports[0] };
}

function behind(
  primary: FallbackPrimary,
  options: FallbackOptions = {},
  spare: MemorySearchManager = finding("spare"),
): { manager: MemorySearchManager; opens: () => number } {
  let opens = 0;
  const open = async (): Promise<MemorySearchManager> => {
    opens += 1;
    await settle();
    return spare;
  };
  return { manager: withFallback(primary, { name: "spare", open }, options), opens: () => opens };
}

describe("30 searches while the primary changes its state every 5", () => {
  const states = ["ok", "not installed", "ok", "hangs", "bad answer", "ok"] as const;

  test("each is answered, names who answered, and the primary is back within one half-open period", async () => {
    const clock = handClock();
    let state: (typeof states)[number] = "ok";
    let running = 0;
    let most = 0;
    let asked = 0;
    const primary = finding("tool", {
      search: async (query, options) => {
        asked += 1;
        running += 1;
        most = Math.max(most, running);
        try {
          if (state === "hangs")
            return await new Promise<never>((_resolve, reject) => {
              options.signal.addEventListener("abort", () => reject(options.signal.reason as Error), { once: true });
            });
          if (state !== "ok") return await unavailable(state)();
          return await finding("tool").search(query, options);
        } finally {
          running -= 1;
        }
      },
    });
    const { manager, opens } = behind(
      { name: "tool", manager: primary },
      { clock, holdOffMs: 2_000, maxHoldOffMs: 2_000, searchMs: 30, patienceMs: 10_000 },
    );
    const answeredBy: string[] = [];
    for (let search = 0; search < 30; search += 1) {
      state = states[Math.floor(search / 5)] ?? "ok";
      const { results, report: given } = await ask(manager);
      const [by = ""] = results.map(({ path }) => path.replace(".md", ""));
      answeredBy.push(by);
      expect(given?.backend).toBe(by);
      if (by === "tool") expect(given?.fallback).toBeUndefined();
      else {
        expect(given).toMatchObject({ state: "degraded", fallback: { from: "tool", to: "spare" } });
        expect(given?.fallback?.reason).toMatch(state === "hangs" ? /within 0\.03 s|not installed/ : /./);
        expect(Date.parse(given?.fallback?.retryAt ?? "")).toBeGreaterThan(Date.parse(given?.fallback?.since ?? ""));
      }
      expect(manager.status().backend).toBe(by);
      clock.pass(1_000);
    }
    expect(most).toBe(1);
    expect(opens()).toBe(1);
    // After its return the primary answers from the next try on, which is at most one hold-off (two searches) away.
    expect(answeredBy.map((by) => by[0]).join("")).toMatch(/^t{5}s{5}s?t{4,5}s{10}s?t{4,5}$/);
    expect(asked).toBeLessThan(30);
    await manager.close?.();
  });
});

describe("a primary that is tried again", () => {
  /** One that fails once, and then does what it is told. */
  function failedOnce(then: MemorySearchManager["search"]): {
    search: MemorySearchManager["search"];
    asked: () => number;
  } {
    let asked = 0;
    return {
      search: (query, options) => {
        asked += 1;
        return asked === 1 ? unavailable("gone")() : then(query, options);
      },
      asked: () => asked,
    };
  }

  test("and takes long is not waited for: the spare answers, and what comes of the try counts", async () => {
    const clock = handClock();
    const answer = gate<MemorySearchResult[]>();
    const { search, asked } = failedOnce(() => answer.opened);
    const { manager } = behind({ name: "tool", manager: finding("tool", { search }) }, { clock, patienceMs: 10 });
    await ask(manager);
    clock.pass(30_000);
    expect((await ask(manager)).results[0]?.path).toBe("spare.md");
    expect((await ask(manager)).results[0]?.path).toBe("spare.md");
    expect(asked()).toBe(2);
    answer.open([]);
    await settle();
    expect(manager.status().fallback).toBeUndefined();
    await ask(manager);
    expect(asked()).toBe(3);
  });

  test("goes on when the caller that was answered leaves", async () => {
    const clock = handClock();
    const answer = gate<MemorySearchResult[]>();
    let seen: AbortSignal | undefined;
    const { search } = failedOnce((_query, { signal }) => {
      seen = signal;
      return answer.opened;
    });
    const { manager } = behind({ name: "tool", manager: finding("tool", { search }) }, { clock, patienceMs: 5 });
    await ask(manager);
    clock.pass(30_000);
    const caller = new AbortController();
    await ask(manager, { signal: caller.signal });
    caller.abort();
    expect(seen?.aborted).toBe(false);
    answer.open([]);
    await settle();
    expect(manager.status().fallback).toBeUndefined();
  });

  test("is given up with its caller as long as that waits, which counts for nothing", async () => {
    const clock = handClock();
    const { search, asked } = failedOnce((_query, { signal }) => {
      expect(signal.aborted).toBe(false);
      return asked() === 2 ? hang() : Promise.resolve([]);
    });
    const { manager } = behind({ name: "tool", manager: finding("tool", { search }) }, { clock, patienceMs: 60_000 });
    await ask(manager);
    clock.pass(30_000);
    const caller = new AbortController();
    const waiting = ask(manager, { signal: caller.signal }).catch((error: unknown) => error);
    await settle();
    const { retryAt } = manager.status().fallback ?? {};
    caller.abort();
    expect(isAbort(await waiting)).toBe(true);
    expect(manager.status().fallback?.retryAt).toBe(retryAt);
    await ask(manager);
    expect(asked()).toBe(3);
    expect(manager.status().fallback).toBeUndefined();
  });

  test("and hangs is left alone for longer, and no call waits for it meanwhile", async () => {
    const clock = handClock();
    const { search, asked } = failedOnce(hang);
    const { manager } = behind(
      { name: "tool", manager: finding("tool", { search }) },
      { clock, patienceMs: 5, searchMs: 40 },
    );
    const first = (await ask(manager)).report?.fallback;
    clock.pass(30_000);
    await ask(manager);
    await expect.poll(() => manager.status().fallback?.reason).toContain("gave no answer within 0.04 s");
    const { since, retryAt = "" } = manager.status().fallback ?? {};
    expect(since).toBe(first?.since);
    expect(Date.parse(retryAt) - Date.parse(first?.retryAt ?? "")).toBe(60_000);
    clock.pass(59_999);
    await ask(manager);
    expect(asked()).toBe(2);
  });

  test("by a sync is waited for, and its progress keeps it going", async () => {
    const clock = handClock();
    let works = false;
    const primary = finding("tool", {
      sync: async ({ progress }) => {
        if (!works) return unavailable("gone")();
        for (let step = 0; step < 4; step += 1) {
          await new Promise((resolve) => setTimeout(resolve, 30));
          progress({ completed: step, total: 4 });
        }
        return { added: 4, changed: 0, removed: 0, unchanged: 0, failed: [] };
      },
    });
    const { manager } = behind({ name: "tool", manager: primary }, { clock, patienceMs: 1, syncIdleMs: 1_000 });
    await manager.sync?.(syncParams());
    expect(manager.status().fallback).toMatchObject({ reason: "gone" });
    works = true;
    clock.pass(30_000);
    await expect(manager.sync?.(syncParams())).resolves.toMatchObject({ added: 4 });
    expect(manager.status().fallback).toBeUndefined();
  });

  test("that reads a file still cannot search: only a search shows that it can", async () => {
    const clock = handClock();
    let asked = 0;
    const primary = finding("tool", {
      search: unavailable("the bucket is away"),
      readFile: async ({ relPath }) => {
        asked += 1;
        return { status: "ok", text: "from the tool", path: relPath };
      },
    });
    const { manager } = behind({ name: "tool", manager: primary }, { clock });
    await ask(manager);
    clock.pass(30_000);
    const { signal } = new AbortController();
    const read = await manager.readFile({ relPath: "a.md", from: 1, lines: 1, audience: "private", signal });
    expect(read.text).toBe("text");
    await manager.sync?.(syncParams());
    expect(asked).toBe(0);
    expect(manager.status().fallback?.reason).toBe("the bucket is away");
  });

  test("by a sync that says nothing for too long is given up, and the spare is synced", async () => {
    const { manager } = behind(
      { name: "tool", manager: finding("tool", { sync: hang }) },
      { syncIdleMs: 20 },
      finding("spare", { sync: async () => ({ added: 7, changed: 0, removed: 0, unchanged: 0, failed: [] }) }),
    );
    await expect(manager.sync?.(syncParams())).resolves.toMatchObject({ added: 7 });
    expect(manager.status().fallback?.reason).toContain('sync of "tool" gave no answer within 0.02 s');
  });
});

describe("a primary that could not be opened", () => {
  const failure = new MemoryError("UNAVAILABLE", "the bucket cannot be reached");

  test("is left alone, then opened by the calls that try it, once at a time; until then all is the spare's", async () => {
    const clock = handClock();
    const opening = gate<MemorySearchManager>();
    let opens = 0;
    const open = (): Promise<MemorySearchManager> => {
      opens += 1;
      return opens === 1 ? unavailable("still gone")() : opening.opened;
    };
    const spareCan = { keyword: true, vector: false, ownsIndex: true };
    const { manager } = behind(
      { name: "tool", open, failure },
      { clock, patienceMs: 5 },
      finding("spare", { capabilities: spareCan }),
    );
    const first = await ask(manager);
    expect(first.report?.fallback).toMatchObject({ reason: "the bucket cannot be reached" });
    expect(opens).toBe(0);
    expect(manager.capabilities).toEqual(spareCan);
    expect(manager.status()).toMatchObject({ backend: "spare", fallback: { from: "tool" } });

    clock.pass(30_000);
    expect((await ask(manager)).report?.fallback?.reason).toBe("still gone");
    expect(opens).toBe(1);
    clock.pass(60_000);
    const during = await Promise.all([ask(manager), ask(manager), ask(manager)]);
    expect(during.map(({ results }) => results[0]?.path)).toEqual(["spare.md", "spare.md", "spare.md"]);
    expect(opens).toBe(2);
    opening.open(finding("tool"));
    await settle();
    expect((await ask(manager)).results[0]?.path).toBe("tool.md");
    expect(manager.capabilities).toEqual({ keyword: true, vector: true, ownsIndex: true });
    expect(manager.status().fallback).toBeUndefined();
    await manager.close?.();
  });

  test("and fails to open for another reason stays away, with that reason", async () => {
    const clock = handClock();
    const open = async (): Promise<never> => Promise.reject(new MemoryError("PLUGIN", "a column is missing"));
    const { manager } = behind({ name: "tool", open, failure }, { clock });
    await ask(manager);
    clock.pass(30_000);
    expect((await ask(manager)).report?.fallback?.reason).toBe("a column is missing");
    expect(manager.status().fallback?.reason).toBe("a column is missing");
  });

  test("and opens something that is no manager stays away", async () => {
    const clock = handClock();
    const open = async (): Promise<MemorySearchManager> => ({}) as MemorySearchManager;
    const { manager } = behind({ name: "tool", open, failure }, { clock });
    await ask(manager);
    clock.pass(30_000);
    expect((await ask(manager)).report?.fallback?.reason).toContain("opened something that is no manager");
  });

  test("is opened with the first call where nobody has tried before, and its own errors are told", async () => {
    const works = behind({ name: "tool", open: async () => finding("tool") });
    expect((await ask(works.manager)).results[0]?.path).toBe("tool.md");
    expect(works.opens()).toBe(0);
    const broken = behind({ name: "tool", open: async () => Promise.reject(new MemoryError("CONFIG", "no such key")) });
    await expect(ask(broken.manager)).rejects.toMatchObject({ code: "CONFIG", message: "no such key" });
  });

  test("has a status and capabilities also before anything is open", () => {
    const { manager } = behind({ name: "tool", open: hang });
    expect(manager.status()).toMatchObject({ backend: "tool", spare: { backend: "spare", open: false } });
    expect(manager.capabilities.keyword).toBe(true);
  });
});

/** What happens at half of the time and at its end must not come in one turn of a machine that is busy. */
const longSearchMs = 2_000;

describe("a slow primary", () => {
  test("has the spare opened when half of its time is over, so that nobody waits for that as well", async () => {
    let given: AbortSignal | undefined;
    const hadTime: boolean[] = [];
    const open = async (): Promise<MemorySearchManager> => {
      hadTime.push(given?.aborted === false);
      return finding("spare");
    };
    const primary = finding("tool", {
      search: (_query, { signal }) => {
        given = signal;
        return hang();
      },
    });
    const manager = withFallback(
      { name: "tool", manager: primary },
      { name: "spare", open },
      { searchMs: longSearchMs },
    );
    expect((await ask(manager)).results[0]?.path).toBe("spare.md");
    expect(hadTime).toEqual([true]);
    expect(given?.aborted).toBe(true);
  });

  test("has an index that is there asked ahead, so that the answer is there when its time is over", async () => {
    const asked: { aborted: boolean; primaryHadTime: boolean }[] = [];
    let given: AbortSignal | undefined;
    const spare = finding("spare", {
      status: () => ({ backend: "spare", provider: "none", files: 3 }),
      search: async (query, options) => {
        asked.push({ aborted: options.signal.aborted, primaryHadTime: given?.aborted === false });
        return finding("spare").search(query, options);
      },
    });
    const primary = finding("tool", {
      search: (_query, { signal }) => {
        given = signal;
        return hang();
      },
    });
    const { manager } = behind({ name: "tool", manager: primary }, { searchMs: longSearchMs }, spare);
    expect(await ask(manager)).toMatchObject({
      results: [{ path: "spare.md" }],
      report: { backend: "spare", state: "degraded", fallback: { from: "tool" } },
    });
    expect(asked).toEqual([{ aborted: false, primaryHadTime: true }]);
    // Now that the spare answers, nobody is asked ahead.
    await ask(manager);
    expect(asked).toHaveLength(2);
  });

  test("that answers after all ends what was asked ahead, and an answer ahead that fails is asked for again", async () => {
    const answer = gate<MemorySearchResult[]>();
    const asked: AbortSignal[] = [];
    const spare = finding("spare", {
      status: () => ({ backend: "spare", provider: "none", files: 3 }),
      search: async (query, options) => {
        asked.push(options.signal);
        if (asked.length === 1) return hang();
        if (asked.length === 2) throw new Error("disk full");
        return finding("spare").search(query, options);
      },
    });
    let slow: () => Promise<MemorySearchResult[]> = () => answer.opened;
    const primary = finding("tool", { search: () => slow() });
    const { manager } = behind({ name: "tool", manager: primary }, { searchMs: 1_000 }, spare);
    const asking = ask(manager);
    await expect.poll(() => asked.length, { interval: 5 }).toBe(1);
    answer.open([result({ path: "tool.md" })]);
    expect((await asking).results[0]?.path).toBe("tool.md");
    expect(asked[0]?.aborted).toBe(true);
    slow = hang;
    expect((await ask(manager)).results[0]?.path).toBe("spare.md");
    expect(asked).toHaveLength(3);
  });

  test("that still answers in time is the one that answers, and a quick one opens nothing", async () => {
    const answer = gate<MemorySearchResult[]>();
    const slow = behind(
      { name: "tool", manager: finding("tool", { search: () => answer.opened }) },
      { searchMs: 10_000 },
    );
    const asking = ask(slow.manager);
    await settle();
    answer.open([result({ path: "tool.md" })]);
    expect((await asking).results[0]?.path).toBe("tool.md");
    expect(slow.opens()).toBe(0);
  });
});

describe("close", () => {
  test("ends a try that nobody waits for, then closes both", async () => {
    const clock = handClock();
    const order: string[] = [];
    let tries = 0;
    const primary = finding("tool", {
      search: async (_query, { signal }) => {
        tries += 1;
        if (tries === 1) return unavailable("gone")();
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            order.push("aborted");
            reject(signal.reason as Error);
          }),
        );
      },
      close: async () => void order.push("tool"),
    });
    const spare = finding("spare", { close: async () => void order.push("spare") });
    const { manager } = behind({ name: "tool", manager: primary }, { clock, patienceMs: 5 }, spare);
    await ask(manager);
    clock.pass(30_000);
    await ask(manager);
    await manager.close?.();
    expect(order[0]).toBe("aborted");
    expect(new Set(order)).toEqual(new Set(["aborted", "tool", "spare"]));
    await expect(ask(manager)).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("while the primary is being opened again aborts that, and closes what opens late", async () => {
    const clock = handClock();
    const opening = gate<MemorySearchManager>();
    let isLateClosed = false;
    const late = finding("tool", {
      close: async () => {
        await settle();
        isLateClosed = true;
      },
    });
    let seen: AbortSignal | undefined;
    const open = (signal: AbortSignal): Promise<MemorySearchManager> => {
      seen = signal;
      return opening.opened;
    };
    const failure = new MemoryError("UNAVAILABLE", "gone");
    const spare = finding("spare");
    const { manager } = behind({ name: "tool", open, failure }, { clock, patienceMs: 5 }, spare);
    await ask(manager);
    clock.pass(30_000);
    await ask(manager);
    const closing = manager.close?.();
    await settle();
    expect(seen?.aborted).toBe(true);
    opening.open(late);
    await closing;
    expect([isLateClosed, spare.closed]).toEqual([true, 1]);
  });

  test("leaves the status to be asked for", async () => {
    const { manager } = behind({ name: "tool", manager: finding("tool") });
    await manager.close?.();
    expect(manager.status().backend).toBe("tool");
  });
});
