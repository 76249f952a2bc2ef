import { describe, expect, test } from "vitest";
import {
  type ManagerSyncParams,
  type Memory,
  type MemorySyncParams,
  type SyncProgress,
  type SyncReport,
  isAbort,
} from "@memslot/core";
import { gate, guarded, pass, rejected, settings, settle, stopClock } from "./support/fakes.ts";
import data from "./data/syncs.json" with { type: "json" };

const minuteMs = 60_000;
const done: SyncReport = { added: 1, changed: 0, removed: 0, unchanged: 2, failed: [] };

interface RunningSync {
  params: ManagerSyncParams;
  end: (report?: SyncReport) => void;
  fail: (error: unknown) => void;
}

interface ByHand {
  memory: Memory;
  /** Calls `sync`, and lets it begin. */
  start: (params?: MemorySyncParams) => Promise<{ outcome: Promise<SyncReport | undefined> }>;
  runs: RunningSync[];
  /** How many ran at the same time at most. */
  most: () => number;
}

/** A memory whose syncs are ended by hand. */
function byHand(): ByHand {
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
  const memory = guarded({ sync });
  return {
    memory,
    async start(params) {
      const outcome = memory.sync(params);
      outcome.catch(() => undefined);
      await settle();
      return { outcome };
    },
    runs,
    most: () => most,
  };
}

/** The syncs that were started for these calls; `later`: they all came while another one was at work. */
async function startedBy(calls: MemorySyncParams[], later = true): Promise<ManagerSyncParams[]> {
  const { memory, runs, most } = byHand();
  const answers: Promise<unknown>[] = later ? [memory.sync()] : [];
  if (later) await settle();
  for (const params of calls) {
    answers.push(memory.sync(params));
    if (later) await settle();
  }
  await settle();
  for (let index = 0; index < runs.length; index += 1) {
    runs[index]?.end();
    await settle();
  }
  expect(await Promise.all(answers)).toEqual(answers.map(() => done));
  expect(most()).toBe(1);
  return runs.slice(later ? 1 : 0).map(({ params }) => params);
}

describe("sync", () => {
  test("gives the manager every parameter and the caller its report", async () => {
    const { start, runs } = byHand();
    const plain = await start();
    expect(runs[0]?.params).toMatchObject({ reason: "application", force: false, wait: true });
    expect(runs[0]?.params).not.toHaveProperty("sessions");
    expect(runs[0]?.params.signal).toBeInstanceOf(AbortSignal);
    runs[0]?.end();
    await expect(plain.outcome).resolves.toEqual(done);
    const sessions = [{ sessionId: "s1", sessionKey: "agent:main:main" }];
    await start({ reason: "cli", force: true, wait: false, sessions });
    expect(runs[1]?.params).toMatchObject({ reason: "cli", force: true, wait: false, sessions });
    runs[1]?.end();
  });

  type Started = Partial<ManagerSyncParams>[];
  test.each(data.once as [string, MemorySyncParams[], Started][])("runs once: %s", async (_name, calls, started) => {
    expect(await startedBy(calls, false)).toMatchObject(started);
  });

  test.each(data.again as [string, MemorySyncParams[], Started][])(
    "runs once more after the one that has begun: %s",
    async (_name, calls, started) => {
      const given = await startedBy(calls);
      expect(given).toMatchObject(started);
      expect(given.map(({ sessions }) => sessions)).toEqual(started.map(({ sessions }) => sessions));
    },
  );

  test("that does not wait for other processes is not joined by a caller that wants to wait", async () => {
    const { start, runs } = byHand();
    const first = await start({ wait: false });
    const second = await start();
    runs[0]?.end();
    await first.outcome;
    await settle();
    expect(runs.map(({ params }) => params.wait)).toEqual([false, true]);
    runs[1]?.end();
    await expect(second.outcome).resolves.toEqual(done);
  });

  test("reports to a later caller the progress of the one that it waits for, and then its own", async () => {
    const { start, runs } = byHand();
    const seen: [string, SyncProgress][] = [];
    const progress = (name: string) => (update: SyncProgress) => void seen.push([name, update]);
    await start({ progress: progress("first") });
    runs[0]?.params.progress({ completed: 1, total: 3 });
    await start({ progress: progress("second") });
    runs[0]?.params.progress({ completed: 2, total: 3, label: "a.md" });
    expect(seen).toEqual(data.heard);
    runs[0]?.end();
    await settle();
    runs[1]?.params.progress({ completed: 0, total: 1 });
    expect(seen.slice(4)).toEqual([["second", { completed: 0, total: 1 }]]);
  });

  test("reports the mistake of one caller's progress function to that caller alone", async () => {
    const { memory, start, runs } = byHand();
    const mistaken = memory.sync({
      progress: () => {
        throw new Error("my own mistake");
      },
    });
    const other = await start();
    runs[0]?.params.progress({ completed: 1, total: 1 });
    await expect(mistaken).rejects.toThrow("my own mistake");
    runs[0]?.end();
    await expect(other.outcome).resolves.toEqual(done);
  });

  test("aborts a later caller that aborts in its progress function and throws there, and leaves no error unhandled", async () => {
    const { memory, start, runs } = byHand();
    const first = await start();
    runs[0]?.params.progress({ completed: 1, total: 3 });
    const caller = new AbortController();
    const progress = (): void => {
      caller.abort();
      throw new Error("my own mistake");
    };
    await expect(memory.sync({ progress, signal: caller.signal })).rejects.toMatchObject({ name: "AbortError" });
    runs[0]?.end();
    await expect(first.outcome).resolves.toEqual(done);
  });

  test("fails for all that joined it, and the next caller starts a new one, as one that waited does", async () => {
    const { memory, start, runs } = byHand();
    const both = Promise.allSettled([memory.sync(), memory.sync()]);
    await settle();
    const forced = await start({ force: true });
    runs[0]?.fail(new Error("disk full"));
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await settle();
    runs[1]?.end();
    await expect(forced.outcome).resolves.toEqual(done);
    const next = await start();
    runs[2]?.end();
    await expect(next.outcome).resolves.toEqual(done);
  });
});

describe("the abort of a sync", () => {
  test("detaches its caller and its progress, leaves the sync to the others, and ends it with the last", async () => {
    const { memory, runs } = byHand();
    const seen: SyncProgress[] = [];
    const controllers = [new AbortController(), new AbortController()] as const;
    const leaving = controllers.map(({ signal }, index) =>
      rejected(memory.sync({ signal, ...(index === 0 && { progress: (update) => seen.push(update) }) })),
    );
    await settle();
    controllers[0].abort();
    expect(isAbort(await leaving[0])).toBe(true);
    runs[0]?.params.progress({ completed: 1, total: 1 });
    expect([runs[0]?.params.signal.aborted, seen]).toEqual([false, []]);
    controllers[1].abort();
    expect(isAbort(await leaving[1])).toBe(true);
    expect(runs[0]?.params.signal.aborted).toBe(true);
  });

  test("does not let the next caller join what was aborted, nor run beside it", async () => {
    const { start, runs, most } = byHand();
    const controller = new AbortController();
    const leaving = await start({ signal: controller.signal });
    controller.abort();
    expect(isAbort(await rejected(leaving.outcome))).toBe(true);
    const next = await start();
    expect(runs).toHaveLength(1);
    runs[0]?.fail(new Error("aborted"));
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    await expect(next.outcome).resolves.toEqual(done);
    expect(most()).toBe(1);
  });

  test("while it waits for another one keeps it from being started", async () => {
    const { start, runs } = byHand();
    await start();
    const controller = new AbortController();
    const forced = await start({ force: true, signal: controller.signal });
    controller.abort();
    expect(isAbort(await rejected(forced.outcome))).toBe(true);
    runs[0]?.end();
    await settle();
    expect(runs).toHaveLength(1);
  });
});

describe("a sync at the start of a session", () => {
  test.each([
    ["session-start", true, done],
    ["session-start", false, undefined],
    ["cli", false, done],
  ])("with the reason %s and the setting onSessionStart %s gives %j", async (reason, onSessionStart, report) => {
    const memory = guarded({ sync: async () => done }, { settings: settings({ sync: { onSessionStart } }) });
    expect(await memory.sync({ reason })).toEqual(report);
    expect(isAbort(await rejected(memory.sync({ reason, signal: AbortSignal.abort() })))).toBe(true);
  });
});

describe("the deadline of a sync", () => {
  test.each(data.putOff as [string, MemorySyncParams][])("%s", async (_name, params) => {
    stopClock();
    const { start, runs } = byHand();
    await start();
    const waiting = await start(params);
    for (let completed = 1; completed <= 6; completed += 1) {
      await pass(9 * minuteMs);
      runs[0]?.params.progress({ completed, total: 6 });
    }
    runs[0]?.end();
    await settle();
    runs[1]?.end();
    await expect(waiting.outcome).resolves.toEqual(done);
  });

  test("is 10 minutes, after which the next one waits until it has really ended", async () => {
    stopClock();
    const { start, runs, most } = byHand();
    const late = [await start(), await start({ force: true })];
    await pass(10 * minuteMs - 1);
    expect(runs[0]?.params.signal.aborted).toBe(false);
    await pass(1);
    for (const { outcome } of late) expect(await rejected(outcome)).toMatchObject({ code: "UNAVAILABLE" });
    expect(runs[0]?.params.signal.aborted).toBe(true);
    const next = await start({ force: true });
    expect(runs).toHaveLength(1);
    runs[0]?.fail(new Error("aborted"));
    await settle();
    runs.at(-1)?.end();
    await expect(next.outcome).resolves.toEqual(done);
    expect(most()).toBe(1);
  });
});

test("closing ends a sync and what waits for it with CLOSED, and starts nothing more", async () => {
  const { memory, start, runs } = byHand();
  const both = [await start(), await start({ force: true })];
  const closing = memory.close();
  for (const { outcome } of both) expect(await rejected(outcome)).toMatchObject({ code: "CLOSED" });
  runs[0]?.fail(new Error("aborted"));
  await closing;
  expect(runs).toHaveLength(1);
});
