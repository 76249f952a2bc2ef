import { describe, expect, test } from "vitest";
import type { ConversationMessage } from "../index.ts";
import { handedOver, modelContext } from "./model-context.ts";

const at = "2026-03-05T10:00:00.000Z";
let count = 0;
const next = (): { id: string; at: string } => ({ id: `m${count++}`, at });
const user = (text = "question"): ConversationMessage => ({ ...next(), role: "user", text });
const asks = (calls: string[], text = ""): ConversationMessage => ({
  ...next(),
  role: "assistant",
  text,
  toolCalls: calls.map((id) => ({ id, name: "memory_append", arguments: `{"text":"fact ${id}"}` })),
});
const result = (toolCallId: string, text = "done"): ConversationMessage => ({
  ...next(),
  role: "tool",
  toolCallId,
  toolName: "memory_append",
  text,
});
const answer = (text = "answer"): ConversationMessage => ({ ...next(), role: "assistant", text });

/** `user`, `asks a,b`, `result a` or `answer`, for each message. */
const shape = (messages: readonly ConversationMessage[]): string[] =>
  messages.map((message) => {
    if (message.role === "tool") return `result ${message.toolCallId}`;
    if (message.role === "user" || message.toolCalls === undefined) return message.role === "user" ? "user" : "answer";
    return `asks ${message.toolCalls.map(({ id }) => id).join()}`;
  });

describe("what a model is given", () => {
  test.each<[string, ConversationMessage[], string[]]>([
    [
      "whole rounds stay",
      [user(), asks(["a", "b"]), result("a"), result("b"), answer()],
      ["user", "asks a,b", "result a", "result b", "answer"],
    ],
    ["a call at the end that nobody answered is left out", [user(), asks(["a"])], ["user"]],
    ["of two calls the answered one stays", [user(), asks(["a", "b"]), result("b")], ["user", "asks b", "result b"]],
    ["what was said beside the call stays", [user(), asks(["a"], "Let me see.")], ["user", "answer"]],
    ["a call in the middle is left out too", [user(), asks(["a"]), user(), answer()], ["user", "user", "answer"]],
    [
      "a result stands right behind its call",
      [user(), asks(["a"]), user(), result("a"), answer()],
      ["user", "asks a", "result a", "user", "answer"],
    ],
    ["a result without a call is left out", [user(), result("z"), answer()], ["user", "answer"]],
    [
      "a second result is left out",
      [user(), asks(["a"]), result("a"), result("a"), answer()],
      ["user", "asks a", "result a", "answer"],
    ],
    ["two calls with one id are one", [user(), asks(["a", "a"]), result("a")], ["user", "asks a", "result a"]],
    [
      "the same id in a later round is another call",
      [asks(["a"]), result("a"), asks(["a"]), result("a"), asks(["a"])],
      ["asks a", "result a", "asks a", "result a"],
    ],
    ["a result behind the next answer is nobody's", [asks(["a"]), answer(), result("a")], ["answer"]],
    ["an answer without a word is left out", [user(), answer(" "), user()], ["user", "user"]],
  ])("%s", (_what, recorded, expected) => {
    expect(shape(modelContext(recorded))).toEqual(expected);
  });

  test("is the same message where nothing was left out", () => {
    const recorded = [user(), asks(["a"], "text"), result("a"), answer()];
    expect(modelContext(recorded)).toEqual(recorded);
  });
});

describe("what is handed over before it is dropped", () => {
  test("is every message, with calls that nobody answered as text", () => {
    const recorded = [user(), asks(["a", "b"], "Noted."), user(), result("b", "late"), result("z", "lost"), answer("")];
    const handed = handedOver(recorded);
    expect(handed.map(({ id }) => id).toSorted()).toEqual(recorded.map(({ id }) => id).toSorted());
    expect(shape(handed)).toEqual(["user", "asks b", "result b", "user", "answer", "answer"]);
    expect(handed[1]?.text).toBe('Noted.\n[asked for memory_append, never answered] {"text":"fact a"}');
    expect(handed[4]?.text).toBe("[result of memory_append] lost");
    // A model takes it as it is, but for answers without a word.
    expect(modelContext(handed)).toEqual(handed.slice(0, -1));
  });
});
