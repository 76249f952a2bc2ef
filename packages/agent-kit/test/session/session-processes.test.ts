import { mkdirSync } from "node:fs";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";
import { folderIn, key, listIn, openSession, sessionsIn, user } from "./support/sessions.ts";

test("a session has one writer: a second process is told which one, and what to do", async () => {
  const { stateDir, sessions } = await sessionsIn();
  const talk = runProgram("session/support/talk.ts", [stateDir, key, "0"]);
  await talk.next((line) => line.startsWith("said"));
  for (const opened of [sessions.open(key), sessions.reset(key)]) {
    await expect(opened).rejects.toMatchObject({
      code: "BUSY",
      message: expect.stringMatching(new RegExp(`process ${talk.pid} .*another session key`)) as string,
    });
  }
  // Another key can be written, and the list can still be read.
  await (await sessions.open("agent:main:main:thread:2")).append(user("hello"));
  expect((await sessions.list()).map((facts) => facts.key)).toContain(key);
  await talk.kill();
  const session = await sessions.open(key);
  expect(session.recorded.length).toBeGreaterThan(0);
  // The same within a process.
  await expect(openSession(stateDir)).rejects.toMatchObject({ code: "BUSY" });
  await session.close();
  expect((await openSession(stateDir)).id).toBe(session.id);
});

test("the list keeps what two processes write at once, also when one of them is killed", async () => {
  const stateDir = tempFolder();
  mkdirSync(folderIn(stateDir), { recursive: true });
  const keysOf = (name: string): string[] => [0, 1].map((part) => `agent:main:main:thread:${name}-${part}`);
  const victim = runProgram("session/support/note-often.ts", [stateDir, 1_000_000, ...keysOf("victim")]);
  const other = runProgram("session/support/note-often.ts", [stateDir, 8, ...keysOf("other")]);
  for (const program of [victim, other]) await program.next((line) => line === "ready");
  for (const program of [victim, other]) program.send("go");
  await other.next((line) => line === "noted 3");
  await victim.kill();
  await other.ended;
  const list = listIn(stateDir);
  for (const each of keysOf("other")) expect(list[each], each).toMatchObject({ number: 8 });
  const safe = Number(victim.lines.findLast((line) => line.startsWith("noted"))?.split(" ")[1] ?? 0);
  for (const each of keysOf("victim")) expect(Number(list[each]?.["number"] ?? 0)).toBeGreaterThanOrEqual(safe);
});
