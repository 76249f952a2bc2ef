import { statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { NewMessage } from "@memslot/agent-kit";
import scripts from "../data/session-scripts.json" with { type: "json" };
import transcript from "../data/transcript.json" with { type: "json" };
import { expectSteps } from "../support/note-script.ts";
import { SessionScript, type SessionStep } from "./support/session-script.ts";
import { assistant, folderIn, key, linesOf, openSession, sessionsIn, user } from "./support/sessions.ts";

const at = "2026-03-05T10:00:00.000Z";
const clock = (): Date => new Date(at);

/** A round of tools as a model writes it: with arguments that are odd JSON, and none. */
const round: NewMessage[] = [
  user("What did I say about Anna?\u2028\n“Grüße” 🙂 \u0000\ud800"),
  {
    role: "assistant",
    text: "",
    toolCalls: [
      { id: "call_0", name: "memory_search", arguments: '{"query": "Anna",  "maxResults": 3.0}' },
      { id: "call_1", name: "memory_get", arguments: '{"path": "MEMORY.md' },
    ],
  },
  { role: "tool", toolCallId: "call_0", toolName: "memory_search", text: '{"results":[]}' },
  { role: "tool", toolCallId: "call_1", toolName: "memory_get", text: "the arguments are no JSON" },
  assistant("Nothing yet."),
];

test.each(Object.entries(scripts as unknown as Record<string, SessionStep[]>))("%s", async (_, steps) => {
  await expectSteps(new SessionScript(), steps);
});

describe("a transcript", () => {
  test("gives back every message as it was said, also broken arguments of a tool call", async () => {
    const { stateDir, sessions } = await sessionsIn(undefined, clock);
    const session = await sessions.open(key);
    const written = await session.append(...round);
    expect(written).toMatchObject(round.map((message) => ({ ...message, id: expect.any(String) as string, at })));
    expect(new Set(written.map(({ id }) => id)).size).toBe(round.length);
    expect(session.context.messages).toEqual(written);
    await sessions.close();

    const again = await openSession(stateDir);
    expect(again.id).toBe(session.id);
    expect(again.context).toEqual({ summary: undefined, messages: written });
    expect(again.recorded).toEqual(written);
  });

  test("is written in the format of the field, for its owner alone", async () => {
    const { stateDir, sessions } = await sessionsIn(undefined, clock);
    const session = await sessions.open(key);
    const [, calls, result] = round;
    if (calls === undefined || result === undefined) throw new Error("no round of tools");
    await session.append(user("hello", "one"), { ...calls, id: "two" }, { ...result, id: "three" });
    await session.compact({ summary: "greeted", firstKeptId: "one", tokensBefore: 12 });
    const [head, ...entries] = linesOf(session.file);
    expect(head).toMatchObject({ id: session.id, cwd: process.cwd() });
    expect([{ ...head, id: "SESSION" }, ...entries]).toMatchObject(transcript);
    expect(session.file).toBe(path.join(folderIn(stateDir), `${session.id}.jsonl`));
    expect(statSync(session.file).mode & 0o777).toBe(0o600);
    expect(statSync(path.join(folderIn(stateDir), "sessions.json")).mode & 0o777).toBe(0o600);
    expect(statSync(folderIn(stateDir)).mode & 0o777).toBe(0o700);
  });

  test("knows the last thousand ids before a compaction, and no more", async () => {
    const session = await openSession();
    await session.append(
      ...Array.from({ length: 1_001 }, (_, index) => user("x", `id-${index}`)),
      user("kept", "last"),
    );
    await session.compact({ summary: "s", firstKeptId: "last", tokensBefore: 1 });
    await session.append(user("x", "id-1"), user("x", "id-1000"), user("x", "last"));
    expect(session.recorded.map(({ id }) => id)).toEqual(["last"]);
    await session.append(user("x", "id-0"));
    expect(session.recorded.map(({ id }) => id)).toEqual(["last", "id-0"]);
  });

  test("keeps the order of calls that are made at once", async () => {
    const session = await openSession();
    const ids = Array.from({ length: 40 }, (_, index) => `m${index}`);
    await Promise.all(ids.map((id) => session.append(user(id, id))));
    expect(session.recorded.map(({ id }) => id)).toEqual(ids);
    const lines = linesOf(session.file).slice(1);
    expect(lines.map((line) => line["parentId"])).toEqual([null, ...ids.slice(0, -1)]);
  });

  test.each<[string, unknown]>([
    ["another role", { role: "system", text: "x" }],
    ["no text", { role: "user" }],
    ["an empty id", { role: "user", text: "x", id: "" }],
    ["a time that is none", { role: "user", text: "x", at: "yesterday" }],
    ["a tool call without arguments", { role: "assistant", text: "", toolCalls: [{ id: "1", name: "n" }] }],
    ["a result of no call", { role: "tool", text: "x", toolName: "n" }],
    ["more than a line may hold", { role: "user", text: "x".repeat(16 * 1024 * 1024) }],
  ])("refuses a message with %s, and writes nothing of that call", async (_what, message) => {
    const session = await openSession();
    await expect(session.append(user("before"), message as NewMessage)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(linesOf(session.file)).toHaveLength(1);
    await session.append(user("after"));
    expect(linesOf(session.file)).toHaveLength(2);
  });
});

describe("the context", () => {
  test("that was looked at does not change when more is said", async () => {
    const session = await openSession();
    await session.append(user("1"));
    const { context, recorded } = session;
    await session.append(assistant("2"));
    expect([context.messages.length, recorded.length, session.context.messages.length]).toEqual([1, 1, 2]);
  });
});
