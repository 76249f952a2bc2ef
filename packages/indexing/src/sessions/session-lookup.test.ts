import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { expect, test } from "vitest";
import { createSessionLookup, sessionTranscriptOf } from "./session-lookup.ts";
import { letRest } from "../../test/support/let-rest.ts";
import { useTempFolders } from "../../test/support/temp-folder.ts";

const folderWith = useTempFolders();
const list = "agents/main/sessions/sessions.json";

async function lookUp(sessions: unknown, sessionKey: string): Promise<string | undefined> {
  const stateDir = folderWith({ [list]: typeof sessions === "string" ? sessions : JSON.stringify(sessions) });
  return await sessionTranscriptOf({ stateDir, agentId: "main", sessionKey });
}

test("a session's transcript is named by its id", async () => {
  expect(await lookUp({ "agent:main:main": { sessionId: "one" } }, "agent:main:main")).toBe("sessions/one.jsonl");
});

test("keys are compared as a whole, and without case", async () => {
  const sessions = { "agent:main:telegram:group:42": { sessionId: "one" } };
  expect(await lookUp(sessions, "Agent:Main:Telegram:Group:42")).toBe("sessions/one.jsonl");
  expect(await lookUp(sessions, "agent:main:telegram:group:4")).toBeUndefined();
  expect(await lookUp(sessions, "agent:main:telegram:group:42:thread:1")).toBeUndefined();
});

test("two keys that differ in case only name nothing, unless one is meant exactly", async () => {
  const sessions = { "agent:main:a": { sessionId: "one" }, "agent:main:A": { sessionId: "two" } };
  expect(await lookUp(sessions, "agent:main:A")).toBe("sessions/two.jsonl");
  expect(await lookUp(sessions, "AGENT:main:a")).toBeUndefined();
});

test("a named file counts where it is one of this folder", async () => {
  const stateDir = folderWith();
  const folder = path.join(stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  const entries = {
    absolute: { sessionId: "one", sessionFile: path.join(folder, "one-topic-7.jsonl") },
    relative: { sessionId: "one", sessionFile: "other.jsonl" },
    outside: { sessionId: "one", sessionFile: "../../other/sessions/secret.jsonl" },
    nothing: { sessionFile: "/etc/passwd" },
  };
  writeFileSync(path.join(stateDir, list), JSON.stringify(entries));
  const lookup = createSessionLookup({ stateDir, agentId: "main" });
  expect(await lookup("absolute")).toBe("sessions/one-topic-7.jsonl");
  expect(await lookup("relative")).toBe("sessions/other.jsonl");
  expect(await lookup("outside")).toBe("sessions/one.jsonl");
  expect(await lookup("nothing")).toBeUndefined();
});

test.each([
  "",
  "{",
  "[]",
  "null",
  '"a"',
  '{"k":null}',
  '{"k":{}}',
  '{"k":{"sessionId":""}}',
  '{"k":{"sessionId":7}}',
  '{"k":{"sessionId":"../../x"}}',
])("a list of %j gives nothing", async (text) => {
  expect(await lookUp(text, "k")).toBeUndefined();
});

test("keys that name parts of every object are keys like others", async () => {
  expect(await lookUp('{"__proto__":{"sessionId":"one"}}', "__proto__")).toBe("sessions/one.jsonl");
  expect(await lookUp({}, "constructor")).toBeUndefined();
  expect(await lookUp('{"k":{"__proto__":{"sessionId":"one"}}}', "k")).toBeUndefined();
});

test("a missing list, a link in its place and one that cannot be read give nothing", async () => {
  const stateDir = folderWith({ [list]: '{"k":{"sessionId":"one"}}', "elsewhere.json": '{"k":{"sessionId":"two"}}' });
  const lookup = createSessionLookup({ stateDir, agentId: "main" });
  expect(await lookup("k")).toBe("sessions/one.jsonl");
  if (process.platform !== "win32" && process.getuid?.() !== 0) {
    chmodSync(path.join(stateDir, list), 0);
    expect(await lookup("k")).toBeUndefined();
  }
  rmSync(path.join(stateDir, list));
  expect(await lookup("k")).toBeUndefined();
  if (process.platform === "win32") return;
  symlinkSync(path.join(stateDir, "elsewhere.json"), path.join(stateDir, list));
  expect(await lookup("k")).toBeUndefined();
});

test("the list is read again when it has changed", async () => {
  const stateDir = folderWith({ [list]: '{"k":{"sessionId":"one"}}' });
  const file = path.join(stateDir, list);
  const lookup = createSessionLookup({ stateDir, agentId: "main" });
  utimesSync(file, 1000, 1000);
  expect(await lookup("k")).toBe("sessions/one.jsonl");
  writeFileSync(file, '{"k":{"sessionId":"two"}}');
  expect(await lookup("k")).toBe("sessions/two.jsonl");
  utimesSync(file, 1000, 1000);
  expect(await lookup("k")).toBe("sessions/two.jsonl");
  writeFileSync(file, '{"k":{"sessionId":"six"}}');
  utimesSync(file, 1000, 1000);
  expect(await lookup("k")).toBe("sessions/six.jsonl");
  letRest(file);
  expect(await lookup("k")).toBe("sessions/six.jsonl");
  writeFileSync(file, '{"k":{"sessionId":"ten"}}');
  utimesSync(file, 1000, 1000);
  expect(await lookup("k")).toBe("sessions/ten.jsonl");
});

test("an agent id that is no folder name is refused", async () => {
  await expect(sessionTranscriptOf({ stateDir: folderWith(), agentId: "../x", sessionKey: "k" })).rejects.toThrow(
    MemoryError,
  );
});
