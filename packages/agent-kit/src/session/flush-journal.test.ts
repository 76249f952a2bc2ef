import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { acquireLock } from "@memslot/core/files";
import { down, entryOf, noteTaker, talk, user, useFlushHouse, watching } from "../../test/flush/support/flush-house.ts";

describe("the journal", () => {
  test("is for the owner alone, and holds the messages as they were said", async () => {
    const house = useFlushHouse();
    const flush = await house.open({ runTurn: down });
    await flush.beforeDrop(talk);
    await flush.settled();
    const [name = ""] = house.journal();
    expect(name).toMatch(/^5f3c-[0-9a-f]{16}\.json$/);
    expect(statSync(house.journalDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(house.journalDir, name)).mode & 0o777).toBe(0o600);
    expect(entryOf(house)).toMatchObject({
      sessionKey: "agent:main:main",
      sessionId: "5f3c",
      compactionCount: 0,
      messages: talk,
    });
  });

  test.each([
    ["cut off", '{"version":1,"sessionKey":"agent:main:m'],
    ["of another shape", '{"version":1,"messages":[{"role":"king"}]}'],
    ["empty", ""],
  ])("sets a file aside that is %s, and says so", async (_, content) => {
    const house = useFlushHouse();
    mkdirSync(house.journalDir, { recursive: true });
    writeFileSync(path.join(house.journalDir, "5f3c-0123456789abcdef.json"), content);
    const flush = await house.open({ runTurn: noteTaker });
    expect(flush.status).toMatchObject({ pending: 0, notices: [expect.stringMatching(/damaged.*set aside/)] });
    const [aside = ""] = house.journal(".broken");
    expect(readFileSync(path.join(house.journalDir, aside), "utf8")).toBe(content);
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "done" });
  });

  test("of a session that was reset is taken up by the next one, and so is that of another session", async () => {
    const house = useFlushHouse();
    const before = await house.open({ runTurn: down });
    await before.beforeDrop(talk);
    await before.settled();
    await before.close();
    const session = { ...house.session, id: "next", facts: house.session.facts };
    const after = await house.open({ runTurn: noteTaker, session });
    expect(after.status.pending).toBe(1);
    after.retry();
    expect(await after.settled()).toMatchObject({ state: "done" });
    expect(house.session.record["memoryFlushCompactionCount"]).toBeUndefined();
    expect(before.status.pending).toBe(1);
  });

  test("is worked on by one process at a time, and taken over from one that is gone", async () => {
    const house = useFlushHouse();
    const before = await house.open({ runTurn: down });
    await before.beforeDrop(talk);
    await before.settled();
    const [name = ""] = house.journal();
    const lock = await acquireLock(path.join(house.journalDir, `${name}.lock`), { waitMs: 0, busy: () => "busy" });
    const runTurn = watching(noteTaker);
    const after = await house.open({ runTurn });
    after.retry();
    expect(await after.settled()).toBeUndefined();
    expect(runTurn.given).toEqual([]);
    expect(after.status.pending).toBe(1);
    await lock.release();
    const gone = {
      pid: 2 ** 30,
      host: os.hostname(),
      since: new Date().toISOString(),
      token: "t",
    };
    writeFileSync(path.join(house.journalDir, `${name}.lock`), JSON.stringify(gone));
    after.retry();
    expect(await after.settled()).toMatchObject({ state: "done" });
    expect(house.journal(".lock")).toEqual([]);
  });

  test("is not gone through again where only its removal was cut short", async () => {
    const house = useFlushHouse();
    const { promise: asked, resolve } = Promise.withResolvers<string>();
    const before = await house.open({
      runTurn: async (turn) => {
        const [name = ""] = house.journal();
        resolve(readFileSync(path.join(house.journalDir, name), "utf8"));
        return await noteTaker(turn);
      },
    });
    await before.beforeDrop(talk);
    const entry = await asked;
    await before.settled();
    await before.close();
    writeFileSync(path.join(house.journalDir, "5f3c-0123456789abcdef.json"), entry);
    const runTurn = watching(noteTaker);
    const after = await house.open({ runTurn });
    after.retry();
    expect(await after.settled()).toBeUndefined();
    expect(runTurn.given).toEqual([]);
    expect(house.journal()).toEqual([]);
  });

  test("says so where an entry cannot be locked", async () => {
    const house = useFlushHouse();
    const before = await house.open({ runTurn: down });
    await before.beforeDrop(talk);
    await before.settled();
    const [name = ""] = house.journal();
    mkdirSync(path.join(house.journalDir, `${name}.lock`));
    before.retry();
    expect(await before.settled()).toMatchObject({ state: "failed", reason: expect.stringContaining(`${name}.lock`) });
  });

  test("forgets old marks and leftovers of processes that were ended", async () => {
    const house = useFlushHouse();
    const flush = await house.open({ runTurn: noteTaker, clock: () => new Date("2026-03-05T12:00:00Z") });
    await flush.beforeDrop(talk);
    await flush.settled();
    await flush.close();
    const stray = path.join(house.journalDir, "5f3c-1.json.some.tmp");
    const fresh = path.join(house.journalDir, "5f3c-2.json.some.tmp");
    for (const file of [stray, fresh]) writeFileSync(file, "half");
    const hourAgo = new Date(Date.now() - 3_600_000);
    utimesSync(stray, hourAgo, hourAgo);
    expect(house.journal(".done.json")).toHaveLength(1);
    const later = await house.open({ clock: () => new Date("2026-07-05T12:00:00Z") });
    await later.close();
    expect(readdirSync(house.journalDir)).toEqual([path.basename(fresh)]);
  });

  test("remembers what was handed over last, and not without end", async () => {
    const house = useFlushHouse();
    mkdirSync(house.journalDir, { recursive: true });
    for (let index = 0; index < 510; index++) {
      const at = new Date(Date.UTC(2026, 2, 1, 0, index)).toISOString();
      const mark = { version: 1, sessionId: "5f3c", ids: [`m${index}`], at };
      writeFileSync(path.join(house.journalDir, `5f3c-${index}.done.json`), JSON.stringify(mark));
    }
    const clock = (): Date => new Date("2026-03-05T12:00:00Z");
    await (await house.open({ clock })).close();
    expect(house.journal(".done.json")).toHaveLength(500);
    const flush = await house.open({ clock });
    expect(await flush.beforeDrop([user("m509", "x"), user("m10", "x"), user("m9", "x")])).toMatchObject({
      messages: 1,
    });
  });

  test("an entry that nobody can work on does not keep the others back", async () => {
    const house = useFlushHouse();
    mkdirSync(house.journalDir, { recursive: true });
    for (const [name, sessionKey] of [
      ["a", "agent:other:main"],
      ["b", "agent:main:cron:job"],
    ] as const) {
      const entry = {
        version: 1,
        sessionKey,
        sessionId: name,
        compactionCount: 0,
        createdAt: `2020-01-01T00:00:00.00${name === "a" ? 1 : 2}Z`,
        messages: [user(name, "The boat is called Heron.")],
        rounds: 0,
        tries: 0,
      };
      writeFileSync(path.join(house.journalDir, `${name}-0123456789abcdef.json`), JSON.stringify(entry));
    }
    const flush = await house.open({ runTurn: noteTaker });
    expect(flush.status.pending).toBe(0);
    flush.retry();
    await flush.settled();
    expect(house.reports).toMatchObject([
      { state: "failed", reason: expect.stringContaining("other") },
      { state: "done" },
    ]);
    expect(house.journal()).toEqual(["a-0123456789abcdef.json"]);
  });

  test("what an earlier cycle has left does not undo the flush of this one", async () => {
    const house = useFlushHouse();
    const before = await house.open({ runTurn: down });
    await before.beforeDrop(talk);
    await before.settled();
    await before.close();
    await house.session.update({ memoryFlushCompactionCount: 5 });
    const after = await house.open({ runTurn: noteTaker });
    after.retry();
    expect(await after.settled()).toMatchObject({ state: "done" });
    expect(house.session.record["memoryFlushCompactionCount"]).toBe(5);
  });

  test("a folder that was open to others is closed to them", async () => {
    const house = useFlushHouse();
    mkdirSync(house.journalDir, { recursive: true });
    chmodSync(house.journalDir, 0o755);
    const flush = await house.open({ runTurn: down });
    await flush.beforeDrop(talk);
    expect(statSync(house.journalDir).mode & 0o777).toBe(0o700);
  });
});
