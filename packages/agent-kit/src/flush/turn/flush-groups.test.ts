import { estimateTokens } from "@memslot/indexing/host";
import { describe, expect, test } from "vitest";
import { type FlushGroup, flushGroups } from "./flush-groups.ts";
import type { ConversationMessage } from "../../index.ts";
import { assistant, user } from "../../../test/flush/support/flush-house.ts";

function groupsOf(
  messages: readonly ConversationMessage[],
  { timeZone = "Europe/Amsterdam", maxTokens = 100_000 } = {},
): FlushGroup[] {
  return flushGroups(messages, { timeZone, maxTokens, fallbackTime: new Date("2026-01-01T12:00:00Z") });
}

const shape = (groups: readonly FlushGroup[]): unknown[] =>
  groups.map(({ day, at, messages }) => [day, at.toISOString(), messages.map(({ id }) => id)]);

function gave(id: string, toolCallId: string, text: string, at = "2026-03-05T10:00:02.000Z"): ConversationMessage {
  return { role: "tool", id, at, toolCallId, toolName: "memory_search", text };
}

function asked(id: string, calls: string[], at = "2026-03-05T10:00:01.000Z"): ConversationMessage {
  const toolCalls = calls.map((call) => ({ id: call, name: "memory_search", arguments: '{"query":"x"}' }));
  return { role: "assistant", id, at, text: "", toolCalls };
}

describe("messages by local day", () => {
  test("are cut at midnight of the user", () => {
    const messages = [
      user("u1", "Hi", "2026-03-05T15:59:58.000Z"),
      assistant("a1", "Hello", "2026-03-05T16:00:02.000Z"),
    ];
    expect(shape(groupsOf(messages, { timeZone: "Asia/Shanghai" }))).toEqual([
      ["2026-03-05", "2026-03-05T15:59:58.000Z", ["u1"]],
      ["2026-03-06", "2026-03-05T16:00:02.000Z", ["a1"]],
    ]);
    expect(shape(groupsOf(messages))).toEqual([["2026-03-05", "2026-03-05T16:00:02.000Z", ["u1", "a1"]]]);
  });

  test.each([
    // Clocks go forward at 02:00 and back at 03:00; a day has 23 or 25 hours.
    ["Europe/Amsterdam", "2026-03-29", "2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.000Z"],
    ["Europe/Amsterdam", "2026-10-25", "2026-10-24T22:00:00.000Z", "2026-10-25T22:59:59.000Z"],
    ["America/New_York", "2026-03-08", "2026-03-08T05:00:00.000Z", "2026-03-09T03:59:59.000Z"],
    ["America/New_York", "2026-11-01", "2026-11-01T04:00:00.000Z", "2026-11-02T04:59:59.000Z"],
  ])("also where clocks change: %s, %s", (timeZone, day, first, last) => {
    const before = new Date(Date.parse(first) - 1_000).toISOString();
    const after = new Date(Date.parse(last) + 1_000).toISOString();
    const messages = [user("0", "x", before), user("1", "x", first), user("2", "x", last), user("3", "x", after)];
    const groups = groupsOf(messages, { timeZone });
    expect(groups.map(({ messages: each }) => each.map(({ id }) => id).join())).toEqual(["0", "1,2", "3"]);
    expect(groups[1]?.day).toBe(day);
  });

  test("take the time of the flush where they have none that can be read", () => {
    expect(shape(groupsOf([user("u1", "Hi", "yesterday")]))).toEqual([
      ["2026-01-01", "2026-01-01T12:00:00.000Z", ["u1"]],
    ]);
  });
});

describe("what a tool gave", () => {
  test("is shortened, and stays with its call over midnight, without moving the time", () => {
    const messages = [
      user("u1", "Where?", "2026-03-05T22:59:50.000Z"),
      asked("a1", ["c1"], "2026-03-05T22:59:58.000Z"),
      gave("t1", "c1", "y".repeat(2_000), "2026-03-05T23:00:02.000Z"),
      assistant("a2", "There.", "2026-03-05T23:00:05.000Z"),
    ];
    const groups = groupsOf(messages);
    expect(shape(groups)).toEqual([
      ["2026-03-05", "2026-03-05T22:59:58.000Z", ["u1", "a1", "t1"]],
      ["2026-03-06", "2026-03-05T23:00:05.000Z", ["a2"]],
    ]);
    expect(groups[0]?.messages[2]?.text).toBe(`${"y".repeat(499)}…`);
  });

  test("never leaves a call without an answer, or an answer without a call", () => {
    const messages = [
      asked("a1", ["c1", "c2"]),
      gave("t2", "c2", "two"),
      gave("t9", "c9", "nine"),
      asked("a3", ["c4"]),
    ];
    const [group] = groupsOf(messages);
    expect(group?.messages).toMatchObject([
      { role: "assistant", id: "a1", toolCalls: [{ id: "c2" }] },
      { role: "tool", id: "t2" },
      { role: "assistant", id: "t9", text: "(memory_search gave: nine)" },
      { role: "assistant", id: "a3" },
    ]);
    expect(group?.messages[3]).not.toHaveProperty("toolCalls");
    expect(group?.completes).toEqual(["a1", "t2", "t9", "a3"]);
  });

  test("is dated with its call, also where it came after midnight and is a turn of its own", () => {
    const messages = [
      { ...user("u1", "word ".repeat(100), "2026-03-05T22:59:50.000Z") },
      { ...asked("a1", ["c1"], "2026-03-05T22:59:58.000Z"), text: "word ".repeat(150) },
      gave("t1", "c1", "y".repeat(400), "2026-03-05T23:00:02.000Z"),
    ];
    const groups = groupsOf(messages, { maxTokens: 200 });
    expect(shape(groups)).toEqual([
      ["2026-03-05", "2026-03-05T22:59:50.000Z", ["u1"]],
      ["2026-03-05", "2026-03-05T22:59:58.000Z", ["a1"]],
      ["2026-03-05", "2026-03-05T22:59:58.000Z", ["t1"]],
    ]);
  });

  test("is not cut in the middle of a character", () => {
    const [group] = groupsOf([asked("a1", ["c1"]), gave("t1", "c1", `${"y".repeat(498)}😀😀😀`)]);
    expect(group?.messages[1]?.text.isWellFormed()).toBe(true);
  });
});

describe("a day that is too large for the model", () => {
  test("is cut between messages, and each group fits", () => {
    const messages = Array.from({ length: 40 }, (_, index) => user(`u${index}`, `${index} ${"word ".repeat(60)}`));
    const groups = groupsOf(messages, { maxTokens: 500 });
    expect(groups.length).toBeGreaterThan(5);
    expect(groups.flatMap(({ completes }) => completes)).toEqual(messages.map(({ id }) => id));
    for (const { messages: each } of groups)
      expect(each.reduce((sum, { text }) => sum + estimateTokens(text), 0)).toBeLessThanOrEqual(500);
  });

  test("is never cut between a call and its answer", () => {
    const messages = [user("u1", "word ".repeat(80)), asked("a1", ["c1"]), gave("t1", "c1", "z".repeat(400))];
    expect(groupsOf(messages, { maxTokens: 130 }).map(({ completes }) => completes)).toEqual([["u1"], ["a1", "t1"]]);
  });

  test.each([
    ["words", "word ".repeat(4_000)],
    ["lines", "a line of text\n".repeat(1_500)],
    ["one word", "x".repeat(20_000)],
    ["Chinese", "记忆".repeat(3_000)],
    ["emoji", "😀".repeat(3_000)],
  ])("has a single message handed over in pieces, all of it: %s", (_, text) => {
    const groups = groupsOf([user("u0", "before"), user("u1", text), user("u2", "after")], { maxTokens: 500 });
    const pieces = groups.flatMap(({ messages }) => messages).filter(({ id }) => id === "u1");
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    for (const piece of pieces) {
      expect(piece.text.isWellFormed()).toBe(true);
      expect(estimateTokens(piece.text)).toBeLessThanOrEqual(500);
    }
    // Handed over only when the last piece is.
    expect(groups.filter(({ completes }) => completes.includes("u1"))).toHaveLength(1);
    expect(groups.findIndex(({ completes }) => completes.includes("u1"))).toBe(groups.length - 2);
  });
});
