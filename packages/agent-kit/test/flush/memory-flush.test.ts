import { beforeEach, describe, expect, test } from "vitest";
import { type FlushState, shouldFlush } from "@memslot/agent-kit";
import flushes from "../data/flushes.json" with { type: "json" };
import { type FlushHouse, noteTaker, talk, user, useFlushHouse, watching, retry } from "./support/flush-house.ts";

let house: FlushHouse;
beforeEach(() => void (house = useFlushHouse()));

const full: FlushState = { contextTokens: 190_000, contextWindowTokens: 200_000, compactionCount: 0 };

describe("a flush after a turn", () => {
  test("hands the messages over and notes them on the day they were said", async () => {
    const runTurn = watching(noteTaker);
    const flush = await house.open({ runTurn });
    expect(flush.afterTurn(full, talk)).toMatchObject({ flush: true });
    const report = await flush.settled();
    expect(report).toEqual(flushes.reportOfDone);
    expect(house.note("2026-03-05")).toBe("# 2026-03-05\n\n- 11:00 The boat is called Heron.\n");
    expect(runTurn.given[0]?.messages).toEqual(talk);
    expect(runTurn.given[0]?.prompt).toMatch(/^Pre-compaction memory flush/);
    expect(house.reports).toEqual([report]);
    expect(house.journal()).toEqual([]);
    expect(flush.status).toMatchObject({ pending: 0, lastReport: report, notices: [] });
  });

  test("keeps in the session when it was, and is not run again in the cycle", async () => {
    const flush = await house.open({ runTurn: noteTaker, clock: () => new Date("2026-03-05T12:00:00Z") });
    flush.afterTurn({ ...full, compactionCount: 3 }, talk);
    await flush.settled();
    expect(house.session.record).toEqual({
      memoryFlushAt: "2026-03-05T12:00:00.000Z",
      memoryFlushCompactionCount: 3,
      memoryFlushError: undefined,
    });
    const { memoryFlushCompactionCount } = house.session.facts;
    expect(flush.afterTurn({ ...full, compactionCount: 3, memoryFlushCompactionCount }, talk).flush).toBe(false);
  });

  test("does not wait for the model, and does not start a second one meanwhile", async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const runTurn = watching(async (turn) => {
      await opened;
      return await noteTaker(turn);
    });
    const flush = await house.open({ runTurn });
    flush.afterTurn(full, talk);
    expect(flush.afterTurn(full, talk)).toEqual({ flush: false, reason: "a flush of this cycle is running" });
    open();
    await flush.settled();
    expect(runTurn.given).toHaveLength(1);
  });

  test("only hands over what was not handed over before", async () => {
    const runTurn = watching(noteTaker);
    const flush = await house.open({ runTurn });
    flush.afterTurn(full, talk);
    await flush.settled();
    flush.afterTurn({ ...full, compactionCount: 1 }, [...talk, user("u2", "It has a red hull.")]);
    await flush.settled();
    expect(runTurn.given.map(({ messages }) => messages.map(({ id }) => id))).toEqual([["u1", "a1"], ["u2"]]);
    // Nothing new: then that was the flush of the cycle.
    flush.afterTurn({ ...full, compactionCount: 2 }, talk);
    expect(await flush.settled()).toBeUndefined();
    expect(house.session.record["memoryFlushCompactionCount"]).toBe(2);
    expect(runTurn.given).toHaveLength(2);
  });
});

describe("before messages are dropped", () => {
  test("they are on disk when it resolves, whatever the model does", async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const flush = await house.open({
      runTurn: async (turn) => {
        await opened;
        return await noteTaker(turn);
      },
    });
    expect(await flush.beforeDrop(talk)).toEqual({ state: "journaled", messages: 2 });
    expect(house.journal()).toHaveLength(1);
    expect(flush.status.pending).toBe(1);
    open();
    expect(await flush.settled()).toMatchObject({ state: "done" });
    expect(flush.status.pending).toBe(0);
  });

  test("the same ones twice, also one twice in a call, add nothing", async () => {
    const runTurn = watching(noteTaker);
    const flush = await house.open({ runTurn });
    await flush.beforeDrop([...talk, ...talk]);
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "nothing", messages: 0 });
    await flush.settled();
    const before = house.notes();
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "nothing", messages: 0 });
    expect(await flush.settled()).toBeUndefined();
    expect(house.notes()).toBe(before);
    expect(runTurn.given.flatMap(({ messages }) => messages)).toHaveLength(2);
  });

  test("what was handed over is known after a restart", async () => {
    const { flush: first } = await house.drop(talk, { runTurn: noteTaker });
    await first.close();
    const second = await house.open({ runTurn: noteTaker });
    expect(await second.beforeDrop(talk)).toMatchObject({ state: "nothing" });
  });

  test("the same id in another session is another message", async () => {
    const flush = await house.open({ runTurn: noteTaker });
    await flush.beforeDrop(talk);
    const other = await house.open({
      runTurn: noteTaker,
      session: { ...house.session, key: house.session.key, id: "other", facts: house.session.facts },
    });
    expect(await other.beforeDrop(talk)).toMatchObject({ state: "journaled", messages: 2 });
  });

  test("none is nothing, and an aborted call journals nothing", async () => {
    const flush = await house.open({ runTurn: noteTaker });
    expect(await flush.beforeDrop([])).toMatchObject({ state: "nothing" });
    await expect(flush.beforeDrop(talk, { signal: AbortSignal.abort() })).rejects.toThrow(
      expect.objectContaining({ name: "AbortError" }),
    );
    expect(house.journal()).toEqual([]);
  });

  test("each local day is a turn of its own, dated by its messages", async () => {
    house = useFlushHouse({ timeZone: "Asia/Shanghai" });
    const runTurn = watching(noteTaker);
    const { report } = await house.drop(
      [
        user("u1", "I moved to Ghent.", "2026-03-05T15:59:58.000Z"),
        user("u2", "The new street is Veldstraat.", "2026-03-05T16:00:02.000Z"),
      ],
      { runTurn, clock: () => new Date("2026-04-01T00:00:00Z") },
    );
    expect(report).toMatchObject({ days: ["2026-03-05", "2026-03-06"], tries: 2 });
    expect(house.note("2026-03-05")).toBe("# 2026-03-05\n\n- 23:59 I moved to Ghent.\n");
    expect(house.note("2026-03-06")).toBe("# 2026-03-06\n\n- 00:00 The new street is Veldstraat.\n");
    expect(runTurn.given.map(({ prompt }) => /2026-\d\d-\d\d, up to \d\d:\d\d/.exec(prompt)?.[0])).toEqual([
      "2026-03-05, up to 23:59",
      "2026-03-06, up to 00:00",
    ]);
  });

  test("more than half of the model's window is several turns", async () => {
    const runTurn = watching(noteTaker);
    const flush = await house.open({ runTurn, contextWindowTokens: 8_000 });
    const messages = Array.from({ length: 20 }, (_, index) => user(`u${index}`, `${index} ${"word ".repeat(700)}`));
    await flush.beforeDrop(messages);
    await flush.settled();
    expect(runTurn.given).toHaveLength(5);
    expect(runTurn.given.flatMap((turn) => turn.messages.map(({ id }) => id))).toEqual(messages.map(({ id }) => id));
  });
});

describe("a flush that is off", () => {
  test("in the configuration does nothing and says so", async () => {
    const flush = await house.open({
      runTurn: noteTaker,
      agent: house.agentWith({ memoryFlush: { enabled: false } }),
    });
    expect(flush.afterTurn(full, talk)).toMatchObject({ flush: false, reason: expect.stringContaining("off") });
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "off", messages: 0 });
    expect(await flush.settled()).toBeUndefined();
    expect(house.notes()).toBe("");
    expect(house.journal("")).toEqual([]);
  });

  test.each(flushes.othersTalk as [string, string][])("in %s keeps nothing of it anywhere", async (_name, key) => {
    house = useFlushHouse({ key });
    const flush = await house.open({ runTurn: noteTaker });
    expect(flush.afterTurn(full, talk)).toMatchObject({ flush: false, reason: expect.stringContaining("group") });
    expect(await flush.beforeDrop(talk)).toEqual(flushes.reportOfShared);
    expect(await retry(flush)).toBeUndefined();
    expect(house.notes()).toBe("");
    expect(house.journal("")).toEqual([]);
  });

  test("after it was closed refuses messages, so that nothing is dropped", async () => {
    const flush = await house.open({ runTurn: noteTaker });
    await flush.close();
    await flush.close();
    await expect(flush.beforeDrop(talk)).rejects.toMatchObject({ code: "CLOSED" });
    expect(flush.afterTurn(full, talk).flush).toBe(false);
    expect(await retry(flush)).toBeUndefined();
  });

  test("is refused for a session of another agent", async () => {
    house = useFlushHouse({ key: "agent:other:main" });
    await expect(house.open({ runTurn: noteTaker })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

type DueRow = [
  when: string,
  state: Partial<FlushState>,
  flush: boolean,
  compaction?: Record<string, unknown>,
  reason?: string,
];

test.each(flushes.due as DueRow[])("a flush is due %s", (_, state, flush, compaction = {}, reason = ".") => {
  const { compaction: settings } = house.agentWith(compaction);
  const known = { contextTokens: 0, contextWindowTokens: 200_000, compactionCount: 0, ...state };
  expect(shouldFlush(known, settings)).toEqual({ flush, reason: expect.stringMatching(new RegExp(reason)) });
});
