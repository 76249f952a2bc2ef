import { existsSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { acquireLock, type LockHolder, withLock } from "./process-lock.ts";
import { runProcess } from "../../test/session/support/run-process.ts";
import { folderIn, key, listIn, sessionsIn, stateFolder, user } from "../../test/session/support/sessions.ts";

const busy = (holder: LockHolder | undefined): string => `held by ${holder?.pid ?? "nobody"}`;
const atOnce = { waitMs: 0, busy };
/** Longer than any test takes. */
const patient = { waitMs: 50_000, busy };

/** The number of a process that is gone. */
async function goneProcess(): Promise<number> {
  const gone = runProcess("note-often.ts", [stateFolder(), "0"]);
  await gone.kill();
  return gone.pid;
}

function leave(file: string, holder: Partial<LockHolder> | string, ageMs = 0): void {
  const whole = { host: os.hostname(), since: new Date().toISOString(), token: "theirs" };
  writeFileSync(file, typeof holder === "string" ? holder : JSON.stringify({ ...whole, ...holder }));
  const time = new Date(Date.now() - ageMs);
  utimesSync(file, time, time);
}

describe("a lock", () => {
  test("is held by one at a time, also when many find it abandoned, a little one after the other", async () => {
    const file = path.join(stateFolder(), "lock");
    const pid = await goneProcess();
    let inside = 0;
    let most = 0;
    for (let round = 0; round < 30; round++) {
      leave(file, { pid });
      if (round % 3 === 0) leave(`${file}.takeover`, { pid });
      await Promise.all(
        Array.from({ length: 8 }, async (_, late) => {
          for (let turn = 0; turn < late * (round % 10); turn++) await nextTurn();
          await withLock(file, patient, async () => {
            most = Math.max(most, ++inside);
            // As long as taking a lock over takes.
            for (let step = 0; step < 20; step++) await stat(path.dirname(file));
            inside--;
          });
        }),
      );
    }
    expect([most, inside]).toEqual([1, 0]);
    expect(readdirSync(path.dirname(file))).toEqual([]);
  });

  test("is not free while its process lives, and says whose it is", async () => {
    const file = path.join(stateFolder(), "lock");
    const lock = await acquireLock(file, atOnce);
    await expect(acquireLock(file, atOnce)).rejects.toMatchObject({ code: "BUSY", message: `held by ${process.pid}` });
    await lock.release();
    await lock.release();
    await (await acquireLock(file, atOnce)).release();
  });

  test("that another took over is not released by the one before", async () => {
    const file = path.join(stateFolder(), "lock");
    const lock = await acquireLock(file, atOnce);
    leave(file, { pid: process.pid, token: "another" });
    await lock.release();
    expect(existsSync(file)).toBe(true);
  });

  test.each<[string, (pid: number) => Partial<LockHolder> | string, number, boolean]>([
    ["of a process that is gone", (pid) => ({ pid }), 0, true],
    ["of a process that had the number of this one", () => ({ pid: process.pid, processStart: "another:1" }), 0, true],
    ["of this process", () => ({ pid: process.pid }), 0, false],
    ["of the first process of all", () => ({ pid: 1 }), 0, false],
    ["that is just being written", () => "", 0, false],
    ["that was never written", () => "", 10_000, true],
    ["that says nothing", () => "{}", 10_000, true],
    ["of another computer", (pid) => ({ pid, host: "elsewhere" }), 30_000, false],
    ["of another computer, silent for minutes", (pid) => ({ pid, host: "elsewhere" }), 120_000, true],
  ])("%s", async (_what, holder, ageMs, free) => {
    const file = path.join(stateFolder(), "lock");
    leave(file, holder(await goneProcess()), ageMs);
    const before = readFileSync(file, "utf8");
    const taken = acquireLock(file, atOnce);
    if (free) await (await taken).release();
    else await expect(taken).rejects.toMatchObject({ code: "BUSY" });
    expect(existsSync(file) ? readFileSync(file, "utf8") : undefined).toBe(free ? undefined : before);
  });

  test("is not waited for any longer once the caller gives up", async () => {
    const file = path.join(stateFolder(), "lock");
    const lock = await acquireLock(file, atOnce);
    const controller = new AbortController();
    const waiting = acquireLock(file, { ...patient, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    await lock.release();
  });

  test("that cannot be made is an error that names it", async () => {
    const file = path.join(stateFolder(), "missing", "lock");
    await expect(acquireLock(file, atOnce)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining(file) as string,
    });
    mkdirSync(file, { recursive: true });
    await expect(acquireLock(file, atOnce)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

describe("a session", () => {
  test("has one writer: a second process is told which one, and what to do", async () => {
    const stateDir = stateFolder();
    const talk = runProcess("talk.ts", [stateDir, key, "0"]);
    await talk.next((line) => line.startsWith("said"));
    const { sessions } = await sessionsIn(stateDir);
    for (const opened of [sessions.open(key), sessions.reset(key)]) {
      await expect(opened).rejects.toMatchObject({
        code: "BUSY",
        message: expect.stringMatching(new RegExp(`process ${talk.pid} .*another session key`)) as string,
      });
    }
    // Another key is no concern of it, and the list can still be read.
    await (await sessions.open("agent:main:main:thread:2")).append(user("hello"));
    expect((await sessions.list()).map((facts) => facts.key)).toContain(key);
    await talk.kill();
    const session = await sessions.open(key);
    expect(session.recorded.length).toBeGreaterThan(0);
  });

  test("has one writer within a process too", async () => {
    const stateDir = stateFolder();
    const one = await sessionsIn(stateDir);
    const two = await sessionsIn(stateDir);
    const session = await one.sessions.open(key);
    await expect(two.sessions.open(key)).rejects.toMatchObject({ code: "BUSY" });
    await session.close();
    expect((await two.sessions.open(key)).id).toBe(session.id);
  });
});

test("the list keeps what several processes note at once, also when one of them is killed", async () => {
  const stateDir = stateFolder();
  mkdirSync(folderIn(stateDir), { recursive: true });
  const keysOf = (number: number): string[] => [0, 1, 2].map((part) => `agent:main:main:thread:${number}-${part}`);
  const [victim, ...others] = [0, 1, 2, 3].map((number) =>
    runProcess("note-often.ts", [stateDir, number === 0 ? "1000000" : "15", ...keysOf(number)]),
  );
  const all = [victim, ...others].filter((one) => one !== undefined);
  await Promise.all(all.map((one) => one.next((line) => line === "ready")));
  for (const one of all) one.send("go");
  await Promise.all(others.map((one) => one.next((line) => line === "noted 5")));
  await victim?.kill();
  await Promise.all(others.map((one) => one.ended));
  const list = listIn(stateDir);
  for (const number of [1, 2, 3])
    for (const one of keysOf(number)) expect(list[one], one).toMatchObject({ number: 15 });
  const safe = Number(victim?.told.findLast((line) => line.startsWith("noted"))?.split(" ")[1] ?? 0);
  for (const one of keysOf(0)) expect(Number(list[one]?.["number"] ?? 0)).toBeGreaterThanOrEqual(safe);
});
