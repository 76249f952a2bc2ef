import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type ManagerSyncParams,
  type Memory,
  type MemorySyncParams,
  type SyncProgress,
  type SyncReport,
  isAbort,
} from "@memslot/core";
import { gate, guarded, settings, settle } from "./support/fakes.ts";

const minuteMs = 60_000;
const done: SyncReport = { added: 1, changed: 0, removed: 0, unchanged: 2, failed: [] };

interface RunningSync {
  params: ManagerSyncParams;
  end: (report?: SyncReport) => void;
  fail: (error: unknown) => void;
}

/** A memory whose syncs are ended by hand, and how many ran at the same time at most. */
function byHand(deadlines = {}): { memory: Memory; runs: RunningSync[]; most: () => number } {
  const runs: RunningSync[] = [];
  let now = 0;
  let most = 0;
  const sync = async (params: ManagerSyncParams): Promise<SyncReport> => {
    const { opened, open, fail } = gate<SyncReport>();
    runs.push({ params, end: (report = done) => open(report), fail });
    now += 1;
    most = Math.max(most, now);
    try {
      return await opened;
    } finally {
      now -= 1;
    }
  };
  return { memory: guarded({ sync }, { deadlines }), runs, most: () => most };
}

describe("sync", () => {
  test("gives the manager every parameter and the caller its report", async () => {
    const { memory, runs } = byHand();
    const plain = memory.sync();
    await settle();
    expect(runs[0]?.params).toMatchObject({ reason: "application", force: false, wait: true });
    expect(runs[0]?.params).not.toHaveProperty("sessions");
    expect(runs[0]?.params.signal).toBeInstanceOf(AbortSignal);
    runs[0]?.end();
    await expect(plain).resolves.toEqual(done);
    const sessions = [{ sessionId: "s1", sessionKey: "agent:main:main" }];
    const forced = memory.sync({ reason: "cli", force: true, wait: false, sessions });
    await settle();
    expect(runs[1]?.params).toMatchObject({ reason: "cli", force: true, wait: false, sessions });
    runs[1]?.end();
    await forced;
  });

  test("runs one at a time: callers at the same time join it and get its report", async () => {
    const { memory, runs, most } = byHand();
    const both = [memory.sync(), memory.sync()];
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.end();
    expect(await Promise.all(both)).toEqual([done, done]);
    expect(most()).toBe(1);
  });

  test("is not joined once it has begun, which may be past what was saved since: those that come share the next", async () => {
    const { memory, runs, most } = byHand();
    const first = memory.sync();
    await settle();
    const later = [memory.sync(), memory.sync()];
    await settle();
    const other = memory.sync({ wait: false });
    expect(runs).toHaveLength(1);
    runs[0]?.end({ ...done, added: 7 });
    expect(await first).toEqual({ ...done, added: 7 });
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    expect(await Promise.all([...later, other])).toEqual([done, done, done]);
    expect(most()).toBe(1);
  });

  test("runs again for a caller that comes after the end", async () => {
    const { memory, runs } = byHand();
    const first = memory.sync();
    await settle();
    runs[0]?.end();
    await first;
    const second = memory.sync();
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    await second;
  });

  test("tells a later caller the progress of the one that it waits for, and then its own", async () => {
    const { memory, runs } = byHand();
    const seen: [string, SyncProgress][] = [];
    const first = memory.sync({ progress: (update) => seen.push(["first", update]) });
    await settle();
    runs[0]?.params.progress({ completed: 1, total: 3 });
    const second = memory.sync({ progress: (update) => seen.push(["second", update]) });
    await settle();
    runs[0]?.params.progress({ completed: 2, total: 3, label: "a.md" });
    expect(seen).toEqual([
      ["first", { completed: 1, total: 3 }],
      ["second", { completed: 1, total: 3 }],
      ["first", { completed: 2, total: 3, label: "a.md" }],
      ["second", { completed: 2, total: 3, label: "a.md" }],
    ]);
    runs[0]?.end();
    await first;
    await settle();
    runs[1]?.params.progress({ completed: 0, total: 1 });
    expect(seen.slice(4)).toEqual([["second", { completed: 0, total: 1 }]]);
    runs[1]?.end();
    await second;
  });

  test("tells the mistake of one caller's progress function to that caller alone", async () => {
    const { memory, runs } = byHand();
    const mistaken = memory.sync({
      progress: () => {
        throw new Error("my own mistake");
      },
    });
    const other = memory.sync();
    await settle();
    runs[0]?.params.progress({ completed: 1, total: 1 });
    await expect(mistaken).rejects.toThrow("my own mistake");
    runs[0]?.end();
    await expect(other).resolves.toEqual(done);
  });

  test("fails for all that joined it, and the next caller starts a new one", async () => {
    const { memory, runs } = byHand();
    const both = Promise.allSettled([memory.sync(), memory.sync()]);
    await settle();
    runs[0]?.fail(new Error("disk full"));
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const next = memory.sync();
    await settle();
    runs[1]?.end();
    await expect(next).resolves.toEqual(done);
  });
});

describe("the abort of a sync", () => {
  test("detaches its caller and leaves the sync to the others", async () => {
    const { memory, runs } = byHand();
    const controller = new AbortController();
    const leaving = memory.sync({ signal: controller.signal }).catch((error: unknown) => error);
    const staying = memory.sync();
    await settle();
    controller.abort();
    expect(isAbort(await leaving)).toBe(true);
    expect(runs[0]?.params.signal.aborted).toBe(false);
    runs[0]?.end();
    await expect(staying).resolves.toEqual(done);
  });

  test("stops the progress of its caller", async () => {
    const { memory, runs } = byHand();
    const seen: SyncProgress[] = [];
    const controller = new AbortController();
    const leaving = memory
      .sync({ signal: controller.signal, progress: (update) => seen.push(update) })
      .catch(() => undefined);
    const staying = memory.sync();
    await settle();
    controller.abort();
    await leaving;
    runs[0]?.params.progress({ completed: 1, total: 1 });
    expect(seen).toEqual([]);
    runs[0]?.end();
    await staying;
  });

  test("by the last caller aborts the sync", async () => {
    const { memory, runs } = byHand();
    const controllers = [new AbortController(), new AbortController()];
    const leaving = controllers.map(({ signal }) => memory.sync({ signal }).catch((error: unknown) => error));
    await settle();
    controllers[0]?.abort();
    await settle();
    expect(runs[0]?.params.signal.aborted).toBe(false);
    controllers[1]?.abort();
    await settle();
    expect(runs[0]?.params.signal.aborted).toBe(true);
    expect((await Promise.all(leaving)).every(isAbort)).toBe(true);
    runs[0]?.end();
  });

  test("does not let the next caller join what was aborted, nor run beside it", async () => {
    const { memory, runs, most } = byHand();
    const controller = new AbortController();
    const leaving = memory.sync({ signal: controller.signal }).catch(() => undefined);
    await settle();
    controller.abort();
    await leaving;
    const next = memory.sync();
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.fail(new Error("aborted"));
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    await expect(next).resolves.toEqual(done);
    expect(most()).toBe(1);
  });
});

describe("a forced sync", () => {
  test("waits for one that is not forced and then starts its own, together with others that want the same", async () => {
    const { memory, runs, most } = byHand();
    const plain = memory.sync();
    await settle();
    const forced = [memory.sync({ force: true }), memory.sync({ force: true })];
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.end();
    await plain;
    await settle();
    expect(runs).toHaveLength(2);
    expect(runs[1]?.params.force).toBe(true);
    runs[1]?.end({ ...done, changed: 9 });
    expect(await Promise.all(forced)).toEqual([
      { ...done, changed: 9 },
      { ...done, changed: 9 },
    ]);
    expect(most()).toBe(1);
  });

  test("that has not begun is joined by one that is forced, and by one that is not", async () => {
    const { memory, runs } = byHand();
    const all = [memory.sync({ force: true }), memory.sync({ force: true }), memory.sync()];
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.end();
    await Promise.all(all);
  });

  test("starts also when the one before it failed", async () => {
    const { memory, runs } = byHand();
    const plain = memory.sync().catch(() => undefined);
    await settle();
    const forced = memory.sync({ force: true });
    runs[0]?.fail(new Error("disk full"));
    await plain;
    await settle();
    runs[1]?.end();
    await expect(forced).resolves.toEqual(done);
  });

  test("makes a sync that has not begun a forced one", async () => {
    const { memory, runs } = byHand();
    const both = [memory.sync(), memory.sync({ force: true })];
    await settle();
    expect(runs.map(({ params }) => params.force)).toEqual([true]);
    runs[0]?.end();
    await Promise.all(both);
  });

  test("that was aborted while it waited is never started", async () => {
    const { memory, runs } = byHand();
    const plain = memory.sync();
    await settle();
    const controller = new AbortController();
    const forced = memory.sync({ force: true, signal: controller.signal }).catch((error: unknown) => error);
    await settle();
    controller.abort();
    expect(isAbort(await forced)).toBe(true);
    runs[0]?.end();
    await plain;
    await settle();
    expect(runs).toHaveLength(1);
  });
});

/** The syncs that were started for these calls, which all came while another one was at work. */
async function startedBy(...calls: MemorySyncParams[]): Promise<ManagerSyncParams[]> {
  const { memory, runs, most } = byHand();
  const answers: Promise<unknown>[] = [memory.sync()];
  await settle();
  for (const params of calls) {
    answers.push(memory.sync(params));
    await settle();
  }
  for (let index = 0; index < runs.length; index += 1) {
    runs[index]?.end();
    await settle();
  }
  expect(await Promise.all(answers)).toEqual(answers.map(() => done));
  expect(most()).toBe(1);
  return runs.slice(1).map(({ params }) => params);
}

describe("a sync of some sessions", () => {
  const [one, two] = [[{ sessionId: "s1" }], [{ sessionId: "s2" }]];

  test("waits for one of everything, which keeps to the thresholds, and then starts its own", async () => {
    const started = await startedBy({}, { sessions: one });
    expect(started.map(({ sessions }) => sessions)).toEqual([undefined, one]);
  });

  test("joins a forced one, which takes every transcript", async () => {
    expect(await startedBy({ force: true }, { sessions: one })).toHaveLength(1);
  });

  test("joins one that takes the same sessions", async () => {
    const started = await startedBy({ sessions: [...one, ...two] }, { sessions: two }, { sessions: one });
    expect(started.map(({ sessions }) => sessions)).toEqual([[...one, ...two]]);
  });

  test("is never joined by a caller for everything", async () => {
    const started = await startedBy({ sessions: one }, {}, { sessions: one });
    expect(started.map(({ sessions }) => sessions)).toEqual([one, undefined]);
  });

  test("is made together with others that wait, while syncs of everything keep their own place", async () => {
    const started = await startedBy({ sessions: one }, { sessions: two }, { force: true }, { sessions: one });
    expect(started.map(({ sessions, force }) => [force, sessions])).toEqual([
      [false, [...one, ...two]],
      [true, undefined],
    ]);
  });
});

describe("a sync that does not wait for other processes", () => {
  test("joins one of this process that does", async () => {
    const started = await startedBy({}, { wait: false });
    expect(started.map(({ wait }) => wait)).toEqual([true]);
  });

  test("has begun, and is not joined by a caller that wants to wait, who gets one of its own", async () => {
    const { memory, runs } = byHand();
    const first = memory.sync({ wait: false });
    await settle();
    const second = memory.sync();
    runs[0]?.end();
    await first;
    await settle();
    expect(runs.map(({ params }) => params.wait)).toEqual([false, true]);
    runs[1]?.end();
    await second;
  });

  test("waits where it has not begun and one of its callers wants to", async () => {
    const { memory, runs } = byHand();
    const both = [memory.sync({ wait: false }), memory.sync()];
    await settle();
    expect(runs.map(({ params }) => params.wait)).toEqual([true]);
    runs[0]?.end();
    await Promise.all(both);
  });
});

describe("a sync at the start of a session", () => {
  const started = async (onSessionStart: boolean): Promise<[SyncReport | undefined, string[]]> => {
    const reasons: string[] = [];
    const sync = async ({ reason }: ManagerSyncParams): Promise<SyncReport> => {
      reasons.push(reason);
      return done;
    };
    const memory = guarded({ sync }, { settings: settings({ sync: { onSessionStart } }) });
    return [await memory.sync({ reason: "session-start" }), reasons];
  };

  test("is made where the settings say so", async () => {
    expect(await started(true)).toEqual([done, ["session-start"]]);
  });

  test("is left out where they do not", async () => {
    expect(await started(false)).toEqual([undefined, []]);
  });

  test("is an AbortError where its signal is aborted, in either case", async () => {
    for (const onSessionStart of [true, false]) {
      const memory = guarded({}, { settings: settings({ sync: { onSessionStart } }) });
      const sync = memory.sync({ reason: "session-start", signal: AbortSignal.abort() });
      expect(isAbort(await sync.catch((error: unknown) => error))).toBe(true);
    }
  });

  test("for other reasons goes on whatever the setting is", async () => {
    const memory = guarded({ sync: async () => done }, { settings: settings({ sync: { onSessionStart: false } }) });
    await expect(memory.sync({ reason: "cli" })).resolves.toEqual(done);
  });
});

describe("the deadline of a sync", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("is counted from the last progress", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { memory, runs } = byHand();
    const sync = memory.sync();
    await settle();
    for (let completed = 1; completed <= 6; completed += 1) {
      await vi.advanceTimersByTimeAsync(9 * minuteMs);
      runs[0]?.params.progress({ completed, total: 6 });
    }
    runs[0]?.end();
    await expect(sync).resolves.toEqual(done);
  });

  test("is put off by the progress of the sync that a forced one waits for", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { memory, runs } = byHand();
    const plain = memory.sync();
    await settle();
    const forced = memory.sync({ force: true });
    for (let completed = 1; completed <= 6; completed += 1) {
      await vi.advanceTimersByTimeAsync(9 * minuteMs);
      runs[0]?.params.progress({ completed, total: 6 });
    }
    runs[0]?.end();
    await plain;
    await settle();
    runs[1]?.end();
    await expect(forced).resolves.toEqual(done);
  });

  test("is 10 minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { memory } = byHand();
    const outcome = memory.sync().catch((error: unknown) => error);
    await settle();
    await vi.advanceTimersByTimeAsync(10 * minuteMs - 1);
    expect(await Promise.race([outcome, settle().then(() => "running")])).toBe("running");
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({ code: "UNAVAILABLE" });
  });

  test("ends a sync without progress, and the next one waits until it has really ended", async () => {
    const { memory, runs, most } = byHand({ syncIdleMs: 50 });
    await expect(memory.sync()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(runs[0]?.params.signal.aborted).toBe(true);
    const next = memory.sync();
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.fail(new Error("aborted"));
    await settle();
    runs[1]?.end();
    await expect(next).resolves.toEqual(done);
    expect(most()).toBe(1);
  });

  test("of one that waited is not what the next caller gets", async () => {
    const { memory, runs } = byHand({ syncIdleMs: 50 });
    const both = [memory.sync(), memory.sync({ force: true })];
    await settle();
    const late = await Promise.allSettled([...both, memory.sync({ force: true })]);
    expect(late.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    const forced = memory.sync({ force: true });
    for (const run of runs) run.fail(new Error("aborted"));
    await settle();
    runs.at(-1)?.end();
    await expect(forced).resolves.toEqual(done);
  });

  test("leaves no timer behind when progress comes after the end", async () => {
    const { memory, runs } = byHand({ syncIdleMs: 60_000 });
    const sync = memory.sync();
    await settle();
    runs[0]?.end();
    await sync;
    const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    runs[0]?.params.progress({ completed: 1, total: 1 });
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before);
  });
});

describe("closing while a sync runs", () => {
  test("ends it and what waits for it with CLOSED, and starts nothing more", async () => {
    const { memory, runs } = byHand({ closeMs: 200 });
    const plain = memory.sync().catch((error: unknown) => error);
    await settle();
    const forced = memory.sync({ force: true }).catch((error: unknown) => error);
    await settle();
    const closing = memory.close();
    expect(await plain).toMatchObject({ code: "CLOSED" });
    expect(await forced).toMatchObject({ code: "CLOSED" });
    runs[0]?.fail(new Error("aborted"));
    await closing;
    expect(runs).toHaveLength(1);
  });
});
