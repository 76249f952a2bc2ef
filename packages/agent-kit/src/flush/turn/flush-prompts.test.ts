import { parseConfig } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { isNoReply } from "./flush-prompts.ts";
import { flushPrompts } from "../../index.ts";

const moment = { day: "2026-03-05", time: "23:59", timeZone: "Asia/Shanghai" };

function promptsWith(memoryFlush: Record<string, unknown>): { systemPrompt: string; prompt: string } {
  const config = parseConfig(
    { agents: { defaults: { compaction: { memoryFlush } } } },
    { stateDir: "/nowhere", env: {} },
  );
  return flushPrompts(config.agent("main").compaction, moment);
}

describe("the texts of a flush turn", () => {
  test("say when the messages are from, what may be done, and how to be silent", () => {
    const { prompt, systemPrompt } = promptsWith({});
    expect(prompt).toMatch(/^Pre-compaction memory flush\b/);
    for (const word of ["2026-03-05", "23:59", "Asia/Shanghai", "memory_append", "memory_search", "NO_REPLY"])
      expect(prompt).toContain(word);
    expect(prompt).toMatch(/secrets/);
    expect(systemPrompt).toContain("NO_REPLY");
    expect(systemPrompt).toContain("memory_append");
  });

  test("give way to configured ones, which get what is missing", () => {
    const own = promptsWith({ prompt: "Write down the dates.", systemPrompt: "You are a clerk." });
    expect(own.prompt).toMatch(/^Pre-compaction memory flush\. Write down the dates\.\n\n.*NO_REPLY/s);
    expect(own.systemPrompt).toMatch(/^You are a clerk\.\n\n.*NO_REPLY/s);
  });

  test("leave configured ones alone that have all of it", () => {
    const prompt = "Pre-compaction memory flush: note the dates, or say NO_REPLY.";
    const systemPrompt = "Say NO_REPLY when done.";
    expect(promptsWith({ prompt, systemPrompt })).toEqual({ prompt, systemPrompt });
  });
});

describe("the sentinel", () => {
  test.each([
    "NO_REPLY",
    " no_reply.\n",
    "**NO_REPLY**",
    "`NO_REPLY`",
    '"NO_REPLY"',
    "```\nNO_REPLY\n```",
    '{"action":"NO_REPLY"}',
    '```json\n{ "action": "NO_REPLY" }\n```',
    "（NO_REPLY）",
  ])("is %j", (text) => {
    expect(isNoReply(text)).toBe(true);
  });

  test.each(["", "NO_REPLY is what I say", "Done. NO_REPLY", "NO REPLY", `NO_REPLY${" ".repeat(300)}`])(
    "is not %j",
    (text) => {
      expect(isNoReply(text)).toBe(false);
    },
  );
});
