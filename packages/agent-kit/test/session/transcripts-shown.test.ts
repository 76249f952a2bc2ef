import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  compactSession,
  describeTranscript,
  listTranscripts,
  openSessions,
  readHandOvers,
  readTranscriptPage,
  type Session,
} from "@memslot/agent-kit";
import { describe, expect, onTestFinished, test } from "vitest";
import { noteTaker, useFlushHouse } from "../flush/support/flush-house.ts";

const agentId = "main";

function stateFolder(): { stateDir: string; sessions: string } {
  const stateDir = mkdtempSync(path.join(os.tmpdir(), "memslot-shown-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const sessions = path.join(stateDir, "agents/main/sessions");
  mkdirSync(sessions, { recursive: true });
  return { stateDir, sessions };
}

const head = {
  type: "session",
  version: 3,
  id: "s-1",
  timestamp: "2026-03-05T09:00:00.000Z",
  sessionKey: "agent:main:main",
};

function said(id: number, role: "user" | "assistant", text: string): object {
  const timestamp = new Date(Date.UTC(2026, 2, 5, 9, 0, id)).toISOString();
  return { type: "message", id: `m-${id}`, timestamp, message: { role, content: [{ type: "text", text }] } };
}

function write(file: string, lines: readonly (object | string)[]): void {
  writeFileSync(file, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
}

async function openSession(stateDir: string, key: string): Promise<Session> {
  const sessions = await openSessions({ stateDir, agentId });
  onTestFinished(() => sessions.close());
  return await sessions.open(key);
}

/** Everything below a folder, with its times and texts. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const stats = statSync(path.join(folder, name));
      return `${name} ${stats.mtimeMs} ${stats.isFile() ? readFileSync(path.join(folder, name), "utf8") : ""}`;
    });
}

describe("the list of transcripts", () => {
  test("says what each is about, whose it is and who reads it, the latest first", async () => {
    const { stateDir } = stateFolder();
    const own = await openSession(stateDir, "agent:main:main");
    await own.append(
      { role: "user", text: "When does the ferry leave?\nTell me." },
      { role: "assistant", text: "At nine." },
    );
    const group = await openSession(stateDir, "agent:main:telegram:group:7");
    await group.append({ role: "user", text: "Hello all" });
    const { transcripts, count } = await listTranscripts({ stateDir, agentId });
    expect(count).toBe(2);
    expect(transcripts.find(({ sessionKey }) => sessionKey === "agent:main:main")).toMatchObject({
      path: `sessions/${path.basename(own.file)}`,
      sessionId: own.id,
      audience: "private",
      isCurrent: true,
      title: "When does the ferry leave?",
      messages: 2,
      bytes: statSync(own.file).size,
    });
    expect(transcripts.find(({ sessionId }) => sessionId === group.id)).toMatchObject({
      audience: "shared",
      messages: 1,
    });
  });

  test("takes what the transcript says where there is no list, and names what cannot be read by its file", async () => {
    const { stateDir, sessions } = stateFolder();
    write(path.join(sessions, "a.jsonl"), [head, said(1, "user", "Ferry?")]);
    write(path.join(sessions, "b.jsonl"), ["no json"]);
    write(path.join(sessions, "sessions.json"), ["{ broken"]);
    const { transcripts } = await listTranscripts({ stateDir, agentId });
    expect(transcripts.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toMatchObject([
      {
        path: "sessions/a.jsonl",
        sessionId: "s-1",
        sessionKey: "agent:main:main",
        isCurrent: false,
        from: head.timestamp,
      },
      { path: "sessions/b.jsonl", sessionId: "b", sessionKey: undefined, audience: undefined, title: undefined },
    ]);
  });

  test("follows no link: neither of a file, nor of the list, nor of a folder", async () => {
    const { stateDir, sessions } = stateFolder();
    const elsewhere = mkdtempSync(path.join(os.tmpdir(), "memslot-elsewhere-"));
    onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
    write(path.join(elsewhere, "other.jsonl"), [head, said(1, "user", "of somebody else")]);
    symlinkSync(path.join(elsewhere, "other.jsonl"), path.join(sessions, "link.jsonl"));
    expect(await listTranscripts({ stateDir, agentId })).toMatchObject({ transcripts: [], count: 0 });
    await expect(readTranscriptPage({ stateDir, agentId }, "sessions/link.jsonl")).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
    });
    symlinkSync(elsewhere, path.join(stateDir, "agents/main/journal"));
    expect(await readTranscriptPage({ stateDir, agentId }, "journal/other.jsonl")).toBeUndefined();
    rmSync(sessions, { recursive: true });
    symlinkSync(elsewhere, sessions);
    expect(await listTranscripts({ stateDir, agentId })).toMatchObject({ transcripts: [], folder: undefined });
  });

  test("is empty where nobody has talked", async () => {
    const { stateDir } = stateFolder();
    expect(await listTranscripts({ stateDir, agentId: "other" })).toEqual({
      folder: undefined,
      transcripts: [],
      count: 0,
    });
  });

  test("does not count what is large, and finds its title all the same", async () => {
    const { stateDir, sessions } = stateFolder();
    const long = Array.from({ length: 300 }, (_, index) => said(index, "assistant", "x".repeat(5_000)));
    write(path.join(sessions, "a.jsonl"), [head, said(0, "user", "Ferry?"), ...long]);
    const { transcripts } = await listTranscripts({ stateDir, agentId });
    expect(transcripts[0]).toMatchObject({ title: "Ferry?", messages: undefined });
  });
});

describe("a page of a transcript", () => {
  const lines = [
    head,
    ...Array.from({ length: 250 }, (_, index) =>
      said(index + 1, index % 2 ? "assistant" : "user", `line ${index + 1} ✓`),
    ),
  ];

  function place(content: readonly (object | string)[] = lines): { stateDir: string; agentId: string; file: string } {
    const { stateDir, sessions } = stateFolder();
    write(path.join(sessions, "a.jsonl"), content);
    return { stateDir, agentId, file: path.join(sessions, "a.jsonl") };
  }

  test("leads to the next, until everything was read once", async () => {
    const own = place();
    const texts: string[] = [];
    let from = 0;
    for (let pages = 0; pages < 10; pages++) {
      const page = await readTranscriptPage(own, "sessions/a.jsonl", { from });
      if (page === undefined) throw new Error("it is there");
      texts.push(...page.entries.map((entry) => ("text" in entry ? entry.text : "")));
      from = page.end;
      if (from === page.bytes) break;
    }
    expect(texts).toEqual(Array.from({ length: 250 }, (_, index) => `line ${index + 1} ✓`));
  });

  test("leads back from the end to the beginning as well", async () => {
    const own = place();
    const texts: string[] = [];
    let before = statSync(own.file).size;
    for (let pages = 0; pages < 10 && before > 0; pages++) {
      const page = await readTranscriptPage(own, "sessions/a.jsonl", { before, limit: 60 });
      texts.unshift(...(page?.entries ?? []).map((entry) => ("text" in entry ? entry.text : "")));
      before = page?.start ?? 0;
    }
    expect(texts).toEqual(Array.from({ length: 250 }, (_, index) => `line ${index + 1} ✓`));
  });

  test("begins with a whole line, wherever it is asked for", async () => {
    const own = place();
    const size = JSON.stringify(head).length + 1;
    const page = await readTranscriptPage(own, "sessions/a.jsonl", { from: size + 7, limit: 1 });
    expect(page?.entries).toMatchObject([
      { kind: "message", role: "assistant", text: "line 2 ✓", at: "2026-03-05T09:00:02.000Z" },
    ]);
    expect((await readTranscriptPage(own, "sessions/a.jsonl", { from: 1e12 }))?.entries).toEqual([]);
    expect((await readTranscriptPage(own, "sessions/a.jsonl", { from: Number.NaN }))?.start).toBe(0);
  });

  test("shows calls and results, compactions, and how many lines it passes over", async () => {
    const call = {
      type: "message",
      id: "c",
      timestamp: "2026-03-05T09:00:05Z",
      message: {
        role: "assistant",
        content: [{ type: "toolCall", id: "t", name: "read", arguments: { path: "a.txt" } }],
      },
    };
    const result = {
      type: "message",
      id: "r",
      timestamp: "2026-03-05T09:00:06Z",
      message: {
        role: "toolResult",
        toolCallId: "t",
        toolName: "read",
        content: [{ type: "text", text: "of the file" }],
      },
    };
    const compaction = { type: "compaction", id: "k", timestamp: "2026-03-05T09:00:07Z", summary: "They read a file." };
    const own = place([head, call, result, "{ broken", { type: "custom" }, compaction]);
    const page = await readTranscriptPage(own, "sessions/a.jsonl");
    expect(page).toMatchObject({
      entries: [
        { kind: "message", role: "assistant", text: "", toolCalls: [{ name: "read", arguments: '{"path":"a.txt"}' }] },
        { kind: "result", tool: "read", text: "of the file" },
        { kind: "compaction", text: "They read a file.", at: "2026-03-05T09:00:07Z" },
      ],
      broken: 1,
      others: 1,
    });
  });

  test("cuts a long text and says how long it is, and takes secrets out, also at the cut", async () => {
    const key = `sk-proj-${"a1B2".repeat(12)}`;
    const own = place([head, said(1, "user", `${"x ".repeat(1_990)}my key is ${key} and more ${"y ".repeat(9_000)}`)]);
    const whole = readFileSync(own.file, "utf8");
    expect(whole).toContain(key);
    const page = await readTranscriptPage(own, "sessions/a.jsonl");
    const [entry] = page?.entries ?? [];
    expect(JSON.stringify(page)).not.toContain("a1B2a1B2");
    expect(entry).toMatchObject({ characters: expect.any(Number) });
    const full = await readTranscriptPage(own, "sessions/a.jsonl", {
      from: entry?.start,
      limit: 1,
      textLimit: 100_000,
    });
    expect(JSON.stringify(full)).not.toContain(key);
    expect(full?.entries[0]).not.toHaveProperty("characters");
  });

  test.each([
    "../a.jsonl",
    "sessions/../../x.jsonl",
    "sessions/a.txt",
    "sessions/.a.jsonl",
    "notes/a.jsonl",
    "sessions/a/b.jsonl",
    "",
  ])("of %j is refused", async (relPath) => {
    await expect(readTranscriptPage(place(), relPath)).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });

  test("of a transcript that is not there is nothing", async () => {
    expect(await readTranscriptPage(place(), "sessions/b.jsonl")).toBeUndefined();
    expect(await describeTranscript(place(), "sessions/b.jsonl")).toBeUndefined();
  });

  test("finds the line in front of one that is longer than a page", async () => {
    const own = place([head, said(1, "user", "before"), said(2, "assistant", "z".repeat(1_500_000))]);
    const page = await readTranscriptPage(own, "sessions/a.jsonl", { before: statSync(own.file).size, limit: 1 });
    expect(page?.entries).toMatchObject([{ role: "assistant", characters: 1_500_000 }]);
    const earlier = await readTranscriptPage(own, "sessions/a.jsonl", { before: page?.start, limit: 1 });
    expect(earlier?.entries).toMatchObject([{ role: "user", text: "before" }]);
  });
});

describe("what a transcript comes to", () => {
  test("says where the messages of a compaction stand now, and nothing is written by looking", async () => {
    const house = useFlushHouse();
    const place = { stateDir: house.stateDir, agentId };
    const session = await openSession(house.stateDir, "agent:main:main");
    const turn = async (number: number): Promise<void> => {
      const at = new Date(Date.UTC(2026, 2, 5, 9, number)).toISOString();
      await session.append(
        { role: "user", text: `The boat ${number} is called Heron ${number}.`, at },
        { role: "assistant", text: `I know boat ${number}.`, at },
      );
    };
    await turn(1);
    await turn(2);
    const saving = await house.open({ session, runTurn: noteTaker });
    await compactSession({ session, keepTokens: 1, flush: saving });
    await saving.settled();
    await turn(3);
    const waiting = await house.open({ session });
    await compactSession({ session, keepTokens: 1, flush: waiting });
    await waiting.settled();
    await turn(4);
    await compactSession({ session, keepTokens: 1 });

    const before = stateOf(house.stateDir);
    const facts = await describeTranscript(place, `sessions/${path.basename(session.file)}`);
    expect(facts).toMatchObject({
      sessionId: session.id,
      messages: 8,
      broken: 0,
      compactionCount: 3,
      title: "The boat 1 is called Heron 1.",
    });
    expect(facts?.compactions).toMatchObject([
      { dropped: 2, fates: { saved: 2 } },
      { dropped: 2, fates: { digest: 2 } },
      { dropped: 2, fates: {} },
    ]);
    const handOvers = await readHandOvers(place);
    expect(handOvers.all).toMatchObject([
      {
        state: "digest",
        sessionId: session.id,
        messages: 2,
        citations: [expect.stringContaining("memory/2026-03-05.md#L")],
      },
      { state: "saved", sessionId: session.id, messages: 2 },
    ]);
    await listTranscripts(place);
    await readTranscriptPage(place, `sessions/${path.basename(session.file)}`);
    expect(stateOf(house.stateDir)).toEqual(before);
  });

  test("says of messages that only the journal has that they are kept, and counts records that are broken", async () => {
    const { stateDir, sessions } = stateFolder();
    write(path.join(sessions, "s-1.jsonl"), [
      head,
      said(1, "user", "a"),
      said(2, "assistant", "b"),
      { type: "compaction", id: "k", summary: "s" },
    ]);
    mkdirSync(path.join(stateDir, "agents/main/journal"));
    write(path.join(stateDir, "agents/main/journal/s-1.0123456789abcdef.jsonl"), [head, said(1, "user", "a")]);
    mkdirSync(path.join(stateDir, "agents/main/flush"));
    writeFileSync(path.join(stateDir, "agents/main/flush/s-1-x.json"), "{");
    const facts = await describeTranscript({ stateDir, agentId }, "sessions/s-1.jsonl");
    expect(facts?.compactions).toMatchObject([{ dropped: 2, fates: { kept: 1 } }]);
    expect(await readHandOvers({ stateDir, agentId })).toMatchObject({ all: [], count: 1, broken: 1 });
    expect(readdirSync(path.join(stateDir, "agents/main/flush"))).toEqual(["s-1-x.json"]);
  });

  test("tells what was asked of the memory and what came", async () => {
    const { stateDir, sessions } = stateFolder();
    const ask = (id: string, name: string, given: object): object => ({
      type: "message",
      id: `ask-${id}`,
      message: { role: "assistant", content: [{ type: "toolCall", id, name, arguments: JSON.stringify(given) }] },
    });
    const give = (id: string, answer: object | string): object => ({
      type: "message",
      id: `give-${id}`,
      message: {
        role: "toolResult",
        toolCallId: id,
        toolName: "x",
        content: [{ type: "text", text: typeof answer === "string" ? answer : JSON.stringify(answer) }],
      },
    });
    write(path.join(sessions, "a.jsonl"), [
      head,
      ask("1", "memory_search", { query: "ferry" }),
      give("1", { results: [{ path: "memory/a.md", startLine: 3 }, { path: "MEMORY.md" }] }),
      ask("2", "mcp__memslot__memory_get", { path: "memory/a.md" }),
      give("2", { path: "memory/a.md", from: 1, text: "…" }),
      ask("3", "memory_search", { query: "pump" }),
      give("3", { error: "the index is away" }),
      ask("4", "memory_search", { query: "open" }),
      ask("5", "write_file", { query: "no recall" }),
    ]);
    const facts = await describeTranscript({ stateDir, agentId }, "sessions/a.jsonl");
    expect(facts?.recalls).toMatchObject([
      { tool: "memory_search", question: "ferry", results: ["memory/a.md:3", "MEMORY.md"], resultCount: 2 },
      { tool: "memory_get", question: "memory/a.md", results: ["memory/a.md:1"] },
      { question: "pump", said: "the index is away" },
      { question: "open" },
    ]);
    expect(facts?.recalls[3]).not.toHaveProperty("results");
    expect(facts?.recallCount).toBe(4);
  });

  test("lets others work while a large one is read", async () => {
    const { stateDir, sessions } = stateFolder();
    const file = path.join(sessions, "a.jsonl");
    write(file, [head]);
    const block = Array.from(
      { length: 500 },
      (_, index) => `${JSON.stringify(said(index, "user", "x".repeat(2_000)))}\n`,
    ).join("");
    for (let part = 0; part < 12; part++) appendFileSync(file, block);
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const facts = await describeTranscript({ stateDir, agentId }, "sessions/a.jsonl");
    clearInterval(counting);
    expect(facts?.messages).toBe(6_000);
    expect(turns).toBeGreaterThan(3);
    const ended = new AbortController();
    ended.abort();
    await expect(
      describeTranscript({ stateDir, agentId }, "sessions/a.jsonl", { signal: ended.signal }),
    ).rejects.toMatchObject({ name: "AbortError" });
  });
});
