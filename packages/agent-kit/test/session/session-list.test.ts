import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { openSessions } from "@memslot/agent-kit";
import { assistant, folderIn, key, linesOf, listIn, sessionsIn, stateFolder, user } from "./support/sessions.ts";

const listFile = (stateDir: string): string => path.join(folderIn(stateDir), "sessions.json");

function writeList(stateDir: string, content: unknown): void {
  mkdirSync(folderIn(stateDir), { recursive: true });
  writeFileSync(listFile(stateDir), typeof content === "string" ? content : JSON.stringify(content));
}

describe("the list of sessions", () => {
  test("says which transcript a key has, and keeps what it does not know", async () => {
    const stateDir = stateFolder();
    const foreign = { sessionId: "s1", model: "x", tokens: { total: 7 } };
    writeList(stateDir, { other: foreign, odd: "text", [key]: { ...foreign, sessionId: "s2", label: "mine" } });
    const { sessions } = await sessionsIn(stateDir, () => new Date("2026-03-05T10:00:00Z"));
    const session = await sessions.open(key);
    expect(session.id).toBe("s2");
    await session.update({ memoryFlushAt: "2026-03-05T09:00:00.000Z", memoryFlushCompactionCount: 2, model: "y" });
    await session.update({ label: undefined });
    expect(listIn(stateDir)).toEqual({
      other: foreign,
      odd: "text",
      [key]: {
        sessionId: "s2",
        sessionFile: "s2.jsonl",
        updatedAt: Date.parse("2026-03-05T10:00:00Z"),
        compactionCount: 0,
        compactedBytes: 0,
        memoryFlushAt: "2026-03-05T09:00:00.000Z",
        memoryFlushCompactionCount: 2,
        model: "y",
        tokens: { total: 7 },
      },
    });
    await session.close();
    expect((await sessions.open(key)).facts).toMatchObject({
      memoryFlushAt: "2026-03-05T09:00:00.000Z",
      memoryFlushCompactionCount: 2,
    });
  });

  test("is not written with each message, and says when the last one was once the session is closed", async () => {
    const stateDir = stateFolder();
    let now = new Date("2026-03-05T10:00:00Z");
    const startedAt = performance.now();
    const { sessions } = await sessionsIn(stateDir, () => now);
    const session = await sessions.open(key);
    now = new Date("2026-03-05T11:00:00Z");
    let written = 0;
    for (let index = 0; index < 20; index++) {
      const before = statSync(listFile(stateDir)).ino;
      await session.append(user(`${index}`));
      if (statSync(listFile(stateDir)).ino !== before) written++;
    }
    // On a slow machine twenty messages take some seconds.
    expect(written).toBeLessThanOrEqual((performance.now() - startedAt) / 5_000);
    expect(session.facts.updatedAt).toBe(now.toISOString());
    await session.close();
    expect(listIn(stateDir)[key]?.["updatedAt"]).toBe(now.getTime());
  });

  test("gives every session, the last used first, open or not", async () => {
    const stateDir = stateFolder();
    let hour = 10;
    const { sessions } = await sessionsIn(stateDir, () => new Date(Date.UTC(2026, 2, 5, hour)));
    const first = await sessions.open("first");
    await first.append(user("1", "1"), user("2", "2"));
    await first.compact({ summary: "s", firstKeptId: "2", tokensBefore: 1 });
    await first.append(assistant("3"));
    await first.close();
    hour = 11;
    const second = await sessions.open("second");
    await second.append(user("1"));
    const { brokenLines: _, ...facts } = first.facts;
    expect(await sessions.list()).toEqual([second.facts, facts]);
    expect(facts).toMatchObject({ compactionCount: 1, transcriptBytes: statSync(first.file).size });
  });

  test("is brought in line with the transcript where a process ended between the two", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    const session = await sessions.open(key);
    const before = readFileSync(listFile(stateDir));
    await session.append(user("1", "1"));
    await session.compact({ summary: "s", firstKeptId: "1", tokensBefore: 1 });
    await sessions.close();
    writeFileSync(listFile(stateDir), before);
    const again = await (await sessionsIn(stateDir)).sessions.open(key);
    expect(again.facts).toMatchObject({ compactionCount: 1, bytesSinceCompaction: 0 });
    expect(listIn(stateDir)[key]).toMatchObject({ compactionCount: 1 });
  });

  test.each(["", "{", "[]", '"x"', "\u0000\u0000", '{"a": {"sessionId": "x"}'])(
    "that holds %j is set aside with a word about it, and made anew from the transcripts",
    async (content) => {
      const stateDir = stateFolder();
      const { sessions } = await sessionsIn(stateDir);
      const mine = await sessions.open(key);
      await mine.append(user("hello"));
      const ended = await sessions.open("other");
      await ended.append(user("x"));
      const other = await sessions.reset("other");
      await sessions.close();
      writeList(stateDir, content);
      writeFileSync(
        path.join(folderIn(stateDir), "foreign.jsonl"),
        `${JSON.stringify({ role: "user", content: "x" })}\n`,
      );

      const { sessions: again, notices } = await sessionsIn(stateDir, () => new Date("2026-03-05T10:00:00Z"));
      expect(notices).toHaveLength(2);
      expect(notices[0]).toContain("sessions.json.broken-2026-03-05T10-00-00.000Z");
      expect(notices[1]).toContain("2 sessions");
      expect(readFileSync(`${listFile(stateDir)}.broken-2026-03-05T10-00-00.000Z`, "utf8")).toBe(content);
      expect((await again.open(key)).recorded.map(({ text }) => text)).toEqual(["hello"]);
      expect((await again.open("other")).id).toBe(other.id);
      expect((await again.list()).map((facts) => facts.key).toSorted()).toEqual([key, "other"].toSorted());
    },
  );

  test("that is gone is made anew too", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    const { id } = await sessions.open(key);
    await sessions.close();
    rmSync(listFile(stateDir));
    const { sessions: again, notices } = await sessionsIn(stateDir);
    expect([(await again.open(key)).id, notices.length]).toEqual([id, 1]);
  });

  test("that is damaged while a session is open loses nothing of what is said", async () => {
    const stateDir = stateFolder();
    const { sessions, notices } = await sessionsIn(stateDir);
    const session = await sessions.open(key);
    await session.append(user("before"));
    writeList(stateDir, "oops");
    await session.update({ memoryFlushCompactionCount: 1 });
    expect(notices.join()).toContain("set aside");
    expect(listIn(stateDir)[key]).toMatchObject({ sessionId: session.id, memoryFlushCompactionCount: 1 });
    await session.append(assistant("after"));
    expect(linesOf(session.file)).toHaveLength(3);
  });

  test("that another host gave a new session for the key is left as it is", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    const session = await sessions.open(key);
    const theirs = { [key]: { sessionId: "another" } };
    writeList(stateDir, theirs);
    await expect(session.update({ label: "mine" })).rejects.toMatchObject({ code: "CLOSED" });
    await session.append(user("still written down"));
    await session.close();
    expect(listIn(stateDir)).toEqual(theirs);
    expect((await sessions.open(key)).id).toBe("another");
  });

  test.each<[string, unknown]>([
    ["a file elsewhere", { sessionFile: "../../../../etc/x.jsonl", sessionId: "../x" }],
    ["no transcript", { sessionFile: "sessions.json" }],
    ["nothing", {}],
    ["a list", []],
  ])("that names %s for a key begins a session anew", async (_what, entry) => {
    const stateDir = stateFolder();
    writeList(stateDir, { [key]: entry });
    const { sessions } = await sessionsIn(stateDir);
    const session = await sessions.open(key);
    await session.append(user("x"));
    expect(path.dirname(session.file)).toBe(folderIn(stateDir));
    expect(readdirSync(folderIn(stateDir)).filter((name) => name.endsWith(".jsonl"))).toEqual([`${session.id}.jsonl`]);
  });

  test("takes a whole path to a transcript of its own folder", async () => {
    const stateDir = stateFolder();
    writeList(stateDir, { [key]: { sessionId: "id", sessionFile: path.join(folderIn(stateDir), "mine.jsonl") } });
    const session = await (await sessionsIn(stateDir)).sessions.open(key);
    expect([session.id, path.basename(session.file)]).toEqual(["id", "mine.jsonl"]);
  });

  test("takes keys that mean something to JavaScript", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    for (const name of ["__proto__", "constructor", "toString"]) {
      await (await sessions.open(name)).append(user(name));
    }
    await sessions.close();
    const { sessions: again } = await sessionsIn(stateDir);
    for (const name of ["__proto__", "constructor", "toString"])
      expect((await again.open(name)).recorded.map(({ text }) => text)).toEqual([name]);
  });

  test.each(["sessionId", "sessionFile", "updatedAt", "compactionCount", "compactedBytes"])(
    "does not let a host set %s",
    async (name) => {
      const { sessions } = await sessionsIn(stateFolder());
      const session = await sessions.open(key);
      await expect(session.update({ [name]: "x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    },
  );
});

describe("a reset", () => {
  test("begins a new session under the key and leaves the transcript of the old one", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    const old = await sessions.open(key);
    await old.append(user("old"));
    await old.update({ memoryFlushAt: "2026-03-05T09:00:00.000Z", memoryFlushError: "x", label: "mine" });
    const before = readFileSync(old.file);
    const fresh = await sessions.reset(key);
    expect(fresh.id).not.toBe(old.id);
    expect([fresh.recorded, fresh.context.summary, fresh.facts.memoryFlushAt]).toEqual([[], undefined, undefined]);
    expect(listIn(stateDir)[key]).toMatchObject({ sessionId: fresh.id, label: "mine" });
    expect(listIn(stateDir)[key]).not.toHaveProperty("memoryFlushError");
    expect(old.closed).toBe(true);
    await expect(old.append(user("late"))).rejects.toMatchObject({ code: "CLOSED" });
    expect(readFileSync(old.file)).toEqual(before);
    expect(await sessions.open(key)).toBe(fresh);
  });

  test("of a session in which nobody said anything changes nothing, so that it can be repeated", async () => {
    const { sessions } = await sessionsIn(stateFolder());
    const fresh = await sessions.open(key);
    expect(await sessions.reset(key)).toBe(fresh);
    await fresh.append(user("x"));
    const [one, two] = await Promise.all([sessions.reset(key), sessions.reset(key)]);
    expect(one).toBe(two);
    expect(one.id).not.toBe(fresh.id);
  });

  test("that ended before the new transcript was made is carried on", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    await (await sessions.open(key)).append(user("x"));
    const fresh = await sessions.reset(key);
    await sessions.close();
    rmSync(fresh.file);
    const again = await (await sessionsIn(stateDir)).sessions.reset(key);
    expect([again.id, again.recorded]).toEqual([fresh.id, []]);
  });

  test("waits for what is being said", async () => {
    const { sessions } = await sessionsIn(stateFolder());
    const old = await sessions.open(key);
    await old.append(user("0"));
    const saying = old.append(user("1"));
    const resetting = sessions.reset(key);
    await saying;
    await resetting;
    expect(linesOf(old.file)).toHaveLength(3);
  });
});

describe("sessions", () => {
  test("are one for a key, also when it is opened at once, until they are closed", async () => {
    const { sessions } = await sessionsIn(stateFolder());
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
  });

  test("leave nothing behind but transcripts and the list", async () => {
    const stateDir = stateFolder();
    const { sessions } = await sessionsIn(stateDir);
    const { id } = await sessions.open(key);
    await sessions.close();
    expect(readdirSync(folderIn(stateDir)).toSorted()).toEqual([`${id}.jsonl`, "sessions.json"].toSorted());
  });

  test.each(["", " ", "a\nb", "x".repeat(513), undefined])("have no key like %j", async (wrong) => {
    const { sessions } = await sessionsIn(stateFolder());
    await expect(sessions.open(wrong as string)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("are not looked for behind a link", async () => {
    const stateDir = stateFolder();
    const elsewhere = stateFolder();
    mkdirSync(path.join(stateDir, "agents"));
    symlinkSync(elsewhere, path.join(stateDir, "agents/main"));
    await expect(openSessions({ stateDir, agentId: "main" })).rejects.toMatchObject({ code: "CONFIG" });
    await expect(openSessions({ stateDir, agentId: "../x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    writeFileSync(path.join(stateDir, "file"), "");
    const inFile = openSessions({ stateDir: path.join(stateDir, "file"), agentId: "main" });
    await expect(inFile).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
