import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { acquireLock } from "@memslot/core/files";
import { writeFiles } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import type { ConversationMessage, FlushTurn } from "@memslot/agent-kit";
import {
  type FlushHouse,
  assistant,
  down,
  noteTaker,
  talk,
  useFlushHouse,
  user,
  watching,
  retry,
} from "./support/flush-house.ts";
import flushes from "../data/flushes.json" with { type: "json" };

let house: FlushHouse;
beforeEach(() => void (house = useFlushHouse()));

const inJournal = (name: string): string => path.join(house.journalDir, name);
const modeOf = (file: string): number => statSync(file).mode & 0o777;

/** A session whose messages no model took, and that has ended. */
async function leaveMessages(runTurn: FlushTurn | undefined = down): Promise<void> {
  const { flush } = await house.drop(talk, { runTurn });
  await flush.close();
}

describe("the journal", () => {
  test("is private to the owner, also if its folder was not, and has the messages as they were said", async () => {
    mkdirSync(house.journalDir, { recursive: true });
    chmodSync(house.journalDir, 0o755);
    await leaveMessages();
    const [name = ""] = house.journal();
    expect(name).toMatch(/^5f3c-[0-9a-f]{16}\.json$/);
    expect([modeOf(house.journalDir), modeOf(inJournal(name))]).toEqual([0o700, 0o600]);
    expect(JSON.parse(readFileSync(inJournal(name), "utf8"))).toMatchObject({
      sessionKey: "agent:main:main",
      sessionId: "5f3c",
      compactionCount: 0,
      messages: talk,
    });
  });

  test.each(flushes.damagedRecords as [string, string][])(
    "sets a file aside that is %s, and says so",
    async (_, content) => {
      writeFiles(house.journalDir, { "5f3c-0123456789abcdef.json": content });
      const flush = await house.open({ runTurn: noteTaker });
      expect(flush.status).toMatchObject({ pending: 0, notices: [expect.stringMatching(/damaged.*set aside/)] });
      const [aside = ""] = house.journal(".broken");
      expect(readFileSync(inJournal(aside), "utf8")).toBe(content);
      await flush.beforeDrop(talk);
      expect(await flush.settled()).toMatchObject({ state: "done" });
    },
  );

  test("of another session of the agent is worked off by the next one", async () => {
    await leaveMessages();
    const session = { ...house.session, id: "next", facts: house.session.facts };
    const after = await house.open({ runTurn: noteTaker, session });
    expect(after.status.pending).toBe(1);
    expect(await retry(after)).toMatchObject({ state: "done" });
    expect(house.session.record["memoryFlushCompactionCount"]).toBeUndefined();
  });

  test("is worked on by one process at a time, and taken over from one that is gone", async () => {
    await leaveMessages();
    const [name = ""] = house.journal();
    const lock = await acquireLock(inJournal(`${name}.lock`), { waitMs: 0, busy: () => "busy" });
    const runTurn = watching(noteTaker);
    const after = await house.open({ runTurn });
    expect(await retry(after)).toBeUndefined();
    expect([runTurn.given.length, after.status.pending]).toEqual([0, 1]);
    await lock.release();
    const gone = { pid: 2 ** 30, host: os.hostname(), since: new Date().toISOString(), token: "t" };
    writeFileSync(inJournal(`${name}.lock`), JSON.stringify(gone));
    expect(await retry(after)).toMatchObject({ state: "done" });
    expect(house.journal(".lock")).toEqual([]);
  });

  test("reports an entry that cannot be locked", async () => {
    await leaveMessages();
    const [name = ""] = house.journal();
    mkdirSync(inJournal(`${name}.lock`));
    expect(await house.workOff(down)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining(`${name}.lock`),
    });
  });

  test("does not repeat an entry whose removal was interrupted", async () => {
    let entry = "";
    await leaveMessages(async (turn) => {
      entry = readFileSync(inJournal(house.journal()[0] ?? ""), "utf8");
      return await noteTaker(turn);
    });
    writeFileSync(inJournal("5f3c-0123456789abcdef.json"), entry);
    const runTurn = watching(noteTaker);
    expect(await house.workOff(runTurn)).toBeUndefined();
    expect([runTurn.given, house.journal()]).toEqual([[], []]);
  });

  test("removes old marks and what killed processes left", async () => {
    const { flush } = await house.drop(talk, { runTurn: noteTaker, clock: () => new Date("2026-03-05T12:00:00Z") });
    await flush.close();
    writeFiles(house.journalDir, { "5f3c-1.json.some.tmp": "half", "5f3c-2.json.some.tmp": "half" });
    const hourAgo = new Date(Date.now() - 3_600_000);
    utimesSync(inJournal("5f3c-1.json.some.tmp"), hourAgo, hourAgo);
    expect(house.journal(".done.json")).toHaveLength(1);
    await (await house.open({ clock: () => new Date("2026-07-05T12:00:00Z") })).close();
    expect(readdirSync(house.journalDir)).toEqual(["5f3c-2.json.some.tmp"]);
  });

  test("remembers the latest 500 hand-overs", async () => {
    for (let index = 0; index < 510; index++) {
      const at = new Date(Date.UTC(2026, 2, 1, 0, index)).toISOString();
      const mark = { version: 1, sessionId: "5f3c", ids: [`m${index}`], at };
      writeFiles(house.journalDir, { [`5f3c-${index}.done.json`]: mark });
    }
    const clock = (): Date => new Date("2026-03-05T12:00:00Z");
    await (await house.open({ clock })).close();
    expect(house.journal(".done.json")).toHaveLength(500);
    const flush = await house.open({ clock });
    expect(await flush.beforeDrop(["m509", "m10", "m9"].map((id) => user(id, "x")))).toMatchObject({ messages: 1 });
  });

  test("works off the other entries if nobody can work on one", async () => {
    for (const [index, [id, sessionKey]] of Object.entries({
      a: "agent:other:main",
      b: "agent:main:cron:job",
    }).entries())
      writeFiles(house.journalDir, {
        [`${id}-0123456789abcdef.json`]: {
          version: 1,
          sessionKey,
          sessionId: id,
          compactionCount: 0,
          createdAt: `2020-01-01T00:00:00.00${index}Z`,
          messages: [user(id ?? "", "The boat is called Heron.")],
          rounds: 0,
          tries: 0,
        },
      });
    const flush = await house.open({ runTurn: noteTaker });
    expect(flush.status.pending).toBe(0);
    await retry(flush);
    expect(house.reports).toMatchObject([
      { state: "failed", reason: expect.stringContaining("other") },
      { state: "done" },
    ]);
    expect(house.journal()).toEqual(["a-0123456789abcdef.json"]);
  });

  test("of an earlier cycle does not set the session's cycle back", async () => {
    await leaveMessages();
    await house.session.update({ memoryFlushCompactionCount: 5 });
    expect(await house.workOff(noteTaker)).toMatchObject({ state: "done" });
    expect(house.session.record["memoryFlushCompactionCount"]).toBe(5);
  });
});

describe("dropped messages", () => {
  const keptIn = (): string => path.join(house.stateDir, "agents/main/journal");

  /** The lines of each kept transcript. */
  const kept = (): Record<string, unknown>[][] =>
    readdirSync(keptIn()).map((name) =>
      readFileSync(path.join(keptIn(), name), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    );

  test("are kept as a transcript, private to the owner, also if a model took them", async () => {
    const agent = house.agentWith({ memoryFlush: { journalDays: 7 } });
    const { report } = await house.drop([...talk, user("u2", "It has a red hull."), assistant("a2", "Fine.")], {
      runTurn: noteTaker,
      agent,
      clock: () => new Date("2026-03-05T12:00:00.000Z"),
    });
    expect(report).toMatchObject({ state: "done" });
    expect(house.journal()).toEqual([]);
    const [[header, ...messages] = []] = kept();
    expect(header).toMatchObject({ type: "session", id: "5f3c", keptUntil: "2026-03-12T12:00:00.000Z" });
    expect(messages.map(({ id }) => id)).toEqual(["u1", "a1", "u2", "a2"]);
    const [name = ""] = readdirSync(keptIn());
    expect(name).toMatch(/^5f3c\.[0-9a-f]{16}\.jsonl$/);
    expect([modeOf(keptIn()), modeOf(path.join(keptIn(), name))]).toEqual([0o700, 0o600]);
  });

  test("have the whole result of a tool as text, unless it was recalled from memory", async () => {
    const tool = (id: string, toolName: string, text: string): ConversationMessage => {
      return { role: "tool", id, at: "2026-03-05T10:00:00.000Z", toolCallId: `c-${id}`, toolName, text };
    };
    const long = `beginning ${"x ".repeat(2_000)} end`;
    await house.drop([...talk, tool("t1", "read_page", long), tool("t2", "memory_search", "recalled")], {
      runTurn: noteTaker,
    });
    const messages = kept()[0]?.map(({ message }) => message);
    expect(messages?.[3]).toMatchObject({ role: "assistant", content: [{ text: `[result of read_page] ${long}` }] });
    expect(messages?.[4]).toMatchObject({ role: "toolResult" });
  });

  test("are kept by the next process if one ended before it", async () => {
    const before = await house.open();
    await before.beforeDrop(talk);
    await before.close();
    rmSync(keptIn(), { recursive: true });
    await (await house.open()).close();
    expect(kept()).toHaveLength(1);
  });

  test("are saved at once if they cannot be kept, and not a second time later", async () => {
    writeFiles(house.stateDir, { "agents/main/journal": "in the way" });
    const flush = await house.open({ runTurn: noteTaker });
    expect(await flush.beforeDrop(talk)).toMatchObject({ state: "saved", messages: 2 });
    expect(house.journal()).toEqual([]);
    expect(await retry(flush)).toBeUndefined();
    expect(house.notes().match(/Heron/g)).toHaveLength(1);
  });
});
