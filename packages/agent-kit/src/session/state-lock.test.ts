import { mkdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { acquireStateLock } from "./state-lock.ts";
import { runProcess } from "../../test/session/support/run-process.ts";
import { folderIn, key, listIn, sessionsIn, stateFolder, user } from "../../test/session/support/sessions.ts";

const atOnce = { waitMs: 0, busy: () => "held" };

test("a lock that cannot be made is an error that names it", async () => {
  const file = path.join(stateFolder(), "missing", "lock");
  await expect(acquireStateLock(file, atOnce)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining(file) as string,
  });
  mkdirSync(file, { recursive: true });
  await expect(acquireStateLock(file, atOnce)).rejects.toMatchObject({ code: "UNAVAILABLE" });
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
