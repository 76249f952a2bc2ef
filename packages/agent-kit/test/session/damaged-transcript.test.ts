import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Session } from "@memslot/agent-kit";
import { runProcess } from "./support/run-process.ts";
import { assistant, folderIn, key, sessionsIn, stateFolder, user } from "./support/sessions.ts";

const said = (id: string, text: string): string =>
  JSON.stringify({ type: "message", id, message: { role: "user", content: [{ type: "text", text }] } });

/** A session whose transcript was written by somebody else. */
async function openWith(content: string | Buffer, stateDir = stateFolder()): Promise<Session> {
  const folder = folderIn(stateDir);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "old.jsonl"), content);
  writeFileSync(path.join(folder, "sessions.json"), JSON.stringify({ [key]: { sessionId: "old" } }));
  const { sessions } = await sessionsIn(stateDir);
  return await sessions.open(key);
}

const textsOf = (session: Session): string[] => session.recorded.map(({ text }) => text);

describe("a transcript whose last line is not whole", () => {
  const line = said("b", "second");
  test.each(Array.from({ length: 12 }, (_, part) => Math.floor((line.length * part) / 12)))(
    "goes on behind it when %d bytes of it were written",
    async (length) => {
      const stateDir = stateFolder();
      const before = `${said("a", "first")}\n${line.slice(0, length)}`;
      const session = await openWith(before, stateDir);
      expect(session.facts.brokenLines).toBe(length === 0 ? 0 : 1);
      await session.append(user("second", "b"), assistant("answer"));
      await session.close();
      const again = await (await sessionsIn(stateDir)).sessions.open(key);
      expect(textsOf(again)).toEqual(["first", "second", "answer"]);
      expect(again.facts.brokenLines).toBe(length === 0 ? 0 : 1);
      expect(readFileSync(session.file, "utf8").startsWith(before)).toBe(true);
      expect(again.facts.transcriptBytes).toBe(readFileSync(session.file).length);
    },
  );

  test("counts it when only its end is missing", async () => {
    const session = await openWith(`${said("a", "first")}\n${line}`);
    expect([textsOf(session), session.facts.brokenLines]).toEqual([["first", "second"], 0]);
    await session.append(user("second", "b"), user("third"));
    expect(textsOf(session)).toEqual(["first", "second", "third"]);
    expect(readFileSync(session.file, "utf8").split("\n").slice(0, 2)).toEqual([said("a", "first"), line]);
  });

  test("does not hide a character that was cut in two", async () => {
    const bytes = Buffer.from(said("b", "Grüße"));
    const session = await openWith(
      Buffer.concat([Buffer.from(`${said("a", "first")}\n`), bytes.subarray(0, bytes.indexOf(0xc3) + 1)]),
    );
    await session.append(user("after"));
    expect([textsOf(session), session.facts.brokenLines]).toEqual([["first", "after"], 1]);
  });
});

test("a transcript of which the disk took a part goes on behind that part", async () => {
  const stateDir = stateFolder();
  // 20 blocks of 512 bytes: enough for the list, and for some turns.
  const talk = runProcess("talk.ts", [stateDir, key, "0"], "ulimit -f 20");
  expect(await talk.next((line) => line.startsWith("failed"))).toMatch(/transcript .* cannot be used: only \d+ of \d+/);
  await talk.ended;
  const session = await (await sessionsIn(stateDir)).sessions.open(key);
  expect(session.facts).toMatchObject({ brokenLines: 1 });
  const safe = talk.told.flatMap((line) => (line.startsWith("said ") ? line.slice(5) : []));
  expect(safe.length).toBeGreaterThan(4);
  const ids = session.recorded.map(({ id }) => id);
  expect(ids).toContain(safe.at(-1));
  // Each of them is there, so that nothing of it is written again.
  await session.append(...[...safe, "again"].map((id) => user(id, id)));
  expect(session.recorded.map(({ id }) => id)).toEqual([...ids, "again"]);
});

describe("a transcript of somebody else", () => {
  test("is read without lines that are no UTF-8, as the index reads it", async () => {
    const session = await openWith(Buffer.from(`${said("a", "Gr\u00fc\u00dfe")}\n${said("b", "second")}\n`, "latin1"));
    expect([textsOf(session), session.facts.brokenLines]).toEqual([["second"], 1]);
  });

  test("is read with lines in the middle that are no JSON, counting them", async () => {
    const lines = [said("a", "first"), "{broken", "", "[1]", '"text"', "null", said("b", "second"), "\u0000\u0000"];
    const session = await openWith(`${lines.join("\n")}\n`);
    expect([textsOf(session), session.facts.brokenLines]).toEqual([["first", "second"], 5]);
  });

  test("is read with a mark at its beginning and line ends of Windows", async () => {
    const session = await openWith(`\uFEFF${said("a", "first")}\r\n\r\n${said("b", "second")}\r\n`);
    expect([textsOf(session), session.facts.brokenLines]).toEqual([["first", "second"], 0]);
    await session.append(assistant("third"));
    await session.close();
    expect(textsOf(session)).toEqual(["first", "second", "third"]);
  });

  test("is read without a session line and without ids", async () => {
    const lines = [
      { role: "system", content: "be kind" },
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: [
          { type: "output_text", text: "hi" },
          { type: "thinking", thinking: "hm" },
        ],
        timestamp: 1_772_000_000,
      },
      { type: "custom", id: "x" },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "search", input: { query: "q" } }] },
      { role: "tool", tool_call_id: "c", content: "found" },
    ];
    const stateDir = stateFolder();
    const session = await openWith(lines.map((line) => JSON.stringify(line)).join("\n"), stateDir);
    expect(session.recorded).toMatchObject([
      { role: "user", text: "hello", id: "line-2" },
      { role: "assistant", text: "hi", at: new Date(1_772_000_000_000).toISOString() },
      { role: "assistant", text: "", toolCalls: [{ id: "c", name: "search", arguments: '{"query":"q"}' }] },
      { role: "tool", toolCallId: "c", text: "found" },
    ]);
    await session.append(user("more"));
    await session.close();
    const again = await (await sessionsIn(stateDir)).sessions.open(key);
    expect(again.recorded).toEqual([...session.recorded]);
    expect(again.recorded).toHaveLength(5);
  });

  test("counts a message that stands there twice once", async () => {
    const session = await openWith(`${said("a", "first")}\n${said("b", "second")}\n${said("a", "first")}\n`);
    expect(textsOf(session)).toEqual(["first", "second"]);
  });

  test("passes over a line that is longer than any message", async () => {
    const session = await openWith(`${said("a", "x".repeat(17 * 1024 * 1024))}\n${said("b", "second")}\n`);
    expect([textsOf(session), session.facts.brokenLines]).toEqual([["second"], 1]);
    expect(session.facts.transcriptBytes).toBeGreaterThan(17 * 1024 * 1024);
  });

  test("keeps nothing where the compaction begins with a message that is not there", async () => {
    const compaction = JSON.stringify({ type: "compaction", summary: "all", firstKeptEntryId: "gone" });
    const session = await openWith(`${said("a", "first")}\n${compaction}\n${said("b", "second")}\n`);
    expect(session.context).toMatchObject({ summary: "all", messages: [{ text: "second" }] });
  });

  test("is read with lines that end anywhere in the blocks that are read", async () => {
    const texts = Array.from({ length: 60 }, (_, index) => `${index} ${"ü".repeat(index * 997)}`);
    const session = await openWith(texts.map((text, index) => `${said(`m${index}`, text)}\n`).join(""));
    expect(textsOf(session)).toEqual(texts);
    expect(session.facts.transcriptBytes).toBe(readFileSync(session.file).length);
  });
});

describe("a transcript that cannot be used", () => {
  test.each<[string, (file: string) => void, string]>([
    ["a link", (file) => symlinkSync(`${file}.elsewhere`, file), "ELOOP"],
    ["a folder", (file) => mkdirSync(file), "EISDIR"],
    ["a named pipe", (file) => void execFileSync("mkfifo", [file]), "no regular file"],
  ])("because %s is in its place is an error that names it", async (_what, place, why) => {
    const stateDir = stateFolder();
    const session = await openWith("", stateDir);
    await session.close();
    rmSync(session.file);
    place(session.file);
    const { sessions } = await sessionsIn(stateDir);
    await expect(sessions.open(key)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(new RegExp(`${session.file}.*${why}`)) as string,
    });
    rmSync(session.file, { recursive: true });
    expect((await sessions.open(key)).id).toBe("old");
  });

  test("because it was deleted is told with the next message, which is not said to be safe", async () => {
    const session = await openWith("");
    rmSync(session.file);
    await expect(session.append(user("lost"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(session.append(user("lost"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("is not there any more for the next session of the key, which begins it anew", async () => {
    const stateDir = stateFolder();
    const session = await openWith(`${said("a", "first")}\n`, stateDir);
    await session.close();
    rmSync(session.file);
    const again = await (await sessionsIn(stateDir)).sessions.open(key);
    expect([again.id, textsOf(again)]).toEqual(["old", []]);
    await again.append(user("x"));
    appendFileSync(again.file, "");
    expect(again.facts).toMatchObject({ compactionCount: 0, id: "old" });
  });
});
