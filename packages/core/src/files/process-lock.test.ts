import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type LockHolder, acquireLock } from "./process-lock.ts";

const busy = (holder: LockHolder | undefined): string => `held by ${holder?.pid ?? "nobody"}`;
const atOnce = { waitMs: 0, busy };
/** Longer than any test takes. */
const patient = { waitMs: 50_000, busy };

function folder(): string {
  const made = mkdtempSync(path.join(os.tmpdir(), "memslot-lock-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** The number of a process that is gone. */
function goneProcess(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

function leave(file: string, holder: Partial<LockHolder> | string, ageMs = 0): void {
  const whole = { host: os.hostname(), since: new Date().toISOString(), token: "theirs" };
  writeFileSync(file, typeof holder === "string" ? holder : JSON.stringify({ ...whole, ...holder }));
  const time = new Date(Date.now() - ageMs);
  utimesSync(file, time, time);
}

describe("a lock", () => {
  test("is held by one at a time, also when many find it abandoned, a little one after the other", async () => {
    const file = path.join(folder(), "lock");
    const pid = goneProcess();
    let inside = 0;
    let most = 0;
    for (let round = 0; round < 30; round++) {
      leave(file, { pid });
      if (round % 3 === 0) leave(`${file}.takeover`, { pid });
      await Promise.all(
        Array.from({ length: 8 }, async (_, late) => {
          for (let turn = 0; turn < late * (round % 10); turn++) await nextTurn();
          const lock = await acquireLock(file, patient);
          most = Math.max(most, ++inside);
          // As long as taking a lock over takes.
          for (let step = 0; step < 20; step++) await stat(path.dirname(file));
          inside--;
          await lock.release();
        }),
      );
    }
    expect([most, inside]).toEqual([1, 0]);
    expect(readdirSync(path.dirname(file))).toEqual([]);
  });

  test("is not free while its process lives, and says whose it is", async () => {
    const file = path.join(folder(), "lock");
    const lock = await acquireLock(file, atOnce);
    await expect(acquireLock(file, atOnce)).rejects.toMatchObject({ code: "BUSY", message: `held by ${process.pid}` });
    await lock.release();
    await lock.release();
    await (await acquireLock(file, atOnce)).release();
  });

  test("that another took over is not released by the one before", async () => {
    const file = path.join(folder(), "lock");
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
    const file = path.join(folder(), "lock");
    leave(file, holder(goneProcess()), ageMs);
    const before = readFileSync(file, "utf8");
    const taken = acquireLock(file, atOnce);
    if (free) await (await taken).release();
    else await expect(taken).rejects.toMatchObject({ code: "BUSY" });
    expect(existsSync(file) ? readFileSync(file, "utf8") : undefined).toBe(free ? undefined : before);
  });

  test("is not waited for any longer once the caller gives up", async () => {
    const file = path.join(folder(), "lock");
    const lock = await acquireLock(file, atOnce);
    const controller = new AbortController();
    const waiting = acquireLock(file, { ...patient, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    await lock.release();
  });
});
