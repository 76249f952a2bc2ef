import { appendFileSync, chmodSync, lstatSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ManagerSyncParams, MemoryError } from "@memslot/core";
import { describe, expect, test, vi } from "vitest";
import { settingsWith } from "../../test/support/context.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { said, type Transcript, transcriptIn } from "./test/transcripts.ts";
import { createSessionLookup } from "./sessions.ts";
import { letRest } from "../../test/support/let-rest.ts";
import lists from "./test/session-lists.json" with { type: "json" };

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

async function isDueAfter(more: string, transcript: Transcript, reason = "search"): Promise<boolean> {
  appendFileSync(transcript.file, more);
  return await isDue(transcript, reason);
}

/** A transcript of these lines, in the index. */
async function indexed(
  content: string,
  sessions: { deltaBytes?: number; deltaMessages?: number; postCompactionForce?: boolean } = {},
): Promise<Transcript> {
  const transcript = unindexed(content, sessions);
  await transcript.sync();
  return transcript;
}

function unindexed(content: string, sessions: object = {}): Transcript {
  const defaults = { deltaBytes: 100_000, deltaMessages: 50, postCompactionForce: true };
  const transcript = transcriptIn(tempFolder(), settingsWith({ sync: { sessions: { ...defaults, ...sessions } } }));
  transcript.write(content);
  return transcript;
}

test.each([...background, ...asked])(
  "a transcript that is not in the index is taken by a sync for %s, however short it is",
  async (reason) => expect(await isDue(unindexed(line), reason)).toBe(true),
);

describe("a transcript that has grown", () => {
  test.each(background)("is left by a sync for %s until enough is new", async (reason) => {
    const transcript = await indexed(line.repeat(10), { deltaMessages: 3, deltaBytes: 1000 });
    for (const due of [false, false, true]) expect(await isDueAfter(line, transcript, reason)).toBe(due);
    await transcript.sync();
    expect(await isDueAfter(line, transcript, reason)).toBe(false);
    expect(await isDueAfter("x".repeat(1000 - line.length), transcript, reason)).toBe(true);
  });

  test.each(asked)("is taken by a sync for %s, however little is new", async (reason) => {
    expect(await isDueAfter(line, await indexed(line.repeat(10)), reason)).toBe(true);
  });

  test("is left after a compaction too, where that is not to be forced", async () => {
    const transcript = await indexed(line, { postCompactionForce: false });
    expect(await isDueAfter(line, transcript, "compaction")).toBe(false);
    expect(await isDue(transcript, "cli")).toBe(true);
  });

  test("is always due with thresholds of nothing", async () => {
    for (const sessions of [{ deltaBytes: 0 }, { deltaMessages: 0 }])
      expect(await isDueAfter(line, await indexed(line.repeat(10), sessions))).toBe(true);
  });

  test("counts on from where it was counted to", async () => {
    const transcript = await indexed(line, { deltaMessages: 100, deltaBytes: 1_000_000 });
    for (let count = 1; count <= 100; count++) expect(await isDueAfter(line, transcript)).toBe(count === 100);
  });
});

describe("a file that is not the one that was read is always due", () => {
  test("when it is shorter, of the same size, or begins otherwise", async () => {
    const transcript = await indexed(line.repeat(10));
    const other = line.replace("hello", "jello");
    for (const text of [line.repeat(3), other.repeat(10), other.repeat(11), line.repeat(11)]) {
      writeFileSync(transcript.file, text);
      expect(await isDue(transcript, "search")).toBe(text !== line.repeat(11));
    }
  });

  test("when it has another time and the same size, and while it could change within the same time", async () => {
    const transcript = unindexed(line.repeat(10));
    const now = vi.spyOn(Date, "now").mockReturnValue(Math.floor(lstatSync(transcript.file).ctimeMs) + 5);
    await transcript.sync();
    now.mockRestore();
    expect(transcript.stored()?.mtimeMs).toBe(-1);
    expect(await isDue(transcript, "search")).toBe(true);
    transcript.settle();
    await transcript.sync();
    utimesSync(transcript.file, 1000, 1000);
    expect(await isDue(transcript, "search")).toBe(true);
  });

  test("when it was cut otherwise", async () => {
    const transcript = await indexed(line);
    const stored = transcript.stored();
    appendFileSync(transcript.file, line);
    const due = async (change: object): Promise<boolean | undefined> =>
      await transcript.source.isDue?.(transcript.scanned(), stored && { ...stored, ...change }, { reason: "search" });
    expect(await due({})).toBe(false);
    for (const cursor of [undefined, "{", '{"bytes":"1"}']) expect(await due({ cursor })).toBe(true);
    expect(await due({ recipe: "another" })).toBe(true);
  });

  test("when it cannot be looked at, so that reading it says why", async () => {
    const transcript = unindexed(line);
    const scanned = transcript.scanned();
    rmSync(transcript.file);
    expect(await transcript.source.isDue?.(scanned, undefined, { reason: "search" })).toBe(true);
  });
});

describe("where sessions are named", () => {
  test("these are due whatever is new, and no others", async () => {
    const transcript = unindexed(line);
    expect(await isDue(transcript, "search", [{ sessionId: "one" }])).toBe(true);
    expect(await isDue(transcript, "cli", [{ sessionId: "two" }, { sessionId: "on" }])).toBe(false);
    expect(await isDue(transcript, "cli", [])).toBe(false);
  });

  test("a session's topics and the file that its key names count too", async () => {
    const transcript = unindexed(line);
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

describe("the transcript of a session key", () => {
  const list = "agents/main/sessions/sessions.json";

  async function lookUp(sessions: unknown, sessionKey: string): Promise<string | undefined> {
    const stateDir = tempFolder({ [list]: typeof sessions === "string" ? sessions : JSON.stringify(sessions) });
    return await createSessionLookup({ stateDir, agentId: "main" })(sessionKey);
  }

  test.each(lists.keys as [string, unknown, string, string?][])(
    "a key %s",
    async (...[, sessions, key, transcript]) => {
      expect(await lookUp(sessions, key)).toBe(transcript);
    },
  );

  test("a named file counts where it is one of this folder", async () => {
    const stateDir = tempFolder({ [list]: "" });
    const folder = path.dirname(path.join(stateDir, list));
    const entries = {
      absolute: { sessionId: "one", sessionFile: path.join(folder, "one-topic-7.jsonl") },
      relative: { sessionId: "one", sessionFile: "other.jsonl" },
      outside: { sessionId: "one", sessionFile: "../../other/sessions/secret.jsonl" },
      nothing: { sessionFile: "/etc/passwd" },
    };
    writeFileSync(path.join(stateDir, list), JSON.stringify(entries));
    const lookup = createSessionLookup({ stateDir, agentId: "main" });
    expect(await lookup("absolute")).toBe("sessions/one-topic-7.jsonl");
    expect(await lookup("relative")).toBe("sessions/other.jsonl");
    expect(await lookup("outside")).toBe("sessions/one.jsonl");
    expect(await lookup("nothing")).toBeUndefined();
  });

  test.each(lists.unusable)("a list of %j gives nothing", async (text) => {
    expect(await lookUp(text, "k")).toBeUndefined();
  });

  test("a missing list, a link in its place and one that cannot be read give nothing", async () => {
    const stateDir = tempFolder({ [list]: '{"k":{"sessionId":"one"}}', "elsewhere.json": '{"k":{"sessionId":"two"}}' });
    const lookup = createSessionLookup({ stateDir, agentId: "main" });
    expect(await lookup("k")).toBe("sessions/one.jsonl");
    if (process.platform !== "win32" && process.getuid?.() !== 0) {
      chmodSync(path.join(stateDir, list), 0);
      expect(await lookup("k")).toBeUndefined();
    }
    rmSync(path.join(stateDir, list));
    expect(await lookup("k")).toBeUndefined();
    if (process.platform === "win32") return;
    symlinkSync(path.join(stateDir, "elsewhere.json"), path.join(stateDir, list));
    expect(await lookup("k")).toBeUndefined();
  });

  test("the list is read again when it has changed", async () => {
    const stateDir = tempFolder({ [list]: '{"k":{"sessionId":"one"}}' });
    const file = path.join(stateDir, list);
    const lookup = createSessionLookup({ stateDir, agentId: "main" });
    const setBack = (): void => utimesSync(file, 1000, 1000);
    setBack();
    expect(await lookup("k")).toBe("sessions/one.jsonl");
    writeFileSync(file, '{"k":{"sessionId":"two"}}');
    expect(await lookup("k")).toBe("sessions/two.jsonl");
    setBack();
    expect(await lookup("k")).toBe("sessions/two.jsonl");
    for (const id of ["six", "ten"]) {
      writeFileSync(file, JSON.stringify({ k: { sessionId: id } }));
      setBack();
      expect(await lookup("k")).toBe(`sessions/${id}.jsonl`);
      letRest(file);
      expect(await lookup("k")).toBe(`sessions/${id}.jsonl`);
    }
  });

  test("an agent id that is no folder name is refused", () => {
    expect(() => createSessionLookup({ stateDir: tempFolder(), agentId: "../x" })).toThrow(MemoryError);
  });
});
