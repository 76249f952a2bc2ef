import { readFileSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import { openSessions, type Sessions } from "@memslot/agent-kit";
import { assistant, folderIn, key, linesOf, listIn, sessionsIn, user } from "./support/sessions.ts";
import data from "../data/session-list.json" with { type: "json" };

let stateDir: string;
let sessions: Sessions;
let now: Date;

beforeEach(async () => {
  now = new Date("2026-03-05T10:00:00Z");
  ({ stateDir, sessions } = await sessionsIn(undefined, () => now));
});

const listFile = (): string => path.join(folderIn(stateDir), "sessions.json");
const writeList = (content: object | string): void => writeFiles(folderIn(stateDir), { "sessions.json": content });
const namesIn = (): string[] => readdirSync(folderIn(stateDir)).toSorted();

describe("the list of sessions", () => {
  test("is not written with each message, and has the time of the last one after the session is closed", async () => {
    const startedAt = performance.now();
    const session = await sessions.open(key);
    now = new Date("2026-03-05T11:00:00Z");
    let written = 0;
    for (let index = 0; index < 20; index++) {
      const before = statSync(listFile()).ino;
      await session.append(user(`${index}`));
      if (statSync(listFile()).ino !== before) written++;
    }
    // At most every five seconds: on a slow machine twenty messages take longer than that.
    expect(written).toBeLessThanOrEqual((performance.now() - startedAt) / 5_000);
    expect(session.facts.updatedAt).toBe(now.toISOString());
    await session.close();
    expect(listIn(stateDir)[key]?.["updatedAt"]).toBe(now.getTime());
  });

  test("has every session, the last used first, open or not", async () => {
    const first = await sessions.open("first");
    await first.append(user("1", "1"), user("2", "2"));
    await first.compact({ summary: "s", firstKeptId: "2", tokensBefore: 1 });
    await first.append(assistant("3"));
    await first.close();
    now = new Date("2026-03-05T11:00:00Z");
    const second = await sessions.open("second");
    await second.append(user("1"));
    const { brokenLines: _, ...facts } = first.facts;
    expect(await sessions.list()).toEqual([second.facts, facts]);
    expect(facts).toMatchObject({ compactionCount: 1, transcriptBytes: statSync(first.file).size });
  });

  test.each(["", "{", "[]", '"x"', "\0\0", '{"a": {"sessionId": "x"}', undefined])(
    "with the content %j is set aside with a notice, and rebuilt from the transcripts",
    async (content) => {
      await (await sessions.open(key)).append(user("hello"));
      await (await sessions.open("other")).append(user("x"));
      now = new Date("2026-03-05T11:00:00Z");
      const other = await sessions.reset("other");
      await sessions.close();
      writeFiles(folderIn(stateDir), { "foreign.jsonl": `${JSON.stringify({ role: "user", content: "x" })}\n` });
      if (content === undefined) rmSync(listFile());
      else writeList(content);
      const again = await sessionsIn(stateDir, () => now);
      expect(again.notices.at(-1)).toContain("2 sessions");
      const aside = "sessions.json.broken-2026-03-05T11-00-00.000Z";
      expect(again.notices.slice(0, -1)).toEqual(content === undefined ? [] : [expect.stringContaining(aside)]);
      if (content !== undefined) expect(readFileSync(path.join(folderIn(stateDir), aside), "utf8")).toBe(content);
      expect((await again.sessions.open(key)).recorded.map(({ text }) => text)).toEqual(["hello"]);
      expect((await again.sessions.open("other")).id).toBe(other.id);
      const keys = (await again.sessions.list()).map((facts) => facts.key);
      expect(keys.toSorted()).toEqual([key, "other"]);
    },
  );

  test.each<[string, unknown]>(data.refusedNames as [string, unknown][])(
    "that names %s for a key begins a new session",
    async (_what, entry) => {
      writeList({ [key]: entry });
      const session = await sessions.open(key);
      await session.append(user("x"));
      expect(path.dirname(session.file)).toBe(folderIn(stateDir));
      expect(namesIn().filter((name) => name.endsWith(".jsonl"))).toEqual([`${session.id}.jsonl`]);
    },
  );

  test("may have keys that mean something to JavaScript", async () => {
    const names = ["__proto__", "constructor", "toString"];
    for (const name of names) await (await sessions.open(name)).append(user(name));
    await sessions.close();
    const again = await sessionsIn(stateDir);
    for (const name of names)
      expect((await again.sessions.open(name)).recorded.map(({ text }) => text)).toEqual([name]);
  });
});

describe("a reset", () => {
  test("begins a new session under the key and leaves the transcript of the old one", async () => {
    const old = await sessions.open(key);
    await old.append(user("old"));
    await old.update({ memoryFlushAt: "2026-03-05T09:00:00.000Z", memoryFlushError: "x", label: "mine" });
    const saying = old.append(user("under way"));
    const fresh = await sessions.reset(key);
    await saying;
    expect(linesOf(old.file)).toHaveLength(3);
    expect(fresh.id).not.toBe(old.id);
    expect([fresh.recorded, fresh.context.summary, fresh.facts.memoryFlushAt]).toEqual([[], undefined, undefined]);
    expect(listIn(stateDir)[key]).toMatchObject({ sessionId: fresh.id, label: "mine" });
    expect(listIn(stateDir)[key]).not.toHaveProperty("memoryFlushError");
    expect(old.closed).toBe(true);
    await expect(old.append(user("late"))).rejects.toMatchObject({ code: "CLOSED" });
    expect(linesOf(old.file)).toHaveLength(3);
    expect(await sessions.open(key)).toBe(fresh);
  });

  test("of an empty session changes nothing, so that it can be repeated, also by the next process", async () => {
    const empty = await sessions.open(key);
    expect(await sessions.reset(key)).toBe(empty);
    await empty.append(user("x"));
    const [one, two] = await Promise.all([sessions.reset(key), sessions.reset(key)]);
    expect(one).toBe(two);
    expect(one.id).not.toBe(empty.id);
    await sessions.close();
    // A process that ended before it created the transcript.
    rmSync(one.file);
    const again = await (await sessionsIn(stateDir)).sessions.reset(key);
    expect([again.id, again.recorded]).toEqual([one.id, []]);
  });
});

describe("sessions", () => {
  test("are one for a key until they are closed, and leave nothing but transcripts and the list", async () => {
    const [one, two] = await Promise.all([sessions.open(key), sessions.open(key)]);
    expect(one).toBe(two);
    await one.append(user("x"));
    const closing = one.close();
    const again = await sessions.open(key);
    await closing;
    expect(again).not.toBe(one);
    expect([again.id, again.recorded.length]).toEqual([one.id, 1]);
    await sessions.close();
    await sessions.close();
    await expect(again.append(user("x"))).rejects.toMatchObject({ code: "CLOSED" });
    await expect(sessions.open(key)).rejects.toMatchObject({ code: "CLOSED" });
    expect(namesIn()).toEqual([`${one.id}.jsonl`, "sessions.json"].toSorted());
  });

  test.each(["", " ", "a\nb", "x".repeat(513), undefined])("have no key like %j", async (wrong) => {
    await expect(sessions.open(wrong as string)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("are not looked for behind a link", async () => {
    const linked = tempFolder({ "agents/other": "", file: "" });
    symlinkSync(tempFolder(), path.join(linked, "agents/main"));
    await expect(openSessions({ stateDir: linked, agentId: "main" })).rejects.toMatchObject({ code: "CONFIG" });
    await expect(openSessions({ stateDir: linked, agentId: "../x" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    const inFile = openSessions({ stateDir: path.join(linked, "file"), agentId: "main" });
    await expect(inFile).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
