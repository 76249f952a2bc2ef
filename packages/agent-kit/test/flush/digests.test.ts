import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type AgentConfig, parseConfig } from "@memslot/core";
import { createWorkspace } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import { type ConversationJournal, type ConversationMessage, openConversationJournal } from "@memslot/agent-kit";
import flushes from "../data/flushes.json" with { type: "json" };
import { assistant, useFlushHouse, user } from "./support/flush-house.ts";

/** The lines of the notes after these messages left a session without a model, without stamps and list marks. */
async function digestLines(messages: readonly ConversationMessage[], hasJournal = true): Promise<string[]> {
  const house = useFlushHouse();
  if (!hasJournal) house.blockJournal();
  await house.drop(messages);
  const lines = house.notes().split("\n").slice(2, -1);
  return lines.map((line) => line.replace(/^ *- \d\d:\d\d /, ""));
}

describe("a digest", () => {
  const heading = "Digest of dropped messages (no model was available):";
  const search = { id: "c", name: "memory_search", arguments: "{}" };
  const round: ConversationMessage[] = [
    { ...assistant("a0", ""), toolCalls: [search] },
    { ...user("t", "an old note"), role: "tool", toolCallId: "c", toolName: "memory_search" },
  ];

  test("has what the user wrote and the first sentence of each answer, and nothing of tools", async () => {
    const messages = [
      user("u1", "The boat is\n\ncalled  Heron."),
      ...round,
      assistant("a1", "Noted. I will remember it, as you asked."),
    ];
    expect(await digestLines(messages)).toEqual([heading, "user: The boat is called Heron.", "assistant: Noted."]);
  });

  test("leaves out mere questions and answers from notes, unless they are kept nowhere else", async () => {
    const messages = [
      user("u1", "Who serviced the boiler?"),
      assistant("a1", "Anke Brandt did. MEMORY.md#L3-L3"),
      user("u2", "锅炉是谁修的？"),
      user("u3", "It leaks again. Can you note that?"),
      assistant("a2", "I call her on Monday."),
    ];
    const last = ["user: It leaks again. Can you note that?", "assistant: I call her on Monday."];
    expect(await digestLines(messages)).toEqual([heading, ...last]);
    expect(await digestLines(messages.slice(0, 3))).toEqual([]);
    expect((await digestLines(messages, false)).slice(-2)).toEqual(last);
    expect(await digestLines(messages, false)).toHaveLength(6);
  });

  test("has no secrets, also where they span lines", async () => {
    const key = `sk-${"a1B2c3D4".repeat(6)}`;
    const pem = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(2)}\n-----END PRIVATE KEY-----`;
    const text = (await digestLines([user("u1", `my key is ${key}\n${pem}`)])).join("\n");
    expect(text).toContain("redacted");
    expect(text).not.toContain(key);
    expect(text).not.toContain("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC");
  });

  test("has at most 2,000 characters and says how many messages are missing", async () => {
    const messages = Array.from({ length: 60 }, (_, index) => user(`u${index}`, `${index}: ${"word ".repeat(90)}`));
    const lines = await digestLines(messages);
    expect(lines.join("\n").length).toBeLessThanOrEqual(2_000);
    expect(lines.at(-1)).toMatch(new RegExp(`… and ${60 - (lines.length - 2)} more messages in the journal$`));
    expect(lines.length).toBeGreaterThan(5);
  });

  test("is not written where nothing was said", async () => {
    const given = user("u9", "<hook_context>&gt;&gt;&gt; MEMORY.md 0123456789ab\nOld fact.</hook_context>");
    const silent = [...round, given, assistant("a1", ""), assistant("a2", "NO_REPLY")];
    expect(await digestLines(silent)).toEqual([]);
  });

  test("is always a note that can be written, and never contains the sentinel", async () => {
    for (const text of [...flushes.hostile, "half \uD83D of a character"]) {
      const [first, ...lines] = await digestLines([user("u", text), assistant("a", text)]);
      expect(first, JSON.stringify(text)).toBe(heading);
      expect(lines.join("\n")).not.toContain("NO_REPLY");
      for (const line of lines) expect(line).toMatch(/^(?:user|assistant): /);
    }
  });

  test("of messages that are kept nowhere else has all of them, in as many notes as that takes", async () => {
    const facts = Array.from({ length: 400 }, (_, index) => `Fact ${index} is worth ${index * 7} euros.`);
    const messages = facts.map((fact, index) => (index % 2 === 0 ? user : assistant)(`m${index}`, `Well. ${fact}`));
    const pasted = user("long", Array.from({ length: 9_000 }, (_, index) => `word${index}`).join(" "));
    const text = (await digestLines([...messages, pasted], false)).join("\n");
    for (const word of [...facts, "word0 ", "word4500 ", "word8999"]) expect(text).toContain(word);
    expect(text.split(heading).length).toBeGreaterThan(5);
  });
});

describe("the journal of a conversation in another program", () => {
  let workspaceDir: string;
  let stateDir: string;
  let folder: string;
  let agent: AgentConfig;

  const agentWith = (compaction: object): AgentConfig =>
    parseConfig(
      { agents: { defaults: { workspace: workspaceDir, userTimezone: "UTC", compaction } } },
      { stateDir, env: {} },
    ).agent("main");

  beforeEach(() => {
    ({ workspaceDir, stateDir, folder } = createWorkspace());
    agent = agentWith({});
  });

  async function open(sessionId = "s-1"): Promise<ConversationJournal> {
    const from = { client: "codex", sessionId, project: "app" };
    const sessionKey = `agent:main:hook:codex-${sessionId}`;
    const clock = (): Date => new Date("2026-05-01T09:00:00Z");
    const journal = await openConversationJournal({ agent, stateDir, sessionKey, from, clock });
    return journal ?? expect.fail("there is no journal");
  }

  const said = (id: string): ConversationMessage => user(id, `Fact ${id} holds.`, "2026-05-01T08:00:00Z");
  const log = (): string => readFileSync(path.join(workspaceDir, "memory/2026-05-01.md"), "utf8");
  const flushFolder = (): string => path.join(stateDir, "agents/main/flush");

  test("takes messages once that come twice, and notes all of them in one digest that says whose they are", async () => {
    expect(await (await open()).add([said("a"), said("b")])).toBe(2);
    const journal = await open();
    expect(await journal.add([said("b"), said("c")])).toBe(1);
    expect(journal.waiting).toBe(2);
    expect(await journal.digest()).toEqual({ messages: 3, citations: ["memory/2026-05-01.md#L3-L6"] });
    const lines = ["a", "b", "c"].map((id) => `  - 08:00 user: Fact ${id} holds.\n`).join("");
    const first = "- 08:00 Digest of a conversation (codex, project app, session s-1):";
    expect(log()).toBe(`# 2026-05-01\n\n${first}\n${lines}`);
    expect(readdirSync(flushFolder())).toEqual([]);
    expect(journal.waiting).toBe(0);
    expect(await journal.digest()).toBeUndefined();
    const kept = readdirSync(path.join(stateDir, "agents/main/journal"));
    expect(kept.filter((name) => name.endsWith(".jsonl"))).toHaveLength(2);
  });

  test("of one session leaves what another has waiting", async () => {
    const [one, two] = [await open("s-1"), await open("s-2")];
    await one.add([said("a")]);
    await two.add([said("b")]);
    await one.digest();
    expect(log()).not.toContain("Fact b");
    await two.digest();
    expect(log()).toContain("session s-2):\n  - 08:00 user: Fact b holds.");
  });

  test.each([
    ["before the note", false],
    ["behind the note", true],
  ])("writes a digest once that was interrupted %s, and another one of what came since", async (_, isWritten) => {
    const first = await open();
    await first.add([said("a")]);
    cpSync(flushFolder(), path.join(folder, "kept"), { recursive: true });
    if (isWritten) await first.digest();
    rmSync(flushFolder(), { recursive: true });
    cpSync(path.join(folder, "kept"), flushFolder(), { recursive: true });
    const names = readdirSync(flushFolder()).filter((name) => name.endsWith(".json"));
    writeFileSync(path.join(flushFolder(), "s-1.digest"), JSON.stringify({ names }));
    const next = await open();
    await next.add([said("b")]);
    await next.digest();
    for (const id of ["a", "b"]) expect(log().split(`Fact ${id} holds.`)).toHaveLength(2);
    expect(readdirSync(flushFolder())).toEqual([]);
  });

  test("keeps everything while the log cannot be written", async () => {
    writeFileSync(path.join(workspaceDir, "memory"), "a file in its place");
    const journal = await open();
    await journal.add([said("a")]);
    await expect(journal.digest()).rejects.toMatchObject({ code: "WORKSPACE" });
    rmSync(path.join(workspaceDir, "memory"));
    expect(await (await open()).digest()).toMatchObject({ messages: 1 });
  });

  test("does not exist if the agent keeps none, nor for a group", async () => {
    const options = { agent, stateDir, sessionKey: "agent:main:hook:x", from: { client: "x", sessionId: "y" } };
    const off = agentWith({ memoryFlush: { enabled: false } });
    expect(await openConversationJournal({ ...options, agent: off })).toBeUndefined();
    expect(await openConversationJournal({ ...options, sessionKey: "agent:main:telegram:group:1" })).toBeUndefined();
  });
});
