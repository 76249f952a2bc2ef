import { describe, expect, test, vi } from "vitest";
import {
  type FallbackBackend,
  type ManagerSearchOptions,
  type ManagerSyncParams,
  type Memory,
  MemoryError,
  type MemoryErrorCode,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchReport,
  type SyncProgress,
  createMemory,
  isAbort,
  withFallback,
} from "@memslot/core";
import {
  type FakeManager,
  fakeManager,
  gate,
  guarded,
  hang,
  pass,
  rejected,
  report,
  result,
  settings,
  settle,
  stopClock,
} from "./support/fakes.ts";
import thrownData from "./data/thrown.json" with { type: "json" };

/** What is thrown, as data. */
interface Thrown {
  message?: string;
  memory?: MemoryErrorCode;
  cause?: Thrown;
  errors?: Thrown[];
}
const thrown = thrownData as [what: string, isNetwork: boolean, spec: Thrown][];

function thrownError({ message = "failed", memory, cause, errors, ...fields }: Thrown): Error {
  const options = cause && { cause: thrownError(cause) };
  if (memory !== undefined) return new MemoryError(memory, message, options);
  const error = errors ? new AggregateError(errors.map(thrownError), message) : new Error(message, options);
  return Object.assign(error, fields);
}

type Search = MemorySearchManager["search"];
type Open = (signal: AbortSignal) => Promise<MemorySearchManager>;

const unavailable =
  (reason = "gone") =>
  async (): Promise<never> =>
    Promise.reject(new MemoryError("UNAVAILABLE", reason));
const gone = unavailable();
/** A primary of which nothing works. */
const dead: Partial<MemorySearchManager> = {
  search: gone,
  readFile: gone,
  sync: gone,
  probeEmbeddingAvailability: gone,
  probeVectorAvailability: gone,
};

/** Finds one note that is named after the manager, with a report of its own. */
const finds =
  (name: string): Search =>
  async (_query, { onDebug }) => {
    onDebug(report({ backend: name }));
    return [result({ path: `${name}.md` })];
  };

function finding(name: string, own: Partial<MemorySearchManager> = {}): FakeManager {
  return fakeManager({ search: finds(name), status: () => ({ backend: name, provider: "none" }), ...own });
}

/** A search that fails with the first call, then does these in turn, and finds `tool.md` from then on. */
function failsOnce(...then: Search[]): ReturnType<typeof vi.fn<Search>> {
  const search = vi.fn<Search>(finds("tool")).mockImplementationOnce(gone);
  for (const step of then) search.mockImplementationOnce(step);
  return search;
}

interface Pair {
  manager: MemorySearchManager;
  memory: Memory;
  primary: FakeManager;
  standby: FakeManager;
  opens: () => number;
}

/** The primary "tool" with its fallback backend "spare", on a clock that stands still. */
function pair(
  own: Partial<MemorySearchManager> | FallbackBackend,
  standbyOwn: Partial<MemorySearchManager> = {},
  deadlines: Parameters<typeof withFallback>[2] = {},
): Pair {
  stopClock();
  let opens = 0;
  const primary = finding("tool", "name" in own ? {} : own);
  const standby = finding("spare", standbyOwn);
  const open = async (): Promise<MemorySearchManager> => {
    opens += 1;
    await settle();
    return standby;
  };
  const first: FallbackBackend = "name" in own ? own : { name: "tool", manager: primary };
  const manager = withFallback(first, { name: "spare", open }, deadlines);
  const about = { agentId: "main", workspaceDir: "/notes", backend: "tool", settings: settings() };
  return { manager, memory: createMemory(manager, about), primary, standby, opens: () => opens };
}

interface Asked {
  paths: string[];
  report: SearchReport | undefined;
}

/** A search straight through the manager, without the guard. */
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
  return { paths: results.map(({ path }) => path), report: reports[0] };
}

/** Asks, lets this time pass, and gives the answer. */
async function askFor(manager: MemorySearchManager, ms: number): Promise<Asked> {
  const asking = ask(manager);
  asking.catch(() => undefined);
  await pass(ms);
  return asking;
}

const done = { added: 1, changed: 0, removed: 0, unchanged: 0, failed: [] };

function syncParams(own: Partial<ManagerSyncParams> = {}): ManagerSyncParams {
  const { signal } = new AbortController();
  return { reason: "cli", force: false, wait: true, progress: () => {}, signal, ...own };
}

const cooldownMs = 30_000;

describe("while the primary answers", () => {
  test("nothing else is opened, and its answers, reports and capabilities are its own", async () => {
    const capabilities = { keyword: true, vector: false, ownsIndex: false };
    const { manager, opens, memory, primary, standby } = pair({ capabilities });
    expect(await ask(manager)).toEqual({ paths: ["tool.md"], report: report({ backend: "tool" }) });
    expect(manager.capabilities).toEqual(capabilities);
    expect(manager.status()).toMatchObject({ backend: "tool", spare: { backend: "spare", open: false } });
    expect(manager.status().fallback).toBeUndefined();
    await memory.sync();
    await memory.close();
    expect([opens(), primary.closed, standby.closed]).toEqual([0, 1, 0]);
    expect(manager.status().backend).toBe("tool");
  });

  test.each(["PLUGIN", "PATH_NOT_ALLOWED", "CONFIG", "INVALID_ARGUMENT", "BUSY"] as const)(
    "an error %s is thrown as it is",
    async (code) => {
      const { memory, opens } = pair({ readFile: async () => Promise.reject(new MemoryError(code, "no")) });
      await expect(memory.readFile({ relPath: "a.md" })).rejects.toMatchObject({ code, message: "no" });
      expect(opens()).toBe(0);
    },
  );

  // Errors of the network are UNAVAILABLE however deep they are, others are the plugin's own.
  test.each(thrown)("what is thrown for %s: the fallback backend answers: %s", async (_what, isNetwork, spec) => {
    const fails = async (): Promise<never> => Promise.reject(thrownError(spec));
    const { memory } = pair({ search: fails, readFile: fails, sync: fails }, { sync: async () => done });
    const outcomes = await Promise.allSettled([
      memory.search("q"),
      memory.readFile({ relPath: "a.md" }),
      memory.sync(),
    ]);
    const outcome = isNetwork ? { status: "fulfilled" } : { reason: { code: "PLUGIN" } };
    expect(outcomes).toMatchObject([outcome, outcome, outcome]);
    const alone = guarded({ search: fails });
    expect(await rejected(alone.search("q"))).toMatchObject({ code: isNetwork ? "UNAVAILABLE" : "PLUGIN" });
  });

  test("an abort stays an AbortError", async () => {
    const { memory, opens } = pair({ search: hang });
    const controller = new AbortController();
    const aborted = rejected(memory.search("q", { signal: controller.signal }));
    await settle();
    controller.abort();
    expect(isAbort(await aborted)).toBe(true);
    expect(opens()).toBe(0);
  });
});

describe("when the primary is UNAVAILABLE", () => {
  test("each call is answered by the fallback backend, which is opened once", async () => {
    const { memory, opens } = pair(dead, { sync: async () => done });
    const [one, two, read, synced, ...probes] = await Promise.all([
      memory.search("q"),
      memory.search("q"),
      memory.readFile({ relPath: "a.md" }),
      memory.sync(),
      memory.probeEmbeddingAvailability(),
      memory.probeVectorAvailability(),
    ]);
    expect([one, two]).toMatchObject([[{ path: "spare.md" }], [{ path: "spare.md" }]]);
    expect([read.text, synced, ...probes]).toEqual(["text", done, { ok: true }, true]);
    expect(opens()).toBe(1);
  });

  test.each<[string, Search, Search | undefined, string]>([
    [
      "the fallback backend's with its own reason too",
      gone,
      async (_query, { onDebug }) => {
        onDebug(report({ backend: "spare", reason: "nothing matched" }));
        return [];
      },
      '"tool" is unavailable: gone; nothing matched',
    ],
    [
      "not the one that the primary gave before it failed",
      async (_query, { onDebug }) => {
        onDebug(report({ backend: "tool" }));
        return gone();
      },
      undefined,
      '"tool" is unavailable: gone',
    ],
  ])("the report is %s, degraded, and names both", async (_name, search, other, reason) => {
    const { manager } = pair({ search }, other && { search: other });
    const fallback = { from: "tool", to: "spare", reason: "gone" };
    expect((await ask(manager)).report).toMatchObject({ backend: "spare", state: "degraded", fallback, reason });
    expect(manager.status()).toMatchObject({ backend: "spare", fallback, spare: { backend: "spare", open: true } });
  });

  test("others who read along do not see the reason, which may name the note that the primary failed at", async () => {
    const { memory } = pair({ sync: unavailable("qmd update failed: EACCES, open '/notes/memory/divorce.md'") });
    await memory.sync();
    const reports: SearchReport[] = [];
    for (const sessionKey of ["agent:main:main", "agent:main:telegram:group:-1"])
      await memory.search("q", { sessionKey, onDebug: (given) => reports.push(given) });
    expect(reports.map((given) => JSON.stringify(given).includes("divorce"))).toEqual([true, false]);
    expect(reports[1]).toMatchObject({
      conditions: [{ state: "degraded", reason: '"tool" is unavailable' }],
      fallback: { from: "tool", to: "spare" },
    });
  });

  test.each<[string, number, (memory: Memory) => Promise<unknown>]>([
    ["search", 15_000, (memory) => memory.search("q")],
    ["readFile", 5_000, (memory) => memory.readFile({ relPath: "a.md" })],
    ["probeVectorAvailability", 30_000, (memory) => memory.probeVectorAvailability()],
    ["sync", 300_000, (memory) => memory.sync()],
  ])(
    "a %s that hangs counts as UNAVAILABLE after %i ms, so that the other can still answer",
    async (what, ms, call) => {
      const { memory, manager } = pair({ [what]: hang });
      const answer = call(memory);
      await pass(ms - 1);
      expect(manager.status().fallback).toBeUndefined();
      await pass(1);
      await answer;
      expect(manager.status().fallback?.reason).toBe(`${what} of "tool" did not answer within ${ms / 1000} s`);
    },
  );

  test("what the fallback backend says about the call itself is the answer", async () => {
    const { memory } = pair(dead, { readFile: async () => Promise.reject(new MemoryError("PATH_NOT_ALLOWED", "no")) });
    const error = await rejected(memory.readFile({ relPath: "../x" }));
    expect(error).toMatchObject({ code: "PATH_NOT_ALLOWED", message: "no" });
  });

  test("and the fallback backend fails too, the error names both", async () => {
    const error = new TypeError("the index is locked");
    const { memory } = pair(dead, { search: async () => Promise.reject(error) });
    const caught = (await rejected(memory.search("q"))) as Error;
    expect(caught).toMatchObject({ code: "UNAVAILABLE", cause: { errors: [{ message: "gone" }, error] } });
    for (const words of ['"tool"', "gone", '"spare"', "the index is locked"]) expect(caught.message).toContain(words);
  });

  test("a fallback backend that fails or hangs while it opens is opened again with the next call", async () => {
    stopClock();
    const open = vi
      .fn<Open>(async () => finding("spare"))
      .mockRejectedValueOnce(new Error("disk full"))
      .mockImplementationOnce(hang);
    const manager = withFallback({ name: "tool", manager: fakeManager(dead) }, { name: "spare", open });
    const words = [/disk full/, /opening "spare" did not answer within 60 s/];
    for (const message of words) {
      const error = await rejected(askFor(manager, 60_000));
      expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringMatching(message) });
    }
    expect((await ask(manager)).paths).toEqual(["spare.md"]);
  });
});

describe("the way back", () => {
  test("each try that fails doubles the time, up to 10 minutes, and a success begins anew", async () => {
    const search = vi.fn<Search>(gone);
    const { manager } = pair({ search });
    await ask(manager);
    const waits: number[] = [];
    for (let trial = 0; trial < 8; trial += 1) {
      const waitMs = Date.parse(manager.status().fallback?.retryAt ?? "") - Date.now();
      waits.push(waitMs);
      await pass(waitMs - 1);
      await ask(manager);
      expect(search).toHaveBeenCalledTimes(trial + 1);
      await pass(1);
      if (trial === 7) search.mockImplementationOnce(finds("tool"));
      await ask(manager);
      if (trial < 7) expect(manager.status().fallback?.since).toBe("2026-01-01T12:00:00.000Z");
    }
    expect(waits.map((ms) => ms / 1000)).toEqual([30, 60, 120, 240, 480, 600, 600, 600]);
    expect(manager.status().fallback).toBeUndefined();
    const { since = "", retryAt = "" } = (await ask(manager)).report?.fallback ?? {};
    expect(Date.parse(retryAt) - Date.parse(since)).toBe(cooldownMs);
  });

  test("calls that fail together count as one failure, and a late success or failure for nothing", async () => {
    const [slow, slower, slowest] = [gate<MemorySearchResult[]>(), gate<MemorySearchResult[]>(), gate<[]>()];
    const failing = [slow, slower];
    const search = vi
      .fn<Search>(finds("tool"))
      .mockImplementationOnce(() => slow.opened)
      .mockImplementationOnce(() => slower.opened)
      .mockImplementationOnce(() => slowest.opened);
    const { manager } = pair({ search });
    const asking = [ask(manager), ask(manager), ask(manager)];
    await settle();
    for (const [index, { fail }] of failing.entries()) fail(new MemoryError("UNAVAILABLE", `call ${index}`));
    expect((await asking[0])?.report?.fallback).toEqual((await asking[1])?.report?.fallback);
    expect(manager.status().fallback).toMatchObject({ reason: "call 0", retryAt: "2026-01-01T12:00:30.000Z" });
    slowest.open([]);
    await asking[2];
    expect(manager.status().fallback).toBeDefined();
  });

  test("a failure that comes late, after the primary is back, starts no outage", async () => {
    const slow = gate<MemorySearchResult[]>();
    const search = vi
      .fn<Search>(finds("tool"))
      .mockImplementationOnce(() => slow.opened)
      .mockImplementationOnce(gone);
    const { manager } = pair({ search }, {}, { searchMs: 600_000 });
    const late = ask(manager);
    await settle();
    await ask(manager);
    await pass(cooldownMs);
    await ask(manager);
    slow.fail(new MemoryError("UNAVAILABLE", "late"));
    expect((await late).paths).toEqual(["spare.md"]);
    expect(manager.status().fallback).toBeUndefined();
  });

  test("one call tries; it is waited for 1 s, the others not at all, and what comes of the try counts", async () => {
    const answer = gate<MemorySearchResult[]>();
    const seen: AbortSignal[] = [];
    const search = failsOnce((_query, { signal }) => {
      seen.push(signal);
      return answer.opened;
    });
    const { manager } = pair({ search });
    await ask(manager);
    await pass(cooldownMs);
    const caller = new AbortController();
    const trying = ask(manager, { signal: caller.signal });
    await pass(999);
    expect((await ask(manager)).paths).toEqual(["spare.md"]);
    expect(await Promise.race([trying, "waits"])).toBe("waits");
    await pass(1);
    expect((await trying).paths).toEqual(["spare.md"]);
    // The caller that was answered may leave.
    caller.abort();
    expect(seen.map(({ aborted }) => aborted)).toEqual([false]);
    expect(search).toHaveBeenCalledTimes(2);
    answer.open([]);
    await settle();
    expect(manager.status().fallback).toBeUndefined();
    expect((await ask(manager)).paths).toEqual(["tool.md"]);
  });

  test("a try that is aborted with its caller counts for nothing: the next call tries again", async () => {
    const search = failsOnce(hang);
    const { manager } = pair({ search });
    await ask(manager);
    await pass(cooldownMs);
    const { retryAt } = manager.status().fallback ?? {};
    const caller = new AbortController();
    const waiting = rejected(ask(manager, { signal: caller.signal }));
    await settle();
    caller.abort();
    expect(isAbort(await waiting)).toBe(true);
    expect(manager.status().fallback?.retryAt).toBe(retryAt);
    expect((await ask(manager)).paths).toEqual(["tool.md"]);
  });

  test("a try that hangs is a failure at its deadline", async () => {
    const { manager } = pair({ search: failsOnce(hang) });
    const first = (await ask(manager)).report?.fallback;
    await pass(cooldownMs);
    await askFor(manager, 15_000);
    const { since, retryAt = "", reason } = manager.status().fallback ?? {};
    expect([since, reason]).toEqual([first?.since, 'search of "tool" did not answer within 15 s']);
    expect(Date.parse(retryAt) - Date.now()).toBe(60_000);
  });

  test("a call of another kind does not try: that a file can be read does not prove that a search works", async () => {
    const [readFile, sync] = [
      vi.fn<MemorySearchManager["readFile"]>(finding("tool").readFile),
      vi.fn<() => Promise<typeof done>>(async () => done),
    ];
    const { memory, manager } = pair({ search: failsOnce(), readFile, sync });
    await memory.search("q");
    await pass(cooldownMs);
    await memory.readFile({ relPath: "a.md" });
    await memory.sync();
    expect([readFile, sync].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    expect(manager.status().fallback?.reason).toBe("gone");
    await memory.search("q");
    await memory.readFile({ relPath: "a.md" });
    expect(readFile).toHaveBeenCalledTimes(1);
  });

  test("a sync tries after a sync that failed, is waited for, and its progress keeps it going", async () => {
    const steps = [gate(), gate(), gate()];
    const sync = vi.fn<Required<MemorySearchManager>["sync"]>(async ({ progress }) => {
      for (const [completed, { opened }] of steps.entries()) {
        await opened;
        progress({ completed, total: 3 });
      }
      return done;
    });
    const { manager } = pair({ sync: sync.mockImplementationOnce(gone) });
    await manager.sync?.(syncParams());
    await pass(cooldownMs);
    const synced = manager.sync?.(syncParams());
    for (const { open } of steps) {
      await pass(299_000);
      open();
    }
    await expect(synced).resolves.toEqual(done);
    expect(manager.status().fallback).toBeUndefined();
  });
});

describe("a primary that could not be opened", () => {
  const failure = new MemoryError("UNAVAILABLE", "the bucket cannot be reached");

  test("is left alone, then opened by the calls that try it, once at a time; until then all is the other's", async () => {
    const opening = gate<MemorySearchManager>();
    const open = vi.fn<Open>(() => opening.opened).mockImplementationOnce(unavailable("still gone"));
    const capabilities = { keyword: true, vector: false, ownsIndex: true };
    const { manager } = pair({ name: "tool", open, failure }, { capabilities });
    expect((await ask(manager)).report?.fallback?.reason).toBe("the bucket cannot be reached");
    expect(open).not.toHaveBeenCalled();
    expect(manager.capabilities).toEqual(capabilities);
    await pass(cooldownMs);
    expect((await ask(manager)).report?.fallback?.reason).toBe("still gone");
    await pass(2 * cooldownMs);
    const during = await Promise.all([ask(manager), askFor(manager, 1_000), ask(manager)]);
    expect(during.flatMap(({ paths }) => paths)).toEqual(["spare.md", "spare.md", "spare.md"]);
    expect(open).toHaveBeenCalledTimes(2);
    opening.open(finding("tool"));
    await settle();
    expect((await ask(manager)).paths).toEqual(["tool.md"]);
    expect(manager.capabilities.vector).toBe(true);
    expect(manager.status().fallback).toBeUndefined();
  });

  test.each<[string, () => Promise<MemorySearchManager>, string]>([
    ["fails for another reason", async () => Promise.reject(new MemoryError("PLUGIN", "no column")), "no column"],
    ["gives no manager", async () => ({}) as MemorySearchManager, "opened something that is not a manager"],
  ])("and whose opening %s stays away, with that reason", async (_name, open, reason) => {
    const { manager } = pair({ name: "tool", open, failure });
    await ask(manager);
    await pass(cooldownMs);
    expect((await ask(manager)).report?.fallback?.reason).toContain(reason);
    expect(manager.status().fallback?.reason).toContain(reason);
  });

  test("is opened with the first call where nobody has tried before, and its own errors are thrown", async () => {
    const works = pair({ name: "tool", open: async () => finding("tool") });
    expect(works.manager.status()).toMatchObject({ backend: "tool", spare: { backend: "spare", open: false } });
    expect(works.manager.capabilities.keyword).toBe(true);
    expect((await ask(works.manager)).paths).toEqual(["tool.md"]);
    expect(works.opens()).toBe(0);
    const error = new MemoryError("CONFIG", "no such key");
    expect(await rejected(ask(pair({ name: "tool", open: async () => Promise.reject(error) }).manager))).toBe(error);
  });
});

describe("a slow primary", () => {
  const status = () => ({ backend: "spare", provider: "none", files: 3 });

  test("has an existing index asked ahead, so that the answer is there when its time is over", async () => {
    const search = vi.fn<Search>(finds("spare"));
    const { manager } = pair({ search: hang }, { status, search });
    const asking = ask(manager);
    await pass(7_500);
    expect(search.mock.calls.map(([, { signal }]) => signal.aborted)).toEqual([false]);
    await pass(7_500);
    expect(await asking).toMatchObject({
      paths: ["spare.md"],
      report: { backend: "spare", state: "degraded", fallback: { from: "tool" } },
    });
    expect(search).toHaveBeenCalledTimes(1);
    await ask(manager);
    expect(search).toHaveBeenCalledTimes(2);
  });

  test("that answers after all ends what was asked ahead, and an answer ahead that fails is asked for again", async () => {
    const answer = gate<MemorySearchResult[]>();
    const ahead = vi
      .fn<Search>(finds("spare"))
      .mockImplementationOnce(hang)
      .mockRejectedValueOnce(new Error("disk full"));
    const slow = vi.fn<Search>(hang).mockImplementationOnce(() => answer.opened);
    const { manager } = pair({ search: slow }, { status, search: ahead });
    const asking = ask(manager);
    await pass(8_000);
    answer.open([result({ path: "tool.md" })]);
    expect((await asking).paths).toEqual(["tool.md"]);
    expect(ahead.mock.calls.map(([, { signal }]) => signal.aborted)).toEqual([true]);
    expect((await askFor(manager, 15_000)).paths).toEqual(["spare.md"]);
    expect(ahead).toHaveBeenCalledTimes(3);
  });
});

describe("sync", () => {
  test("goes to both when both are open, names whose progress it is, and reports a failure of the other", async () => {
    const sync = vi.fn<Required<MemorySearchManager>["sync"]>(async ({ progress }) => {
      progress({ completed: 2, total: 2 });
      return { ...done, added: 7 };
    });
    const own: MemorySearchManager["sync"] = async ({ progress }) => {
      progress({ completed: 1, total: 1, label: "a.md" });
      return done;
    };
    const { memory } = pair({ search: failsOnce(), sync: own }, { sync });
    await memory.search("q");
    await pass(cooldownMs);
    await memory.search("q");
    const seen: SyncProgress[] = [];
    await expect(memory.sync({ reason: "watch", progress: (update) => seen.push(update) })).resolves.toEqual(done);
    expect(sync.mock.calls.map(([{ reason }]) => reason)).toEqual(["watch"]);
    expect(seen.map(({ label }) => label)).toEqual(["tool: a.md", "spare"]);
    sync.mockRejectedValueOnce(new Error("disk full"));
    await expect(memory.sync()).resolves.toEqual(done);
    expect(memory.status().custom?.notices).toEqual(['the fallback "spare" could not be synced: disk full']);
    await memory.sync();
    expect(memory.status().custom?.notices).toBeUndefined();
  });

  test("of a primary without an index goes to the open one, and proves nothing about the primary", async () => {
    const { memory } = pair({ search: gone, sync: undefined as never }, { sync: async () => done });
    await expect(memory.sync()).resolves.toBeUndefined();
    await memory.search("q");
    await expect(memory.sync()).resolves.toEqual(done);
    expect(memory.status().fallback).toBeDefined();
  });
});

test("what is reported of an index, or done to it, is about the one that answers", async () => {
  const about = (files: number): Partial<MemorySearchManager> => ({
    check: async ({ fix }) => ({ ok: fix, findings: [{ name: "files", ok: true, message: `${files} files` }] }),
    compact: async () => ({ beforeBytes: files, afterBytes: 0 }),
  });
  const { memory, opens } = pair({ ...about(1), search: gone }, about(2));
  for (const files of [1, 2]) {
    expect(await memory.check({ fix: true })).toMatchObject({ ok: true, findings: [{ message: `${files} files` }] });
    expect(await memory.compact()).toEqual({ beforeBytes: files, afterBytes: 0 });
    expect(opens()).toBe(files - 1);
    await memory.search("q");
  }
  const without = pair({}, about(2)).memory;
  expect(await Promise.all([without.check(), without.compact()])).toEqual([undefined, undefined]);
});

describe("close", () => {
  const busy = async (): Promise<never> => Promise.reject(new Error("still busy"));

  test.each<[string, Partial<MemorySearchManager>, Partial<MemorySearchManager>, string | undefined]>([
    ["both when both are open", {}, {}, undefined],
    ["the other one also when the primary fails to", { close: busy }, {}, "still busy"],
    ["both, and reports both errors", { close: busy }, { close: busy }, "still busy; still busy"],
  ])("closes %s", async (_name, own, standbyOwn, words) => {
    const { memory, manager, primary, standby } = pair({ ...dead, ...own }, standbyOwn);
    await memory.search("q");
    if (words === undefined) await memory.close();
    else await expect(memory.close()).rejects.toThrow(words);
    expect([primary.closed, standby.closed]).toEqual([own.close ? 0 : 1, standbyOwn.close ? 0 : 1]);
    await expect(ask(manager)).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("waits for a fallback backend that is about to open, and closes it", async () => {
    const opening = gate<MemorySearchManager>();
    const standby = fakeManager();
    const primary = { name: "tool", manager: fakeManager(dead) };
    const manager = withFallback(primary, { name: "spare", open: () => opening.opened });
    const searching = rejected(ask(manager));
    await settle();
    const closing = manager.close?.();
    await settle();
    opening.open(standby);
    await closing;
    await searching;
    expect(standby.closed).toBe(1);
  });

  test("ends a try that nobody waits for, then closes both", async () => {
    const order: string[] = [];
    const search = failsOnce(
      (_query, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            order.push("aborted");
            reject(signal.reason as Error);
          }),
        ),
    );
    const close = async (): Promise<void> => void order.push("closed");
    const { manager } = pair({ search, close }, { close });
    await ask(manager);
    await pass(cooldownMs);
    await askFor(manager, 1_000);
    await manager.close?.();
    expect(order).toEqual(["aborted", "closed", "closed"]);
  });

  test("while the primary is being opened again aborts that, and closes what opens late", async () => {
    const opening = gate<MemorySearchManager>();
    const open = vi.fn<Open>(() => opening.opened);
    const failure = new MemoryError("UNAVAILABLE", "gone");
    const { manager, standby } = pair({ name: "tool", open, failure });
    await ask(manager);
    await pass(cooldownMs);
    await askFor(manager, 1_000);
    const closing = manager.close?.();
    await settle();
    expect(open.mock.calls.map(([signal]) => signal.aborted)).toEqual([true]);
    const late = finding("tool");
    opening.open(late);
    await closing;
    expect([late.closed, standby.closed]).toEqual([1, 1]);
  });
});
