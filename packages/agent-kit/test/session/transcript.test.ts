import { statSync } from "node:fs";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import type { ConversationMessage, NewMessage } from "@memslot/agent-kit";
import transcript from "../data/transcript.json" with { type: "json" };
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

  test("has a message once, however often it is said", async () => {
    const { sessions } = await sessionsIn();
    const session = await sessions.open(key);
    const [first] = await session.append(user("first", "a"));
    expect(await session.append(user("other words", "a"), user("b", "b"), user("b", "b"))).toEqual([
      first,
      ...(await session.append(user("b", "b"), user("b", "b"))),
    ]);
    await session.compact({ summary: "s", firstKeptId: "b", tokensBefore: 1 });
    await session.append(user("first", "a"));
    expect(session.context.messages.map(({ id }) => id)).toEqual(["b"]);
    await session.close();
    const again = await sessions.open(key);
    await again.append(user("first", "a"), assistant("answer", "c"));
    expect(linesOf(again.file).flatMap((line) => (line["type"] === "message" ? line["id"] : []))).toEqual([
      "a",
      "b",
      "c",
    ]);
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
  test("begins with the last summary and the first message that was kept", async () => {
    const { sessions } = await sessionsIn();
    const session = await sessions.open(key);
    await session.append(user("1", "1"), assistant("2", "2"), user("3", "3"));
    await session.compact({ summary: "one", firstKeptId: "3", tokensBefore: 9 });
    await session.append(assistant("4", "4"), user("5", "5"));
    await session.compact({ summary: "one and two", firstKeptId: "5", tokensBefore: 9 });
    await session.append(assistant("6", "6"));
    const seen = session.context;
    expect([seen.summary, seen.messages.map(({ id }) => id)]).toEqual(["one and two", ["5", "6"]]);
    const { facts } = session;
    expect(facts).toMatchObject({ compactionCount: 2, transcriptBytes: statSync(session.file).size, brokenLines: 0 });
    const behind = linesOf(session.file)
      .slice(-1)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    expect(facts.bytesSinceCompaction).toBe(behind.length);
    await session.close();
    const again = await sessions.open(key);
    expect(again.context).toEqual(seen);
    expect(again.facts).toEqual(facts);
  });

  test("is empty after a compaction that keeps nothing, and a host can still answer", async () => {
    const stateDir = tempFolder();
    const session = await openSession(stateDir);
    await session.append(user("1", "1"));
    await session.compact({ summary: "asked", firstKeptId: undefined, tokensBefore: 9 });
    expect(session.context).toEqual({ summary: "asked", messages: [] });
    expect(session.unanswered).toMatchObject({ id: "1" });
    await session.close();
    expect((await openSession(stateDir)).unanswered).toMatchObject({ id: "1" });
  });

  test("cannot begin with a message that is not in it", async () => {
    const session = await openSession();
    await session.append(user("1", "1"));
    await expect(session.compact({ summary: "s", firstKeptId: "2", tokensBefore: 1 })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(session.facts.compactionCount).toBe(0);
  });

  test("that was looked at does not change when more is said", async () => {
    const session = await openSession();
    await session.append(user("1"));
    const { context, recorded } = session;
    await session.append(assistant("2"));
    expect([context.messages.length, recorded.length, session.context.messages.length]).toEqual([1, 1, 2]);
  });
});

describe("a message of the user", () => {
  const called: NewMessage = {
    role: "assistant",
    text: "Let me look.",
    toolCalls: [{ id: "c", name: "n", arguments: "" }],
  };
  const result: NewMessage = { role: "tool", toolCallId: "c", toolName: "n", text: "found" };
  test.each<[string, NewMessage[], string | undefined]>([
    ["is unanswered at once", [user("q", "q")], "q"],
    ["is unanswered after a round of tools", [user("q", "q"), called, result], "q"],
    ["is unanswered after an empty answer", [user("q", "q"), assistant(" \n")], "q"],
    ["is answered by a text", [user("q", "q"), called, result, assistant("a")], undefined],
    ["is the last of two", [user("p", "p"), user("q", "q")], "q"],
    [
      "stays answered when more tools are called behind the answer",
      [user("q", "q"), assistant("a"), called],
      undefined,
    ],
    ["is not there in an empty session", [], undefined],
  ])("%s", async (_what, messages, id) => {
    const stateDir = tempFolder();
    const session = await openSession(stateDir);
    await session.append(...messages);
    expect(session.unanswered?.id).toBe(id);
    await session.close();
    const again = await openSession(stateDir);
    expect(again.unanswered?.id).toBe(id);
    const kept: ConversationMessage | undefined = again.recorded.find((message) => message.id === id);
    expect(again.unanswered).toEqual(kept);
  });
});
