import { appendFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync, readFileSync } from "node:fs";
import path from "node:path";
import type { MemorySearchManager, MemorySearchResult } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { manageIndex } from "@memslot/indexing/engine";
import { tempFolder } from "@memslot/test-tools/files";
import { contextFor, never, searchOptions, settingsWith, syncParams } from "./support/context.ts";
import { createFakeStore, type FakeStore } from "./support/fake-store.ts";
import tables from "../src/scan/test/paths.json" with { type: "json" };

const all = ["memory", "sessions", "journal"];
const withoutSessions = ["memory", "journal"];
const [past, future] = ["2020-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z"];

async function open(
  stateDir: string,
  { sources = withoutSessions, store = createFakeStore(), readOnly = false } = {},
): Promise<{ manager: MemorySearchManager; store: FakeStore }> {
  const context = { ...contextFor(stateDir, { settings: settingsWith({ sources }) }), readOnly };
  return { store, manager: await manageIndex({ index: store, context, backend: "test" }) };
}

async function found(
  manager: MemorySearchManager,
  query: string,
  change: Parameters<typeof searchOptions>[0] = {},
): Promise<MemorySearchResult[]> {
  return await manager.search(query, searchOptions({ sources: all, ...change }));
}

/** A manager of this state folder after two syncs, and the paths that a search finds. */
async function synced(
  stateDir: string,
  how: Parameters<typeof open>[1] = { sources: all },
): Promise<{ store: FakeStore; paths(query: string): Promise<string[]> }> {
  const { manager, store } = await open(stateDir, how);
  for (let round = 0; round < 2; round++) await manager.sync?.(syncParams());
  return { store, paths: async (query) => (await found(manager, query)).map((each) => each.path) };
}

const stateFolder = (): string => tempFolder({ "MEMORY.md": "note" });

const line = (id: string, text: string, role = "user"): string =>
  `${JSON.stringify({ type: "message", id, timestamp: "2026-03-05T10:00:00.000Z", message: { role, content: text } })}\n`;

/** What a session has dropped, in one file. */
function journal(stateDir: string, session: string, texts: Record<string, string>, keptUntil: string = future): string {
  const folder = path.join(stateDir, "agents/main/journal");
  mkdirSync(folder, { recursive: true });
  const name = `${session}.${"0123456789abcdef".slice(-readdirSync(folder).length || 0)}`.padEnd(
    session.length + 17,
    "0",
  );
  const header = JSON.stringify({ type: "session", version: 3, id: session, keptUntil });
  const lines = Object.entries(texts).map(([id, text]) => line(id, text));
  writeFileSync(path.join(folder, `${name}.jsonl`), `${header}\n${lines.join("")}`);
  return `journal/${name}.jsonl`;
}

function transcript(stateDir: string, session: string, texts: Record<string, string>): void {
  const folder = path.join(stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  for (const [id, text] of Object.entries(texts)) appendFileSync(path.join(folder, `${session}.jsonl`), line(id, text));
}

const said = { a: "I saw a zebra at the zoo", b: "and a giraffe" };

describe("what was dropped", () => {
  test("is found, with lines that can be read, and without secrets", async () => {
    const stateDir = stateFolder();
    const secret = `sk-${"a1B2c3D4".repeat(6)}`;
    const file = journal(stateDir, "s1", { ...said, c: `the key is ${secret}\nof the okapi` });
    const { manager } = await open(stateDir);
    await manager.sync?.(syncParams());
    const [result] = await found(manager, "zebra");
    expect(result).toMatchObject({ path: file, startLine: 2, endLine: 4, source: "journal" });
    expect(await found(manager, "zebra", { sources: ["memory"] })).toEqual([]);
    const place = { relPath: file, from: 2, lines: 3, audience: "private", signal: never } as const;
    const read = await manager.readFile(place);
    expect(read).toMatchObject({ status: "ok", path: file, from: 2, lines: 3 });
    const lines = read.text.split("\n");
    expect(lines.slice(0, 2)).toEqual(["User: I saw a zebra at the zoo", "User: and a giraffe"]);
    expect(lines[2]).toMatch(/^User: the key is .*redacted.* of the okapi$/);
    expect(read.text).not.toContain(secret);
    // Earlier rules may have let it through: then it leaves the copy on disk as well, and its line stays where it was.
    const copy = readFileSync(path.join(stateDir, "agents/main", file), "utf8");
    expect(copy).not.toContain(secret);
    expect(copy.split("\n")[3]).toContain("of the okapi");
    expect(await manager.readFile({ ...place, from: 1, lines: 1 })).toMatchObject({
      text: expect.stringMatching(/^\n\[More/),
    });
    expect(await manager.readFile({ ...place, from: 9 })).toMatchObject({ status: "ok", lines: 0 });
  });

  test("is not found twice: once its session's transcript is indexed as far, that answers", async () => {
    const stateDir = stateFolder();
    const file = journal(stateDir, "s1", said);
    const later = journal(stateDir, "s1", { c: "The okapi came later" });
    transcript(stateDir, "s1", said);
    const { store, paths } = await synced(stateDir);
    expect(store.paths()).toEqual(["MEMORY.md", later, "sessions/s1.jsonl"]);
    expect([await paths("zebra"), await paths("okapi")]).toEqual([["sessions/s1.jsonl"], [later]]);
    expect(existsSync(path.join(stateDir, "agents/main", file))).toBe(true);
    // The transcript becomes another one, without these messages.
    writeFileSync(path.join(stateDir, "agents/main/sessions/s1.jsonl"), line("x", "nothing of the kind"));
    expect(await (await synced(stateDir, { sources: all, store })).paths("zebra")).toEqual([file]);
  });

  test.each([
    ["whose time is over and whose transcript is indexed", past, all, said, false, false],
    ["whose time is not over", future, all, said, false, true],
    ["whose transcript is not indexed", past, withoutSessions, said, false, true],
    ["whose transcript holds a part of it", past, all, { a: said.a }, false, true],
    ["of a memory that is read only", past, all, said, true, true],
  ])("a file %s", async (_, keptUntil, sources, inTranscript, readOnly, stays) => {
    const stateDir = stateFolder();
    const file = journal(stateDir, "s1", said, keptUntil);
    transcript(stateDir, "s1", inTranscript);
    const { store, manager: first } = await open(stateDir, { sources });
    await first.sync?.(syncParams());
    const { manager } = await open(stateDir, { sources, store, readOnly });
    await manager.estimate?.({ signal: never });
    if (!readOnly) for (let round = 0; round < 2; round++) await manager.sync?.(syncParams());
    expect(existsSync(path.join(stateDir, "agents/main", file))).toBe(stays);
    // Gone or not, it is found.
    expect(await found(first, "zebra")).not.toEqual([]);
  });

  test("stays where the transcripts that hold it are to leave the index", async () => {
    const stateDir = stateFolder();
    const file = journal(stateDir, "s1", said, past);
    transcript(stateDir, "s1", said);
    const { store } = await synced(stateDir, { sources: all, readOnly: true });
    expect(await (await synced(stateDir, { store })).paths("zebra")).toEqual([file]);
  });

  const plain = (...texts: string[]): string =>
    texts.map((content) => `${JSON.stringify({ role: "user", content })}\n`).join("");
  const byLine = { "line-1": said.a, "line-2": said.b };
  test.each([
    ["has other messages by the same ids", said, line("a", "Good morning") + line("b", "It rains")],
    ["was rewritten, where messages are named by their line", byLine, plain("Good morning", "It rains")],
    ["has them from a tool", said, line("a", said.a, "toolResult") + line("b", said.b)],
  ])("is not covered by a transcript that %s", async (_, dropped: Record<string, string>, text) => {
    const stateDir = stateFolder();
    const file = journal(stateDir, "s1", dropped, past);
    transcript(stateDir, "s1", {});
    writeFileSync(path.join(stateDir, "agents/main/sessions/s1.jsonl"), text);
    expect(await (await synced(stateDir)).paths("zebra")).toContain(file);
  });

  test("stays where a line of it cannot be read", async () => {
    const stateDir = stateFolder();
    const file = path.join(stateDir, "agents/main", journal(stateDir, "s1", said, past));
    appendFileSync(file, line("c", "and an okapi").slice(0, 60));
    transcript(stateDir, "s1", said);
    await synced(stateDir);
    expect(existsSync(file)).toBe(true);
  });

  test("is covered by what a tool gave, and by messages whose texts stand in parts", async () => {
    const stateDir = stateFolder();
    journal(stateDir, "s1", { a: "zebra\nzoo" });
    journal(stateDir, "s2", { t: "[result of fetch] the zebra page" });
    transcript(stateDir, "s1", {});
    const folder = path.join(stateDir, "agents/main/sessions");
    const parts = ["zebra", "zoo"].map((text) => ({ type: "text", text }));
    writeFileSync(
      path.join(folder, "s1.jsonl"),
      `${JSON.stringify({ type: "message", id: "a", message: { role: "user", content: parts } })}\n`,
    );
    writeFileSync(path.join(folder, "s2.jsonl"), line("t", "the zebra page", "toolResult"));
    const { store } = await synced(stateDir);
    expect(store.paths()).toEqual(["MEMORY.md", "sessions/s1.jsonl", "sessions/s2.jsonl"]);
  });

  test("leaves nothing behind where there is no flush any more", async () => {
    const stateDir = stateFolder();
    journal(stateDir, "s1", said);
    const { store } = await synced(stateDir, {});
    await synced(stateDir, { sources: ["memory"], store });
    expect(store.paths()).toEqual(["MEMORY.md"]);
  });
});

describe("who may see it", () => {
  const direct = "agent:main:signal:direct:anna";

  test("the owner's main session all of it, another session of the owner its own, a group nothing", async () => {
    const stateDir = stateFolder();
    const own = journal(stateDir, "s1", said);
    const other = journal(stateDir, "s2", { z: "another zebra" });
    transcript(stateDir, "s1", said);
    const group = "agent:main:telegram:group:1";
    writeFileSync(
      path.join(stateDir, "agents/main/sessions/sessions.json"),
      JSON.stringify({ [direct]: { sessionId: "s1" }, [group]: { sessionId: "s2" } }),
    );
    const { manager } = await open(stateDir);
    await manager.sync?.(syncParams());
    const paths = async (change: object): Promise<string[]> =>
      (await found(manager, "zebra", change)).map((each) => each.path).toSorted();
    expect(await paths({})).toEqual([own, other].toSorted());
    expect(await paths({ sessionKey: "agent:main:main" })).toEqual([own, other].toSorted());
    expect(await paths({ sessionKey: direct })).toEqual([own]);
    expect(await paths({ sessionKey: "agent:main:signal:direct:ben" })).toEqual([]);
    expect(await paths({ sessionKey: group, audience: "shared" })).toEqual([]);
    const place = { relPath: other, from: 1, lines: 9, audience: "shared", signal: never } as const;
    await expect(manager.readFile(place)).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });

  test.each(tables.outsideTheJournal)("no path leads out of it: %s", async (relPath) => {
    const stateDir = stateFolder();
    transcript(stateDir, "s1", said);
    journal(stateDir, "s2", said);
    const { manager } = await open(stateDir);
    const read = manager.readFile({ relPath, from: 1, lines: 9, audience: "private", signal: never });
    expect(await read.catch(() => ({ text: "" }))).toMatchObject({ text: "" });
  });

  test.skipIf(process.platform === "win32")("no link leads out of it", async () => {
    const stateDir = tempFolder({ "MEMORY.md": "note", "secret.jsonl": line("a", "zebra") });
    const file = journal(stateDir, "s1", { a: "giraffe" });
    const name = `s1.${"f".repeat(16)}.jsonl`;
    symlinkSync(path.join(stateDir, "secret.jsonl"), path.join(stateDir, path.dirname(`agents/main/${file}`), name));
    const { manager } = await open(stateDir);
    await manager.sync?.(syncParams());
    expect(await found(manager, "zebra")).toEqual([]);
    await expect(
      manager.readFile({ relPath: `journal/${name}`, from: 1, lines: 9, audience: "private", signal: never }),
    ).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
