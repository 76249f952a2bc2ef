import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type AgentConfig, parseConfig } from "@memslot/core";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { type ConversationJournal, type ConversationMessage, openConversationJournal } from "@memslot/agent-kit";

let folder = "";
let agent: AgentConfig;
const clock = (): Date => new Date("2026-05-01T09:00:00Z");

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "memslot-conversation-"));
  const workspace = path.join(folder, "notes");
  agent = parseConfig(
    { agents: { defaults: { workspace, userTimezone: "UTC" } } },
    { stateDir: path.join(folder, "state"), env: {} },
  ).agent("main");
  await mkdir(workspace);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

async function open(sessionId = "s-1", own: AgentConfig = agent): Promise<ConversationJournal> {
  const journal = await openConversationJournal({
    agent: own,
    stateDir: path.join(folder, "state"),
    sessionKey: `agent:main:hook:codex-${sessionId}`,
    from: { client: "codex", sessionId, project: "app" },
    clock,
  });
  if (journal === undefined) throw new Error("there is no journal");
  return journal;
}

function said(id: string): ConversationMessage {
  return { role: "user", id, at: "2026-05-01T08:00:00Z", text: `Fact ${id} holds.` };
}

const log = (): Promise<string> => readFile(path.join(folder, "notes/memory/2026-05-01.md"), "utf8");
const flushFolder = (): string => path.join(folder, "state/agents/main/flush");

test("messages that come twice are taken once, and all of them have one digest that says whose they are", async () => {
  expect(await (await open()).add([said("a"), said("b")])).toBe(2);
  const journal = await open();
  expect(await journal.add([said("b"), said("c")])).toBe(1);
  expect(journal.waiting).toBe(2);
  expect(await journal.digest()).toEqual({ messages: 3, citations: ["memory/2026-05-01.md#L3-L6"] });
  expect(await log()).toBe(
    [
      "# 2026-05-01",
      "",
      "- 08:00 Digest of a conversation (codex, project app, session s-1):",
      ...["a", "b", "c"].map((id) => `  - 08:00 user: Fact ${id} holds.`),
      "",
    ].join("\n"),
  );
  expect(await readdir(flushFolder())).toEqual([]);
  expect(journal.waiting).toBe(0);
  expect(await journal.digest()).toBeUndefined();
  const kept = await readdir(path.join(folder, "state/agents/main/journal"));
  expect(kept.filter((name) => name.endsWith(".jsonl"))).toHaveLength(2);
});

test("one session's digest leaves what another has waiting", async () => {
  const [one, two] = [await open("s-1"), await open("s-2")];
  await one.add([said("a")]);
  await two.add([said("b")]);
  await one.digest();
  expect(await log()).not.toContain("Fact b");
  await two.digest();
  expect(await log()).toContain("session s-2):\n  - 08:00 user: Fact b holds.");
});

test.each([
  ["before the note", false],
  ["behind the note", true],
])("a digest that was broken off %s is written once, and what came since has its own", async (_, isWritten) => {
  const first = await open();
  await first.add([said("a")]);
  await cp(flushFolder(), path.join(folder, "kept"), { recursive: true });
  if (isWritten) await first.digest();
  await rm(flushFolder(), { recursive: true });
  await cp(path.join(folder, "kept"), flushFolder(), { recursive: true });
  const names = (await readdir(flushFolder())).filter((name) => name.endsWith(".json"));
  await writeFile(path.join(flushFolder(), "s-1.digest"), JSON.stringify({ names }));

  const next = await open();
  await next.add([said("b")]);
  await next.digest();
  const text = await log();
  expect(text.split("Fact a holds.")).toHaveLength(2);
  expect(text.split("Fact b holds.")).toHaveLength(2);
  expect(await readdir(flushFolder())).toEqual([]);
});

test("where the log cannot be written all of it waits", async () => {
  await writeFile(path.join(folder, "notes/memory"), "a file in its place");
  const journal = await open();
  await journal.add([said("a")]);
  await expect(journal.digest()).rejects.toMatchObject({ code: "WORKSPACE" });
  await rm(path.join(folder, "notes/memory"));
  expect(await (await open()).digest()).toMatchObject({ messages: 1 });
});

test("there is none where the agent keeps none, and none of a group", async () => {
  const off = parseConfig(
    { agents: { defaults: { workspace: folder, compaction: { memoryFlush: { enabled: false } } } } },
    { stateDir: folder, env: {} },
  ).agent("main");
  const options = { agent, stateDir: folder, sessionKey: "agent:main:hook:x", from: { client: "x", sessionId: "y" } };
  expect(await openConversationJournal({ ...options, agent: off })).toBeUndefined();
  expect(await openConversationJournal({ ...options, sessionKey: "agent:main:telegram:group:1" })).toBeUndefined();
});
