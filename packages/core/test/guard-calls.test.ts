import { describe, expect, test, vi } from "vitest";
import {
  type IndexCheck,
  type Memory,
  MemoryError,
  type MemorySearchManager,
  type MemorySearchResult,
  type MemorySearchOptions,
  type SearchReport,
  createMemory,
  isAbort,
  withDeadline,
} from "@memslot/core";
import {
  ask,
  fakeManager,
  gate,
  guarded,
  hang,
  pass,
  rejected,
  report,
  searchOf,
  settings,
  settle,
  stopClock,
} from "./support/fakes.ts";
import data from "./data/calls.json" with { type: "json" };
import wrong from "./data/wrong.json" with { type: "json" };

type Call = (memory: Memory, signal?: AbortSignal) => Promise<unknown>;

/** Each call with its deadline. */
const calls: [string, number, Call][] = [
  ["search", 30_000, (memory, signal) => memory.search("q", { signal })],
  ["readFile", 10_000, (memory, signal) => memory.readFile({ relPath: "a.md", signal })],
  ["sync", 600_000, (memory, signal) => memory.sync({ signal })],
  ["estimate", 600_000, (memory, signal) => memory.estimate({ signal })],
  ["survey", 600_000, (memory, signal) => memory.survey({ signal })],
  ["why", 30_000, (memory, signal) => memory.why("q", { path: "a.md" }, { signal })],
  ["check", 600_000, (memory, signal) => memory.check({ signal })],
  ["compact", 600_000, (memory, signal) => memory.compact({ signal })],
  ["details", 600_000, (memory, signal) => memory.details({ signal })],
  ["releaseQuarantine", 600_000, (memory, signal) => memory.releaseQuarantine({ signal })],
  ["probeEmbeddingAvailability", 60_000, (memory, signal) => memory.probeEmbeddingAvailability({ signal })],
  ["probeVectorAvailability", 60_000, (memory, signal) => memory.probeVectorAvailability({ signal })],
];

/** A manager all of whose calls do this, and the signals that they were given. */
function allCalls(run: () => Promise<never>): { own: Partial<MemorySearchManager>; signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const call = async (...args: unknown[]): Promise<never> => {
    const last = args.at(-1);
    signals.push(last instanceof AbortSignal ? last : (last as { signal: AbortSignal }).signal);
    return run();
  };
  return { own: Object.fromEntries(calls.map(([name]) => [name, call])), signals };
}

/** A manager that never answers and listens to no signal. */
const deaf = (): ReturnType<typeof allCalls> => allCalls(hang);

describe("a wrong argument", () => {
  const noNumbers: [string, unknown[], string][] = [
    ["search", ["q", { maxResults: Number.NaN }], "maxResults must be a whole number from 1 to 200, not NaN"],
    ["search", ["q", { minScore: Number.NaN }], "minScore must be a number from 0 to 1, not NaN"],
    ["readFile", [{ relPath: "a.md", lines: Number.NaN }], "lines must be a number of lines, 1 or more, not NaN"],
    ["describeFile", [{}], "path must be the path of a memory file, not undefined"],
    [
      "describeFile",
      [{ path: "a.md", relPath: "b.md" }],
      'path must be the same as relPath, its older name, not "a.md"',
    ],
  ];
  test.each([...wrong.calls, ...noNumbers] as [keyof Memory, unknown[], string][])(
    "is refused without a call of the manager, naming what was given: %s%j",
    async (name, args, words) => {
      const { own, signals } = deaf();
      const memory = guarded({ ...own, why: hang });
      const error = await rejected(Reflect.apply(memory[name] as () => Promise<unknown>, memory, args));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(words) });
      expect(signals).toEqual([]);
    },
  );

  test("is none at the ends of every range", async () => {
    await expect(guarded().search("q", { maxResults: 1, minScore: 0 })).resolves.toEqual([]);
    await expect(guarded().search("q", { maxResults: 200, minScore: 1 })).resolves.toEqual([]);
  });
});

describe("what the manager is given", () => {
  const sources = ["memory", "mail"];

  test("every option of a search, from the settings where the caller gave none", async () => {
    const { search, asked } = searchOf();
    const own = { ...settings({ query: { maxResults: 9, minScore: 0.2 } }), sources };
    const memory = guarded({ search }, { settings: own });
    await memory.search("q");
    await memory.search("q", { maxResults: 3, minScore: 0.2, sources: ["mail", "mail"], sessionKey: "s" });
    expect(asked[0]).toMatchObject({ maxResults: 9, minScore: 0.2, strict: false, sources });
    expect(asked[0]).toHaveProperty("sessionKey", undefined);
    expect(asked[1]).toMatchObject({ maxResults: 3, minScore: 0.2, strict: true, sources: ["mail"], sessionKey: "s" });
  });

  test("sources of the settings and of the manager besides the known ones", async () => {
    const status = () => ({ backend: "fake", provider: "none", sources: ["wiki"] });
    const memory = guarded({ status }, { settings: { ...settings(), sources } });
    await expect(memory.search("q", { sources: ["wiki", "mail", "sessions"] })).resolves.toEqual([]);
  });

  test.each(data.budgets as [MemorySearchOptions, number][])(
    "a token budget that grows with the results that the caller asks for: %j %i",
    async (options, maxTokens) => {
      const { search, asked } = searchOf();
      await guarded({ search }, { settings: settings({ query: { maxTokens: 900 } }) }).search("q", options);
      expect(asked[0]?.maxTokens).toBe(maxTokens);
    },
  );

  test.each(["", " ", "\n\t", "\u3000"])("nothing for the blank query %j, which is answered", async (query) => {
    const { search, asked } = searchOf();
    const answer = await ask(guarded({ search }), {}, query);
    expect([answer.results, asked]).toEqual([[], []]);
    expect(answer.report).toMatchObject({ backend: "fake", reason: "the query is blank" });
  });

  test("a query of at most 10 000 characters, none cut in two, and the report says that it was cut", async () => {
    const { search, asked } = searchOf();
    const reasons: boolean[] = [];
    for (const query of ["😀".repeat(10_000), `a${"😀".repeat(10_000)}`, "b".repeat(10_001)]) {
      const { report: told } = await ask(guarded({ search }), {}, query);
      reasons.push(told.reason?.includes("the query was cut to its first 10000 characters") === true);
    }
    expect(asked.map(({ query }) => [...query].length)).toEqual([10_000, 10_000, 10_000]);
    expect(asked[1]?.query).toBe(`a${"😀".repeat(9_999)}`);
    expect(reasons).toEqual([false, true, true]);
  });

  test("120 lines from line 1 of a file, and a check that repairs nothing, unless the caller asks for others", async () => {
    const readFile = vi.fn<MemorySearchManager["readFile"]>(fakeManager().readFile);
    const check = vi.fn<() => Promise<IndexCheck>>(async () => ({ ok: true, findings: [] }));
    const memory = guarded({ readFile, check });
    await memory.readFile({ relPath: "a.md" });
    await memory.readFile({ path: "a.md", from: 7, lines: 2 });
    await memory.check();
    const [first, second] = readFile.mock.calls;
    expect(first).toMatchObject([{ relPath: "a.md", from: 1, lines: 120 }]);
    expect(second).toMatchObject([{ relPath: "a.md", from: 7, lines: 2 }]);
    expect(check.mock.calls).toMatchObject([[{ fix: false }]]);
  });
});

describe("an answer that breaks the contract", () => {
  test.each(data.broken as [keyof Memory, unknown, string][])(
    "is refused by the name of the field: %s %j",
    async (name, given, words) => {
      const call = calls.find(([known]) => known === name)?.[2] as Call;
      const error = await rejected(call(guarded({ [name]: async () => given })));
      expect(error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
    },
  );

  test.each(data.right as [keyof Memory, unknown][])(
    "is not this one of %s, which is passed on: %j",
    async (name, given) => {
      const call = calls.find(([known]) => known === name)?.[2] as Call;
      await expect(call(guarded({ [name]: async () => given }))).resolves.toEqual(given);
    },
  );
});

describe("status", () => {
  test("never throws: a manager that gives none gets a minimal one", () => {
    const words = "the plugin returned no status";
    const minimal = { backend: "fake", workspaceDir: "/notes", custom: { error: words } };
    const lastSyncError = expect.stringContaining(words);
    expect(guarded({ status: () => undefined as never }).status()).toMatchObject({ ...minimal, lastSyncError });
  });

  test("is the manager's own, with the plugin, the workspace and the settings where it leaves them out", () => {
    const own = data.ownStatus;
    expect(guarded({ status: () => own }).status()).toEqual(own);
    expect(guarded({ status: () => ({ files: 1 }) as never }).status()).toEqual(data.filledStatus);
  });
});

describe("an object that is not a manager is refused", () => {
  test.each(["search", "readFile", "status", "probeEmbeddingAvailability", "probeVectorAvailability", "capabilities"])(
    "without %s, by name",
    (field) => {
      const message = expect.stringContaining(`"${field}"`);
      expect(() => guarded({ [field]: undefined })).toThrow(expect.objectContaining({ code: "PLUGIN", message }));
    },
  );

  test.each([null, undefined, "manager", () => {}])("when it is %s", (manager) => {
    const options = { agentId: "main", workspaceDir: "/notes", backend: "fake", settings: settings() };
    expect(() => createMemory(manager as never, options)).toThrow('"it" must be an object');
  });

  test("when a capability is not a boolean", () => {
    expect(() => guarded({ capabilities: { keyword: true, vector: true } as never })).toThrow(
      '"capabilities.ownsIndex" must be true or false, not undefined',
    );
  });
});

describe("an error of the manager", () => {
  const failing = (cause: Error): Partial<MemorySearchManager> => allCalls(async () => Promise.reject(cause)).own;

  test.each(calls)(
    "in %s keeps its code, or is a PLUGIN error with the plugin and the cause",
    async (name, _, call) => {
      const known = new MemoryError("PATH_NOT_ALLOWED", "outside");
      expect(await rejected(call(guarded(failing(known))))).toMatchObject({ code: known.code, message: "outside" });
      const cause = new TypeError("x is undefined");
      expect(await rejected(call(guarded(failing(cause))))).toMatchObject({
        code: "PLUGIN",
        cause,
        message: `memory plugin "fake" failed in ${name}: x is undefined`,
      });
      // The abort of a manager is not that of the caller.
      const ownAbort = new DOMException("gave up", "AbortError");
      expect(await rejected(call(guarded(failing(ownAbort))))).toMatchObject({ code: "PLUGIN" });
    },
  );

  test("is a PLUGIN error also when it is thrown at once, each time", async () => {
    const atOnce = (): never => {
      throw new TypeError("at once");
    };
    const memory = guarded({ search: atOnce, sync: atOnce });
    for (const call of [memory.search("q"), memory.sync(), memory.sync()])
      expect(await rejected(call)).toMatchObject({ code: "PLUGIN" });
  });

  test("in a search is reported as unavailable with the reason", async () => {
    const reports: SearchReport[] = [];
    const memory = guarded(failing(new MemoryError("UNAVAILABLE", "the store is locked")));
    const error = await rejected(memory.search("q", { onDebug: (given) => reports.push(given) }));
    expect(error).toMatchObject({ code: "UNAVAILABLE" });
    expect(reports).toMatchObject([{ state: "unavailable", reason: "the store is locked" }]);
  });

  test("is not one of the caller's report function, which is called once and whose error reaches the caller", async () => {
    const onDebug = vi.fn<() => void>(() => {
      throw new Error("my own mistake");
    });
    await expect(guarded(searchOf([], report())).search("q", { onDebug })).rejects.toThrow("my own mistake");
    expect(onDebug).toHaveBeenCalledTimes(1);
  });
});

describe("a deadline", () => {
  test.each(calls)("makes a %s that hangs UNAVAILABLE after %i ms and aborts its signal", async (name, ms, call) => {
    stopClock();
    const { own, signals } = deaf();
    const ended = vi.fn<(error: unknown) => unknown>((error) => error);
    const outcome = rejected(call(guarded(own))).then(ended);
    await pass(ms - 1);
    expect(ended).not.toHaveBeenCalled();
    await pass(1);
    expect(await outcome).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(`${name} did not answer within ${ms / 1000} s; (?:run \`memslot |.*sync again)`),
    });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("that is extended after the end of the call leaves no timer behind", async () => {
    const extend = await withDeadline({ what: "a call", deadlineMs: 60_000 }, async (_signal, later) => later);
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    extend();
    expect(timers()).toBe(before);
  });
});

describe("an abort", () => {
  test.each(calls)("of a %s is an AbortError at once, also of a manager that does not listen", async (_, __, call) => {
    const { own, signals } = deaf();
    expect(isAbort(await rejected(call(guarded(own), AbortSignal.abort())))).toBe(true);
    expect(signals).toEqual([]);
    const controller = new AbortController();
    const running = rejected(call(guarded(own), controller.signal));
    await settle();
    const reason = new Error("changed my mind");
    controller.abort(reason);
    expect(await running).toMatchObject({ name: "AbortError", cause: reason });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("of a search gives no report, also of a blank query", async () => {
    const onDebug = vi.fn<() => void>();
    expect(isAbort(await rejected(guarded().search(" ", { signal: AbortSignal.abort(), onDebug })))).toBe(true);
    const controller = new AbortController();
    const running = rejected(guarded(deaf().own).search("q", { signal: controller.signal, onDebug }));
    controller.abort();
    expect(isAbort(await running)).toBe(true);
    expect(onDebug).not.toHaveBeenCalled();
  });
});

describe("a closed memory", () => {
  test.each(calls)("refuses %s with CLOSED, and ended one that ran, whose signal it aborted", async (_, __, call) => {
    stopClock();
    const { own, signals } = deaf();
    const memory = guarded(own);
    const running = rejected(call(memory));
    await settle();
    const closing = memory.close();
    expect(await running).toMatchObject({ code: "CLOSED" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await pass(10_000);
    await closing;
    expect(await rejected(call(memory))).toMatchObject({ code: "CLOSED" });
    expect(await rejected(call(memory, AbortSignal.abort()))).toMatchObject({ code: "CLOSED" });
  });

  test("closes its manager once, however often it is closed, and gives the status that was known then", async () => {
    let files = 3;
    const close = vi.fn<() => Promise<void>>(async () => void (files = 0));
    const onClose = vi.fn<() => Promise<undefined>>(async () => undefined);
    const memory = guarded({ close, status: () => ({ backend: "fake", provider: "none", files }) }, { onClose });
    await Promise.all([memory.close(), memory.close()]);
    await memory.close();
    expect([close, onClose].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    expect(memory.status().files).toBe(3);
    await expect(guarded({ close: undefined as never }).close()).resolves.toBeUndefined();
  });

  test("waits for the running calls to end before it closes the manager", async () => {
    const events: string[] = [];
    const ending = gate();
    const memory = guarded({
      search: async (_query, { signal }): Promise<MemorySearchResult[]> => {
        signal.addEventListener("abort", () => events.push("aborted"));
        await ending.opened;
        events.push("ended");
        return [];
      },
      close: async () => void events.push("closed"),
    });
    const running = rejected(memory.search("q"));
    await settle();
    const closing = memory.close();
    await running;
    await settle();
    expect(events).toEqual(["aborted"]);
    ending.open();
    await closing;
    expect(events).toEqual(["aborted", "ended", "closed"]);
  });

  test.each([
    ["does not close", hang, { code: "UNAVAILABLE" }],
    ["fails to close", async () => Promise.reject(new Error("disk gone")), { message: "disk gone" }],
  ])("reports a manager that %s, each time, and frees the rest", async (_name, close, error) => {
    stopClock();
    const onClose = vi.fn<() => Promise<undefined>>(async () => undefined);
    const memory = guarded({ close }, { onClose });
    const outcomes = [rejected(memory.close()), rejected(memory.close())];
    await pass(10_000);
    for (const outcome of outcomes) expect(await outcome).toMatchObject(error);
    expect(onClose).toHaveBeenCalledTimes(1);
  });
});
