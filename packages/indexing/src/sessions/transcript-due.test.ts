import { appendFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ManagerSyncParams } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { settingsWith } from "../../test/support/context.ts";
import { useTempFolders } from "../../test/support/temp-folder.ts";
import { said, type Transcript, transcriptIn } from "./test/transcripts.ts";

const folderWith = useTempFolders();
const background = ["search", "watch", "interval"];
const asked = ["cli", "application", "session-start", "compaction"];
const line = `${said("user", "hello")}\n`;

async function isDue(
  transcript: Transcript,
  reason: string,
  sessions?: NonNullable<ManagerSyncParams["sessions"]>,
): Promise<boolean> {
  const { source, scanned, stored } = transcript;
  return (await source.isDue?.(scanned(), stored(), { reason, sessions })) ?? true;
}

function transcriptWith(sessions: {
  deltaBytes?: number;
  deltaMessages?: number;
  postCompactionForce?: boolean;
}): Transcript {
  const defaults = { deltaBytes: 100_000, deltaMessages: 50, postCompactionForce: true };
  return transcriptIn(folderWith(), settingsWith({ sync: { sessions: { ...defaults, ...sessions } } }));
}

describe("a transcript that is not in the index", () => {
  test.each([...background, ...asked])("is taken by a sync for %s, however short it is", async (reason) => {
    const transcript = transcriptWith({});
    transcript.write(line);
    expect(await isDue(transcript, reason)).toBe(true);
  });
});

describe("a transcript that has grown", () => {
  test.each(background)("is left by a sync for %s until enough is new", async (reason) => {
    const transcript = transcriptWith({ deltaMessages: 3, deltaBytes: 1000 });
    transcript.write(line.repeat(10));
    await transcript.sync();
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, reason)).toBe(false);
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, reason)).toBe(false);
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, reason)).toBe(true);
    await transcript.sync();
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, reason)).toBe(false);
    appendFileSync(transcript.file, "x".repeat(1000 - line.length));
    expect(await isDue(transcript, reason)).toBe(true);
  });

  test.each(asked)("is taken by a sync for %s, however little is new", async (reason) => {
    const transcript = transcriptWith({});
    transcript.write(line.repeat(10));
    await transcript.sync();
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, reason)).toBe(true);
  });

  test("is left after a compaction too, where that is not to be forced", async () => {
    const transcript = transcriptWith({ postCompactionForce: false });
    transcript.write(line);
    await transcript.sync();
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, "compaction")).toBe(false);
    expect(await isDue(transcript, "cli")).toBe(true);
  });

  test("is always due with thresholds of nothing", async () => {
    for (const sessions of [{ deltaBytes: 0 }, { deltaMessages: 0 }]) {
      const transcript = transcriptWith(sessions);
      transcript.write(line.repeat(10));
      await transcript.sync();
      appendFileSync(transcript.file, line);
      expect(await isDue(transcript, "search")).toBe(true);
    }
  });

  test("counts on from where it was counted to", async () => {
    const transcript = transcriptWith({ deltaMessages: 100, deltaBytes: 1_000_000 });
    transcript.write(line);
    await transcript.sync();
    for (let count = 1; count < 100; count++) {
      appendFileSync(transcript.file, line);
      expect(await isDue(transcript, "search")).toBe(false);
    }
    appendFileSync(transcript.file, line);
    expect(await isDue(transcript, "search")).toBe(true);
  });
});

describe("a file that is not the one that was read is always due", () => {
  test("when it is shorter, of the same size, or begins otherwise", async () => {
    const transcript = transcriptWith({});
    transcript.write(line.repeat(10));
    await transcript.sync();
    truncateSync(transcript.file, line.length * 3);
    expect(await isDue(transcript, "search")).toBe(true);
    writeFileSync(transcript.file, line.replace("hello", "jello").repeat(10));
    expect(await isDue(transcript, "search")).toBe(true);
    writeFileSync(transcript.file, line.replace("hello", "jello").repeat(11));
    expect(await isDue(transcript, "search")).toBe(true);
    writeFileSync(transcript.file, line.repeat(11));
    expect(await isDue(transcript, "search")).toBe(false);
  });

  test("when it has another time and the same size, and while it could change within the same time", async () => {
    const transcript = transcriptWith({});
    transcript.write(line.repeat(10));
    await transcript.sync();
    expect(transcript.stored()?.mtimeMs).toBe(-1);
    expect(await isDue(transcript, "search")).toBe(true);
    transcript.settle();
    await transcript.sync();
    utimesSync(transcript.file, 1000, 1000);
    expect(await isDue(transcript, "search")).toBe(true);
  });

  test("when it was cut otherwise", async () => {
    const transcript = transcriptWith({});
    transcript.write(line);
    await transcript.sync();
    const stored = transcript.stored();
    appendFileSync(transcript.file, line);
    const due = async (change: object): Promise<boolean | undefined> =>
      await transcript.source.isDue?.(transcript.scanned(), stored && { ...stored, ...change }, { reason: "search" });
    expect(await due({})).toBe(false);
    expect(await due({ recipe: "another" })).toBe(true);
    expect(await due({ cursor: undefined })).toBe(true);
    expect(await due({ cursor: "{" })).toBe(true);
    expect(await due({ cursor: '{"bytes":"1"}' })).toBe(true);
  });

  test("when it cannot be looked at, so that reading it says why", async () => {
    const transcript = transcriptWith({});
    transcript.write(line);
    const scanned = transcript.scanned();
    rmSync(transcript.file);
    expect(await transcript.source.isDue?.(scanned, undefined, { reason: "search" })).toBe(true);
  });
});

describe("where sessions are named", () => {
  test("these are due whatever is new, and no others", async () => {
    const transcript = transcriptWith({});
    transcript.write(line);
    expect(await isDue(transcript, "search", [{ sessionId: "one" }])).toBe(true);
    expect(await isDue(transcript, "cli", [{ sessionId: "two" }, { sessionId: "on" }])).toBe(false);
    expect(await isDue(transcript, "cli", [])).toBe(false);
  });

  test("a session's topics and the file that its key names count too", async () => {
    const transcript = transcriptWith({});
    transcript.write(line);
    const topic = { ...transcript.scanned(), path: "sessions/two-topic-7.jsonl" };
    const due = async (sessionId: string, sessionKey?: string): Promise<boolean | undefined> =>
      await transcript.source.isDue?.(topic, undefined, { reason: "cli", sessions: [{ sessionId, sessionKey }] });
    expect(await due("two")).toBe(true);
    expect(await due("one", "agent:main:main")).toBe(false);
    const entry = { sessionId: "one", sessionFile: "two-topic-7.jsonl" };
    const list = path.join(path.dirname(transcript.file), "sessions.json");
    writeFileSync(list, JSON.stringify({ "agent:main:main": entry }));
    expect(await due("one", "agent:main:main")).toBe(true);
  });
});
