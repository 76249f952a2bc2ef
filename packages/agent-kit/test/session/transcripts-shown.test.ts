import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import path from "node:path";
import {
  compactSession,
  describeTranscript,
  listTranscripts,
  openSessions,
  readHandOvers,
  readTranscriptPage,
  type Session,
  type TranscriptPageOptions,
} from "@memslot/agent-kit";
import { type Files, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { describe, expect, onTestFinished, test } from "vitest";
import cases from "../data/transcript-cases.json" with { type: "json" };
import data from "../data/transcripts.json" with { type: "json" };
import { noteTaker, useFlushHouse } from "../flush/support/flush-house.ts";
import { folderIn } from "./support/sessions.ts";

const agentId = "main";

type Line = object | string;
const textOf = (lines: readonly Line[]): string =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");

/** A state folder with transcripts and other files of agent `main`, by their paths below its folder. */
function place(files: Readonly<Record<string, readonly Line[]>> = {}) {
  const stateDir = tempFolder({ "agents/main/sessions/.keep": "" });
  const texts: Files = Object.fromEntries(Object.entries(files).map(([name, lines]) => [name, textOf(lines)]));
  writeFiles(path.join(stateDir, "agents/main"), texts);
  return { stateDir, agentId, file: path.join(folderIn(stateDir), "a.jsonl"), sessions: folderIn(stateDir) };
}

const head = data.head;

function said(id: number, role: "user" | "assistant", text: string): object {
  const timestamp = new Date(Date.UTC(2026, 2, 5, 9, 0, id)).toISOString();
  return { type: "message", id: `m-${id}`, timestamp, message: { role, content: [{ type: "text", text }] } };
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

/** `head`, `user 1: text` or `assistant 2: text` with the second of the message, another line as it is. */
function lineOf(line: Line): Line {
  if (line === "head") return head;
  const [, role, second, text = ""] = (typeof line === "string" && /^(user|assistant) (\d+): (.*)$/su.exec(line)) || [];
  const long = text.replace(/^x\*(\d+)$/u, (_, count) => "x".repeat(Number(count)));
  return role === undefined ? line : said(Number(second), role as "user" | "assistant", long);
}

type Call = [name: "list" | "page" | "describe" | "handOvers", given: never[], expected: object | null];

test.each(cases as unknown as [string, Record<string, Line[]>, Call[]][])("%s", async (_, files, calls) => {
  const own = place(Object.fromEntries(Object.entries(files).map(([name, lines]) => [name, lines.map(lineOf)])));
  const functions = {
    list: () => listTranscripts(own),
    page: (name: string, options?: TranscriptPageOptions) => readTranscriptPage(own, name, options),
    describe: (name: string) => describeTranscript(own, name),
    handOvers: () => readHandOvers(own),
  };
  for (const [name, given, expected] of calls) {
    const answer: unknown = await (functions[name] as (...given: never[]) => Promise<unknown>)(...given).catch(
      (error: unknown) => error,
    );
    if (expected === null) expect(answer, JSON.stringify(given)).toBeUndefined();
    else expect(answer, JSON.stringify(given)).toMatchObject(expected);
  }
});

describe("the list of transcripts", () => {
  test("says what each is about, whose it is and who reads it, the latest first", async () => {
    const { stateDir } = place();
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

  test("follows no link: neither of a file, nor of the list, nor of a folder", async () => {
    const { stateDir, sessions } = place();
    const elsewhere = tempFolder({ "other.jsonl": textOf([head, said(1, "user", "of another user")]) });
    symlinkSync(path.join(elsewhere, "other.jsonl"), path.join(sessions, "link.jsonl"));
    expect(await listTranscripts({ stateDir, agentId })).toMatchObject({ transcripts: [], count: 0 });
    await expect(readTranscriptPage({ stateDir, agentId }, "sessions/link.jsonl")).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
    });
    symlinkSync(elsewhere, path.join(stateDir, "agents/main/journal"));
    expect(await readTranscriptPage({ stateDir, agentId }, "journal/other.jsonl")).toBeUndefined();
    rmSync(sessions, { recursive: true });
    symlinkSync(elsewhere, sessions);
    for (const none of [
      { stateDir, agentId },
      { stateDir, agentId, label: "journal" },
      { ...place(), agentId: "other" },
    ])
      expect(await listTranscripts(none as Parameters<typeof listTranscripts>[0])).toEqual({
        transcripts: [],
        count: 0,
      });
  });

  test("does not count what is large, and finds its title all the same", async () => {
    const long = Array.from({ length: 300 }, (_, index) => said(index, "assistant", "x".repeat(5_000)));
    const own = place({ "sessions/a.jsonl": [head, said(0, "user", "Ferry?"), ...long] });
    const { transcripts } = await listTranscripts(own);
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

  const placeWith = (content: readonly Line[] = lines): ReturnType<typeof place> =>
    place({ "sessions/a.jsonl": content });

  test("leads to the next and to the one before, until everything was read once", async () => {
    const own = placeWith();
    const textsOf = (page: Awaited<ReturnType<typeof readTranscriptPage>>): string[] =>
      (page?.entries ?? []).map((entry) => ("text" in entry ? entry.text : ""));
    const [forwards, backwards]: [string[], string[]] = [[], []];
    const { size } = statSync(own.file);
    for (let from = 0; from < size;) {
      const page = await readTranscriptPage(own, "sessions/a.jsonl", { from });
      forwards.push(...textsOf(page));
      from = page?.end ?? size;
    }
    for (let before = size; before > 0;) {
      const page = await readTranscriptPage(own, "sessions/a.jsonl", { before, limit: 60 });
      backwards.unshift(...textsOf(page));
      before = page?.start ?? 0;
    }
    const all = Array.from({ length: 250 }, (_, index) => `line ${index + 1} ✓`);
    expect([forwards, backwards]).toEqual([all, all]);
  });

  test("shows calls and results, compactions, and how many lines it passes over", async () => {
    const message = (second: number, fields: object): object => ({
      type: "message",
      id: `m${second}`,
      timestamp: `2026-03-05T09:00:0${second}Z`,
      message: fields,
    });
    const toolCall = { type: "toolCall", id: "t", name: "read", arguments: { path: "a.txt" } };
    const call = message(5, { role: "assistant", content: [toolCall] });
    const content = [{ type: "text", text: "of the file" }];
    const result = message(6, { role: "toolResult", toolCallId: "t", toolName: "read", content });
    const compaction = { type: "compaction", id: "k", timestamp: "2026-03-05T09:00:07Z", summary: "They read a file." };
    const own = placeWith([head, call, result, "{ broken", { type: "custom" }, compaction]);
    const page = await readTranscriptPage(own, "sessions/a.jsonl");
    expect(page).toMatchObject(data.shownPage);
  });

  test("cuts a long text and says how long it is, and takes secrets out, also at the cut", async () => {
    const key = `sk-proj-${"a1B2".repeat(12)}`;
    const own = placeWith([
      head,
      said(1, "user", `${"x ".repeat(1_990)}my key is ${key} and more ${"y ".repeat(9_000)}`),
    ]);
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
    expect(facts?.compactions).toMatchObject(data.fates);
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

  test("tells what was asked of the memory and what came", async () => {
    const lines = [head, ...data.recalls];
    const facts = await describeTranscript(place({ "sessions/a.jsonl": lines }), "sessions/a.jsonl");
    expect(facts?.recalls).toMatchObject(data.shownRecalls);
    expect(facts?.recalls[3]).not.toHaveProperty("results");
    expect(facts?.recallCount).toBe(4);
  });

  test("lets others work while a large one is read", async () => {
    const many = Array.from({ length: 6_000 }, (_, index) => said(index, "user", "x".repeat(2_000)));
    const own = place({ "sessions/a.jsonl": [head, ...many] });
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const facts = await describeTranscript(own, "sessions/a.jsonl");
    clearInterval(counting);
    expect(facts?.messages).toBe(6_000);
    expect(turns).toBeGreaterThan(3);
    const aborted = describeTranscript(own, "sessions/a.jsonl", { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  });
});

test("the times of a conversation are those of its first and last entry, not of its header or its file, also where it is too large to be counted", async () => {
  const long = Array.from({ length: 1_200 }, (_, second) => said(second, "assistant", "x".repeat(1_000)));
  const other = { type: "custom", timestamp: "2026-03-09T09:00:00.000Z" };
  const { stateDir, sessions } = place({
    "sessions/first.jsonl": [head, said(1, "user", "When?"), other],
    "sessions/large.jsonl": [head, ...long, { type: "custom", text: "x".repeat(200_000) }],
    "sessions/begun.jsonl": [head],
    "sessions/notes.txt": ["no conversation"],
    "journal/s-1.0123456789abcdef.jsonl": [said(5, "user", "Kept.\nMore.")],
  });
  const written = new Date("2026-03-20T10:00:00.000Z");
  const timesOf = async (label: "sessions" | "journal"): Promise<unknown[]> => {
    for (const name of readdirSync(sessions)) utimesSync(path.join(sessions, name), written, written);
    const { transcripts } = await listTranscripts({ stateDir, agentId, label });
    return transcripts.map(({ path: name, title, from, to }) => [name, title, from, to]);
  };
  expect(await timesOf("sessions")).toEqual([
    ["sessions/large.jsonl", undefined, "2026-03-05T09:00:00.000Z", "2026-03-05T09:19:59.000Z"],
    ["sessions/first.jsonl", "When?", "2026-03-05T09:00:01.000Z", "2026-03-05T09:00:01.000Z"],
    ["sessions/begun.jsonl", undefined, undefined, undefined],
  ]);
  appendFileSync(path.join(sessions, "first.jsonl"), textOf([said(3_600 * 24, "user", "Now?")]));
  expect((await timesOf("sessions"))[0]).toEqual([
    "sessions/first.jsonl",
    "When?",
    "2026-03-05T09:00:01.000Z",
    "2026-03-06T09:00:00.000Z",
  ]);
  const at = "2026-03-05T09:00:05.000Z";
  expect(await timesOf("journal")).toEqual([["journal/s-1.0123456789abcdef.jsonl", "Kept.", at, at]]);
});
