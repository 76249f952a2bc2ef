import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import type { Session } from "@memslot/agent-kit";
import transcripts from "../data/transcripts.json" with { type: "json" };
import { runProgram } from "../support/run-program.ts";
import { assistant, folderIn, key, openSession, sessionsIn, user } from "./support/sessions.ts";

const said = (id: string, text: string): string =>
  JSON.stringify({ type: "message", id, message: { role: "user", content: [{ type: "text", text }] } });
const [first, second] = [said("a", "first"), said("b", "second")];

/** A session whose transcript another program wrote. */
async function openWith(content: string | Buffer, stateDir = tempFolder()): Promise<Session> {
  writeFiles(folderIn(stateDir), { "old.jsonl": content, "sessions.json": { [key]: { sessionId: "old" } } });
  return await openSession(stateDir);
}

const read = ({ recorded, facts }: Session): (string | number | undefined)[] => [
  ...recorded.map(({ text }) => text),
  facts.brokenLines,
];

describe("a transcript whose last line is incomplete", () => {
  test("is continued behind half a character", async () => {
    const bytes = Buffer.from(said("b", "Grüße"));
    const half = bytes.subarray(0, bytes.indexOf(0xc3) + 1);
    const session = await openWith(Buffer.concat([Buffer.from(`${first}\n`), half]));
    await session.append(user("after"));
    expect(read(session)).toEqual(["first", "after", 1]);
  });
});

test("a transcript of which the disk took a part is continued behind that part", async () => {
  const stateDir = tempFolder();
  // 20 blocks of 512 bytes: enough for the list and some turns.
  const talk = runProgram("session/support/talk.ts", [stateDir, key, "0"], { limits: "ulimit -f 20" });
  expect(await talk.next((line) => line.startsWith("failed"))).toMatch(/transcript .* cannot be used: only \d+ of \d+/);
  await talk.ended;
  const session = await openSession(stateDir);
  expect(session.facts).toMatchObject({ brokenLines: 1 });
  const safe = talk.lines.flatMap((line) => (line.startsWith("said ") ? line.slice(5) : []));
  expect(safe.length).toBeGreaterThan(4);
  const ids = session.recorded.map(({ id }) => id);
  expect(ids).toContain(safe.at(-1));
  // Each of them is in the transcript, so none is written again.
  await session.append(...[...safe, "again"].map((id) => user(id, id)));
  expect(session.recorded.map(({ id }) => id)).toEqual([...ids, "again"]);
});

describe("a transcript of another program", () => {
  const texts = Array.from({ length: 60 }, (_, index) => `${index} ${"ü".repeat(index * 997)}`);

  test.each<[string, string | Buffer, (string | number)[]]>([
    ["without lines that are not UTF-8", Buffer.from(`${said("a", "Grüße")}\n${second}\n`, "latin1"), ["second", 1]],
    ["without a line of 17 MB", `${said("a", "x".repeat(17 * 1024 * 1024))}\n${second}\n`, ["second", 1]],
    ["wherever its lines end", texts.map((text, index) => `${said(`m${index}`, text)}\n`).join(""), [...texts, 0]],
  ])("is read %s", async (_, content, expected) => {
    const session = await openWith(content);
    expect(read(session)).toEqual(expected);
    expect(session.facts.transcriptBytes).toBe(readFileSync(session.file).length);
    await session.append(assistant("more"));
    expect(read(session)).toEqual(expected.toSpliced(-1, 0, "more"));
  });

  test("is read without a session line and without ids", async () => {
    const stateDir = tempFolder();
    const session = await openWith(transcripts.foreign.map((line) => JSON.stringify(line)).join("\n"), stateDir);
    expect(session.recorded).toMatchObject([
      { role: "user", text: "hello", id: "line-2" },
      { role: "assistant", text: "hi", at: new Date(1_772_000_000_000).toISOString() },
      { role: "assistant", text: "", toolCalls: [{ id: "c", name: "search", arguments: '{"query":"q"}' }] },
      { role: "tool", toolCallId: "c", text: "found" },
    ]);
    await session.append(user("more"));
    await session.close();
    const again = await openSession(stateDir);
    expect(again.recorded).toEqual([...session.recorded]);
    expect(again.recorded).toHaveLength(5);
  });
});

describe("a transcript that cannot be used", () => {
  test.each<[string, (file: string) => void, string]>([
    ["a link", (file) => symlinkSync(`${file}.elsewhere`, file), "ELOOP"],
    ["a folder", (file) => mkdirSync(file), "EISDIR"],
    ["a named pipe", (file) => void execFileSync("mkfifo", [file]), "not a regular file"],
  ])("because %s is in its place is an error that names it", async (_what, place, why) => {
    const stateDir = tempFolder();
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
});
