import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type FlushState, type FlushTurn, type MemoryFlush, runToolCall, shouldFlush } from "@memslot/agent-kit";
import facts from "../data/facts.json" with { type: "json" };
import scripts from "../data/flush-scripts.json" with { type: "json" };
import flushes from "../data/flushes.json" with { type: "json" };
import { expectSteps } from "../support/note-script.ts";
import { runProgram } from "../support/run-program.ts";
import {
  type FlushHouse,
  down,
  entryOf,
  inTurn,
  noteTaker,
  retry,
  talk,
  useFlushHouse,
  user,
  watching,
} from "./support/flush-house.ts";
import { FlushScript, type FlushStep } from "./support/flush-script.ts";

let house: FlushHouse;
beforeEach(() => void (house = useFlushHouse()));

test.each(Object.entries(scripts as unknown as Record<string, FlushStep[]>))("%s", async (_, steps) => {
  await expectSteps(new FlushScript(), steps);
});

/** A model that writes these notes, each in a call of its own, and keeps the answers. */
function writing(texts: readonly string[], end: FlushTurn = async () => "NO_REPLY") {
  const answers: Record<string, unknown>[] = [];
  const turn: FlushTurn = async (given) => {
    for (const text of texts) {
      const call = { name: "memory_append", arguments: JSON.stringify({ text, kind: "daily" }) };
      answers.push({ ...(await runToolCall(given.tools, call, { signal: given.signal })) });
    }
    return await end(given);
  };
  return Object.assign(turn, { answers });
}

describe("the host", () => {
  const full: FlushState = { contextTokens: 190_000, contextWindowTokens: 200_000, compactionCount: 0 };

  /** A flush whose model answers after `release`. */
  async function waiting(): Promise<{ flush: MemoryFlush; release: () => void; runTurn: ReturnType<typeof watching> }> {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const runTurn = watching(async (turn) => {
      await promise;
      return await noteTaker(turn);
    });
    return { flush: await house.open({ runTurn }), release, runTurn };
  }

  test("does not wait for the model after a turn, and starts no second flush meanwhile", async () => {
    const { flush, release, runTurn } = await waiting();
    flush.afterTurn(full, talk);
    expect(flush.afterTurn(full, talk)).toEqual({ flush: false, reason: "a flush of this cycle is running" });
    release();
    await flush.settled();
    expect(runTurn.given).toHaveLength(1);
  });

  test("may drop messages that are on disk, whatever the model does", async () => {
    const { flush, release } = await waiting();
    expect(await flush.beforeDrop(talk)).toEqual({ state: "journaled", messages: 2 });
    expect([house.journal().length, flush.status.pending]).toEqual([1, 1]);
    release();
    expect(await flush.settled()).toMatchObject({ state: "done" });
    expect(flush.status.pending).toBe(0);
  });

  test("may abort a call, which then journals nothing", async () => {
    const flush = await house.open({ runTurn: noteTaker });
    const aborted = { name: "AbortError" };
    await expect(flush.beforeDrop(talk, { signal: AbortSignal.abort() })).rejects.toMatchObject(aborted);
    expect(house.journal()).toEqual([]);
    house.blockJournal();
    const controller = new AbortController();
    const inline = await house.open({
      runTurn: async () => {
        controller.abort();
        return await new Promise<string>(() => undefined);
      },
    });
    await expect(inline.beforeDrop(talk, { signal: controller.signal })).rejects.toMatchObject(aborted);
  });

  test("that fails to take a report or a record undoes nothing", async () => {
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

  test.each(flushes.othersTalk as [string, string][])("has nothing kept of %s", async (_name, key) => {
    house = useFlushHouse({ key });
    const flush = await house.open({ runTurn: noteTaker });
    expect(flush.afterTurn(full, talk)).toMatchObject({ flush: false, reason: expect.stringContaining("group") });
    expect(await flush.beforeDrop(talk)).toEqual(flushes.reportOfShared);
    expect(await retry(flush)).toBeUndefined();
    expect([house.notes(), house.journal("")]).toEqual(["", []]);
  });

  test("gets no flush for a session of another agent", async () => {
    house = useFlushHouse({ key: "agent:other:main" });
    await expect(house.open({ runTurn: noteTaker })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("a turn", () => {
  test("that never ends is stopped, and cannot write any more", async () => {
    const late: object[] = [];
    const turns: Promise<void>[] = [];
    const endless: FlushTurn = async ({ tools, signal }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      turns.push(
        promise.then(async () => {
          // After the caller has continued.
          await new Promise(setImmediate);
          const call = { name: "memory_append", arguments: '{"text":"too late","kind":"daily"}' };
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

  test("whose flush is closed meanwhile: the messages wait, and no try is counted", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const runTurn: FlushTurn = async () => {
      resolve();
      return await new Promise<string>(() => undefined);
    };
    const flush = await house.open({ runTurn });
    await flush.beforeDrop(talk);
    await asked;
    await flush.close();
    expect([house.reports, house.journal(".lock")]).toEqual([[], []]);
    expect(entryOf(house)).toMatchObject({ rounds: 0, tries: 0 });
    expect(await house.workOff(noteTaker)).toMatchObject({ state: "done" });
  });

  test("in which the notes become impossible to write ends, whatever the model says", async () => {
    const folder = path.join(house.workspaceDir, "memory");
    const runTurn = watching(async (turn) => {
      renameSync(folder, `${folder}.away`);
      writeFileSync(folder, "not a folder");
      return await noteTaker(turn);
    });
    const { flush, report } = await house.drop(talk, { runTurn });
    expect(report).toMatchObject({ state: "skipped", tries: 1 });
    expect([flush.status.pending, runTurn.given.length]).toEqual([1, 1]);
  });
});

describe("a note of an earlier try", () => {
  const [note, other] = ["The user's boat is called Heron.", "Boat name: Heron"];

  test("is in the journal before it is in the notes", async () => {
    const seen: unknown[] = [];
    const end: FlushTurn = async () => {
      seen.push(entryOf(house)["notes"]);
      return "NO_REPLY";
    };
    await house.drop(talk, { runTurn: writing([note], end) });
    expect(seen).toEqual([[{ text: note, kind: "daily", day: "2026-03-05" }]]);
  });

  test("can still be written if its process ended before it was in the notes", async () => {
    const { flush } = await house.drop(talk, { runTurn: writing(["The boat has a red hull."], down) });
    await flush.close();
    const entry = entryOf(house);
    const notes = [...(entry["notes"] as object[]), { text: note, kind: "daily", day: "2026-03-05" }];
    writeFileSync(path.join(house.journalDir, house.journal()[0] ?? ""), JSON.stringify({ ...entry, notes }));
    expect(await house.workOff(writing([other, "Red is the hull of the boat."]))).toMatchObject({ state: "done" });
    const log = readFileSync(path.join(house.workspaceDir, "memory/2026-03-05.md"), "utf8");
    expect(log).toBe(`# 2026-03-05\n\n- 11:00 The boat has a red hull.\n- 11:00 ${other}\n`);
  });

  test.each([
    ...facts.same.map(([line = "", text = ""]) => [line, text, "duplicate"]),
    ...facts.other.map(([line = "", text = ""]) => [line, text, "appended"]),
  ])("%j makes the note %j %s", async (line = "", text = "", state) => {
    const again = writing([text]);
    await house.drop(talk, { runTurn: inTurn(writing([line], down), again) });
    expect(again.answers).toMatchObject([{ state }]);
    if (state === "duplicate")
      expect(again.answers[0]).toMatchObject({
        citation: "memory/2026-03-05.md#L3-L3",
        note: expect.stringContaining(`"${line}"`),
      });
  });

  test("is not repeated by a digest, which has all other messages", async () => {
    const said = facts.retold;
    const noted = ["The user's sister Anna has her birthday on 14 May.", "用户的预算是 18500 元。"];
    const flush = await house.open({ runTurn: inTurn(writing(noted, down), down) });
    await flush.beforeDrop(said.map((text, index) => user(`u${index}`, text)));
    flush.retry();
    expect(await retry(flush)).toMatchObject({ state: "digested" });
    const [, digest = ""] = house.notes().split("Digest of dropped messages");
    expect(said.filter((text) => digest.includes(text))).toEqual(said.slice(2));
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
