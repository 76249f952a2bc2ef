import { readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import { openSessions, type Sessions } from "@memslot/agent-kit";
import { assistant, folderIn, key, linesOf, listIn, openSession, sessionsIn, user } from "./support/sessions.ts";
import data from "../data/session-list.json" with { type: "json" };

let stateDir: string;
let sessions: Sessions;
let notices: string[];
let now: Date;

beforeEach(async () => {
  now = new Date("2026-03-05T10:00:00Z");
  ({ stateDir, sessions, notices } = await sessionsIn(undefined, () => now));
});

const listFile = (): string => path.join(folderIn(stateDir), "sessions.json");
const writeList = (content: object | string): void => writeFiles(folderIn(stateDir), { "sessions.json": content });
const namesIn = (): string[] => readdirSync(folderIn(stateDir)).toSorted();

describe("the list of sessions", () => {
  test("says which transcript a key has, and keeps what it does not know", async () => {
    const foreign = { sessionId: "s1", model: "x", tokens: { total: 7 } };
    writeList({ other: foreign, odd: "text", [key]: { ...foreign, sessionId: "s2", label: "mine" } });
    const session = await sessions.open(key);
    expect(session.id).toBe("s2");
    const flushed = { memoryFlushAt: "2026-03-05T09:00:00.000Z", memoryFlushCompactionCount: 2 };
    await session.update({ ...flushed, model: "y" });
    await session.update({ label: undefined });
    expect(listIn(stateDir)).toEqual({
      other: foreign,
      odd: "text",
      [key]: {
        sessionId: "s2",
        sessionFile: "s2.jsonl",
        updatedAt: now.getTime(),
        compactionCount: 0,
        compactedBytes: 0,
        ...flushed,
        model: "y",
        tokens: { total: 7 },
      },
    });
    await session.close();
    expect((await sessions.open(key)).facts).toMatchObject(flushed);
  });

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

  test("is corrected from the transcript if a process ended between the two", async () => {
    const session = await sessions.open(key);
    const before = readFileSync(listFile());
    await session.append(user("1", "1"));
    await session.compact({ summary: "s", firstKeptId: "1", tokensBefore: 1 });
    await sessions.close();
    writeFileSync(listFile(), before);
    expect((await openSession(stateDir)).facts).toMatchObject({ compactionCount: 1, bytesSinceCompaction: 0 });
    expect(listIn(stateDir)[key]).toMatchObject({ compactionCount: 1 });
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

  test("that is damaged while a session is open loses nothing", async () => {
    const session = await sessions.open(key);
    await session.append(user("before"));
    writeList("oops");
    await session.update({ memoryFlushCompactionCount: 1 });
    expect(notices.join()).toContain("set aside");
    expect(listIn(stateDir)[key]).toMatchObject({ sessionId: session.id, memoryFlushCompactionCount: 1 });
    await session.append(assistant("after"));
    expect(linesOf(session.file)).toHaveLength(3);
  });

  test("in which another host gave the key a new session is left as it is", async () => {
    const session = await sessions.open(key);
    const theirs = { [key]: { sessionId: "another" } };
    writeList(theirs);
    await expect(session.update({ label: "mine" })).rejects.toMatchObject({ code: "CLOSED" });
    await session.append(user("still written"));
    await session.close();
    expect(listIn(stateDir)).toEqual(theirs);
    expect((await sessions.open(key)).id).toBe("another");
  });

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

  test("may name a transcript of its folder by its whole path", async () => {
    writeList({ [key]: { sessionId: "id", sessionFile: path.join(folderIn(stateDir), "mine.jsonl") } });
    const session = await sessions.open(key);
    expect([session.id, path.basename(session.file)]).toEqual(["id", "mine.jsonl"]);
  });

  test("may have keys that mean something to JavaScript", async () => {
    const names = ["__proto__", "constructor", "toString"];
    for (const name of names) await (await sessions.open(name)).append(user(name));
    await sessions.close();
    const again = await sessionsIn(stateDir);
    for (const name of names)
      expect((await again.sessions.open(name)).recorded.map(({ text }) => text)).toEqual([name]);
  });

  test.each(["sessionId", "sessionFile", "updatedAt", "compactionCount", "compactedBytes"])(
    "does not let a host set %s",
    async (name) => {
      const session = await sessions.open(key);
      await expect(session.update({ [name]: "x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    },
  );
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
