import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { ConversationMessage } from "@memslot/agent-kit";
import { assistant, noteTaker, talk, useFlushHouse, user } from "./support/flush-house.ts";

const tool = (id: string, toolName: string, text: string): ConversationMessage => {
  return { role: "tool", id, at: "2026-03-05T10:00:00.000Z", toolCallId: `c-${id}`, toolName, text };
};

function linesOf(stateDir: string): Record<string, unknown>[][] {
  const folder = path.join(stateDir, "agents/main/journal");
  return readdirSync(folder).map((name) =>
    readFileSync(path.join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );
}

test("what was dropped is kept as a transcript, for the owner alone, also when a model has taken it", async () => {
  const house = useFlushHouse();
  const flush = await house.open({
    runTurn: noteTaker,
    agent: house.agentWith({ memoryFlush: { journalDays: 7 } }),
    clock: () => new Date("2026-03-05T12:00:00.000Z"),
  });
  await flush.beforeDrop([...talk, user("u2", "It has a red hull."), assistant("a2", "Fine.")]);
  expect(await flush.settled()).toMatchObject({ state: "done" });
  expect(house.journal()).toEqual([]);
  const [[header, ...messages] = []] = linesOf(house.stateDir);
  expect(header).toMatchObject({ type: "session", id: "5f3c", keptUntil: "2026-03-12T12:00:00.000Z" });
  expect(messages.map(({ id }) => id)).toEqual(["u1", "a1", "u2", "a2"]);
  const folder = path.join(house.stateDir, "agents/main/journal");
  const [name = ""] = readdirSync(folder);
  expect(name).toMatch(/^5f3c\.[0-9a-f]{16}\.jsonl$/);
  expect([statSync(folder).mode & 0o777, statSync(path.join(folder, name)).mode & 0o777]).toEqual([0o700, 0o600]);
});

test("what a tool gave is kept whole and can be found, unless it was recalled from memory", async () => {
  const house = useFlushHouse();
  const long = `beginning ${"x ".repeat(2_000)} end`;
  const flush = await house.open({ runTurn: noteTaker });
  await flush.beforeDrop([...talk, tool("t1", "read_page", long), tool("t2", "memory_search", "recalled")]);
  await flush.settled();
  const messages = linesOf(house.stateDir)[0]?.map(({ message }) => message);
  expect(messages?.[3]).toMatchObject({ role: "assistant", content: [{ text: `[result of read_page] ${long}` }] });
  expect(messages?.[4]).toMatchObject({ role: "toolResult" });
});

test("a process that ended before it could be found is made good by the next one", async () => {
  const house = useFlushHouse();
  const before = await house.open({ runTurn: undefined });
  await before.beforeDrop(talk);
  await before.close();
  rmSync(path.join(house.stateDir, "agents/main/journal"), { recursive: true });
  await (await house.open({ runTurn: undefined })).close();
  expect(linesOf(house.stateDir)).toHaveLength(1);
});

test("where it cannot be kept, the messages are saved at once, and not a second time later", async () => {
  const house = useFlushHouse();
  mkdirSync(path.join(house.stateDir, "agents/main"), { recursive: true });
  writeFileSync(path.join(house.stateDir, "agents/main/journal"), "in the way");
  const flush = await house.open({ runTurn: noteTaker });
  expect(await flush.beforeDrop(talk)).toMatchObject({ state: "saved", messages: 2 });
  expect(house.journal()).toEqual([]);
  flush.retry();
  expect(await flush.settled()).toBeUndefined();
  expect(house.notes().match(/Heron/g)).toHaveLength(1);
});
