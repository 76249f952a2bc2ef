import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type FlushTurn, runToolCall } from "@memslot/agent-kit";
import {
  type FlushHouse,
  down,
  entryOf,
  inTurn,
  noteTaker,
  talk,
  user,
  useFlushHouse,
  watching,
  retry,
} from "./support/flush-house.ts";
import { runProgram } from "../support/run-program.ts";
import flushes from "../data/flushes.json" with { type: "json" };

let house: FlushHouse;
beforeEach(() => void (house = useFlushHouse()));

function append(text: string): FlushTurn {
  return async ({ tools }) => {
    await runToolCall(tools, { name: "memory_append", arguments: JSON.stringify({ text, kind: "daily" }) });
    return "NO_REPLY";
  };
}

describe("a model that fails", () => {
  test.each<[string, FlushTurn]>([
    ["throws", down],
    ["answers nothing", async () => "  \n"],
    ["gives no text", async () => undefined as unknown as string],
    ["has its notes refused and gives up", append("<!-- hidden -->")],
  ])("%s: is asked three times, and then the messages wait", async (_, turn) => {
    const runTurn = inTurn(turn);
    const { flush, report } = await house.drop(talk, { runTurn });
    expect(report).toMatchObject({ state: "failed", tries: 3, messages: 2, entries: [] });
    expect(report?.reason).toBeTruthy();
    expect(runTurn.given).toHaveLength(3);
    expect(flush.status.pending).toBe(1);
    expect(entryOf(house)).toMatchObject({ messages: talk, rounds: 1, tries: 3, lastError: report?.reason });
    expect(house.session.record).toEqual({ memoryFlushError: report?.reason });
    expect(house.notes()).toBe("");
  });

  test("and then answers is done, and the failure is forgotten", async () => {
    const { report } = await house.drop(talk, { runTurn: inTurn(down, down, noteTaker) });
    expect(report).toMatchObject({ state: "done", tries: 3 });
    expect(house.journal()).toEqual([]);
    expect(house.session.record).toMatchObject({ memoryFlushError: undefined, memoryFlushCompactionCount: 0 });
  });

  test("never ends: it is stopped, and cannot write any more", async () => {
    const late: object[] = [];
    const turns: Promise<void>[] = [];
    const endless: FlushTurn = async ({ tools, signal }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      turns.push(
        promise.then(async () => {
          const call = { name: "memory_append", arguments: '{"text":"too late","kind":"daily"}' };
          // After the one who waited has gone on.
          await new Promise(setImmediate);
          late.push(await runToolCall(tools, call));
        }),
      );
      return await new Promise<string>(() => undefined);
    };
    const { report } = await house.drop(talk, { runTurn: endless, turnDeadlineMs: 5, retryDelaysMs: [] });
    expect(report).toMatchObject({ state: "failed", reason: expect.stringContaining("within") });
    await Promise.all(turns);
    expect(late).toMatchObject([{ code: "CLOSED" }]);
    expect(house.notes()).toBe("");
  });

  test("three rounds long: a digest is written once, and a model that comes later still takes the messages", async () => {
    const { flush, report } = await house.drop(talk, { runTurn: down });
    expect(report).toMatchObject({ state: "failed" });
    expect(await retry(flush)).toMatchObject({ state: "failed", tries: 3 });
    expect(await retry(flush)).toMatchObject(flushes.digested);
    expect(house.note("2026-03-05")).toContain("Digest of dropped messages (the model did not answer):");
    const before = house.notes();
    expect(await retry(flush)).toMatchObject({ state: "failed" });
    expect(house.notes()).toBe(before);
    expect(entryOf(house)).toMatchObject({ messages: talk, rounds: 4, tries: 12 });
    await flush.close();
    expect(await house.workOff(noteTaker)).toMatchObject({ state: "done" });
    expect(house.notes().startsWith(before)).toBe(true);
    expect(house.journal()).toEqual([]);
  });

  test("for one day does not keep the others back", async () => {
    const runTurn = watching(async (turn) =>
      turn.prompt.includes("2026-03-05") ? await down(turn) : await noteTaker(turn),
    );
    const flush = await house.open({ runTurn });
    const next = user("u2", "It has a red hull.", "2026-03-06T10:00:00.000Z");
    await flush.beforeDrop([...talk, next]);
    expect(await flush.settled()).toMatchObject({ state: "failed", tries: 4, entries: ["memory/2026-03-06.md#L3-L3"] });
    await retry(flush);
    // Only what is left.
    expect(runTurn.given.slice(4).every(({ messages }) => messages.every(({ id }) => id !== "u2"))).toBe(true);
    expect(house.note("2026-03-06").match(/red hull/g)).toHaveLength(1);
  });

  test("for the first day is asked once for each of the others", async () => {
    const runTurn = watching(down);
    const flush = await house.open({ runTurn });
    const later = ["06", "07"].map((day) => user(`u${day}`, "x", `2026-03-${day}T10:00:00.000Z`));
    await flush.beforeDrop([...talk, ...later]);
    expect(await flush.settled()).toMatchObject({ state: "failed", tries: 5 });
    expect(runTurn.given.map(({ messages }) => messages[0]?.id)).toEqual(["u1", "u1", "u1", "u06", "u07"]);
  });

  test("whose flush is closed meanwhile: the messages wait, and no try is counted", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const flush = await house.open({
      runTurn: async () => {
        resolve();
        return await new Promise<string>(() => undefined);
      },
    });
    await flush.beforeDrop(talk);
    await asked;
    await flush.close();
    expect(house.reports).toEqual([]);
    expect(entryOf(house)).toMatchObject({ rounds: 0, tries: 0 });
    expect(house.journal(".lock")).toEqual([]);
    expect(await house.workOff(noteTaker)).toMatchObject({ state: "done" });
  });

  test("a reporter or a record of the session that fails undoes nothing", async () => {
    const flush = await house.open({
      runTurn: noteTaker,
      onReport: () => {
        throw new Error("the terminal is gone");
      },
      session: { ...house.session, facts: house.session.facts, update: () => Promise.reject(new Error("disk full")) },
    });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "done" });
    expect(house.journal()).toEqual([]);
    expect(flush.status.notices.join()).toMatch(/disk full.*terminal is gone/);
  });
});

describe("without a model", () => {
  test("a digest of each day is written at once, and the messages wait for a model", async () => {
    const flush = await house.open();
    const next = user("u2", "It has a red hull.", "2026-03-06T10:00:00.000Z");
    await flush.beforeDrop([...talk, next]);
    expect(await flush.settled()).toEqual(flushes.digestOfFailed);
    expect(house.note("2026-03-05")).toBe(flushes.digestNote.join("\n"));
    expect(flush.status.pending).toBe(1);
    const before = house.notes();
    expect(await retry(flush)).toBeUndefined();
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "nothing" });
    expect(house.notes()).toBe(before);
    await flush.close();

    const runTurn = watching(noteTaker);
    expect(await house.workOff(runTurn)).toMatchObject({ state: "done", messages: 3 });
    expect(runTurn.given.flatMap(({ messages }) => messages)).toEqual([...talk, next]);
    expect(house.journal()).toEqual([]);
  });

  test.each([
    ["without a model", undefined],
    ["with a model that always fails", down],
  ])("what no model took within 30 days is reported and removed: %s", async (_, runTurn) => {
    let now = new Date("2026-03-05T12:00:00Z");
    const { flush } = await house.drop(talk, { runTurn, clock: () => now });
    if (runTurn !== undefined)
      for (const state of ["failed", "digested"]) expect(await retry(flush)).toMatchObject({ state });
    now = new Date("2026-04-04T11:59:00Z");
    await retry(flush);
    expect(flush.status.pending).toBe(1);
    now = new Date("2026-04-04T12:01:00Z");
    expect(await retry(flush)).toMatchObject({ state: "digested", reason: expect.stringContaining("30 days") });
    expect(flush.status.pending).toBe(0);
    expect(house.journal()).toEqual([]);
  });
});

describe("notes that cannot be written", () => {
  test.each(["noted", "digested"] as const)("are said, the messages wait, and are %s when they can be", async (how) => {
    const folder = path.join(house.workspaceDir, "memory");
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "not a folder");
    const runTurn = how === "noted" ? watching(noteTaker) : undefined;
    const flush = await house.open({ runTurn });
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "journaled" });
    const report = await flush.settled();
    expect(report).toMatchObject({
      state: "skipped",
      tries: 0,
      reason: expect.stringMatching(/cannot be written.*memory is not a folder/),
    });
    // A model that notes what nobody can save costs money.
    expect(runTurn?.given ?? []).toEqual([]);
    expect(house.session.record).toEqual({ memoryFlushError: report?.reason });
    expect(entryOf(house)).toMatchObject({ messages: talk, rounds: 0 });
    expect(readFileSync(folder, "utf8")).toBe("not a folder");
    rmSync(folder);
    expect(await retry(flush)).toMatchObject({ state: how === "noted" ? "done" : "digested" });
  });

  test("in the middle of a turn end it, whatever the model says then", async () => {
    const folder = path.join(house.workspaceDir, "memory");
    const runTurn = watching(async (turn) => {
      renameSync(folder, `${folder}.away`);
      writeFileSync(folder, "not a folder");
      return await noteTaker(turn);
    });
    const { flush, report } = await house.drop(talk, { runTurn });
    expect(report).toMatchObject({ state: "skipped", tries: 1 });
    expect(flush.status.pending).toBe(1);
    expect(runTurn.given).toHaveLength(1);
  });
});

describe("a journal that cannot be written", () => {
  beforeEach(() => house.blockJournal());

  test("has the model take the messages before they are dropped", async () => {
    const flush = await house.open({ runTurn: noteTaker });
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "saved", messages: 2 });
    expect(house.note("2026-03-05")).toContain("Heron");
    expect(house.reports).toMatchObject([{ state: "done", reason: expect.stringContaining("journal") }]);
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "nothing" });
  });

  test.each<[string, FlushTurn | undefined, RegExp]>([
    ["no model is there", undefined, /no model was available/],
    ["the model fails", down, /the model did not answer/],
  ])("has a digest written where %s", async (_, runTurn, heading) => {
    const flush = await house.open({ runTurn });
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "saved" });
    expect(house.note("2026-03-05")).toMatch(heading);
    expect(house.reports).toMatchObject([{ state: "digested" }]);
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "nothing" });
  });

  test("and notes that cannot either keep the host from dropping anything", async () => {
    rmSync(path.join(house.workspaceDir, "memory"), { recursive: true });
    writeFileSync(path.join(house.workspaceDir, "memory"), "not a folder");
    const flush = await house.open({ runTurn: noteTaker });
    await expect(flush.beforeDrop(talk)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/must not be dropped.*journal.*notes/),
    });
    // Nothing counts as handed over.
    rmSync(path.join(house.workspaceDir, "memory"));
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "saved", messages: 2 });
  });

  test("lets an abort through", async () => {
    const controller = new AbortController();
    const flush = await house.open({
      runTurn: async () => {
        controller.abort();
        return await new Promise<string>(() => undefined);
      },
    });
    await expect(flush.beforeDrop(talk, { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
  });

  test("fails a flush after a turn, and nothing else", async () => {
    const flush = await house.open({ runTurn: noteTaker });
    flush.afterTurn({ contextTokens: 9, contextWindowTokens: 10, compactionCount: 0 }, talk);
    expect(await flush.settled()).toMatchObject({ state: "failed", reason: expect.stringContaining("agents/main") });
  });
});

// A wait that keeps the microtasks of its process busy stops all timers there, so each pair has a process of its own.
test.each(flushes.orders)(
  "%s() and %s() at once return, also if the endpoint of the model %s",
  async (first, second, death) => {
    const { workspaceDir, stateDir } = useFlushHouse();
    const args = [workspaceDir, stateDir, 3, 2, death, first, second];
    expect(await runProgram("flush/support/flush-waits.ts", args).ended).toMatchObject({ code: 0, lines: ["ended"] });
  },
  60_000,
);
