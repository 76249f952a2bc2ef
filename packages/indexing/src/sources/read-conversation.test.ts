import { appendFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync, utimesSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Chunk } from "../chunk-store.ts";
import { createSessionSource } from "./sessions.ts";
import { recordedState } from "../scan/file-state.ts";
import { maxLineBytes, maxTextLength } from "./transcript-lines.ts";
import { estimateTokens } from "../text/split-by-tokens.ts";
import { indexTerms } from "../text/index-terms.ts";
import { never, settingsWith } from "../../test/support/context.ts";
import { tempFolder } from "@memslot/test-tools/files";
import {
  expectSameChunksInPieces,
  said,
  timeOn,
  toolResult,
  type Transcript,
  transcriptIn,
  keptOf,
  type Role,
} from "./test/transcripts.ts";
import data from "./test/read-transcript.json" with { type: "json" };
import { fill, secretExamples } from "../../test/support/secret-examples.ts";
import texts from "./test/transcript-texts.json" with { type: "json" };

const transcriptOf = (tokens = 400): Transcript =>
  transcriptIn(tempFolder(), settingsWith({ chunking: { tokens, overlap: 80 % tokens } }));
const passedOver = (transcript: Transcript): number | undefined => recordedState(transcript.stored() ?? {}).passedOver;
const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

async function synced(content: string | Uint8Array, tokens?: number): Promise<Transcript> {
  const transcript = transcriptOf(tokens);
  transcript.write(content);
  await transcript.sync();
  return transcript;
}

/** Appends to a transcript and reads what is new. */
async function grown(transcript: Transcript, more: string | Uint8Array): Promise<void> {
  appendFileSync(transcript.file, more);
  await transcript.sync();
}

const chunksOf = async (content: string | Uint8Array, tokens?: number): Promise<Chunk[]> =>
  (await synced(content, tokens)).chunks();
const textsOf = (transcript: Transcript): string[] => transcript.chunks().map(({ text }) => text);

describe("chunks of a transcript", () => {
  test("have the lines of the JSONL file, and its day as context", async () => {
    const day = "2026-03-05";
    const [chunk, ...others] = await chunksOf(
      textOf([
        JSON.stringify({ type: "session", id: "one", timestamp: timeOn(day) }),
        said("user", "Which database do we take?", timeOn(day)),
        toolResult(500),
        said("assistant", "Postgres.", timeOn(day)),
        toolResult(500),
      ]),
    );
    const text = "User: Which database do we take?\nAssistant: Postgres.";
    expect(others).toEqual([]);
    expect(chunk).toMatchObject({ startLine: 2, endLine: 4, text, context: day });
    expect(chunk?.terms).toBe(indexTerms(`${text}\n${day}`));
  });

  test("end where they are full, and cut a long message alone", async () => {
    const long = Array.from({ length: 300 }, (_, index) => `sentence number ${index}.`).join(" ");
    const chunks = await chunksOf(
      textOf([said("user", "short"), said("assistant", long), said("user", "behind")]),
      100,
    );
    expect(chunks.length).toBeGreaterThan(10);
    for (const chunk of chunks) expect(estimateTokens(chunk.text)).toBeLessThanOrEqual(100);
    expect(chunks.at(0)).toMatchObject({ startLine: 1, endLine: 2 });
    expect(chunks.at(5)).toMatchObject({ startLine: 2, endLine: 2 });
    expect(chunks.at(-1)?.text).toContain("User: behind");
    const all = chunks.map(({ text }) => text.replaceAll(/^Assistant: /gm, "")).join(" ");
    for (let index = 0; index < 300; index++) expect(all).toContain(`sentence number ${index}.`);
  });

  test("begin again where a user speaks and they are half full, and on another day", async () => {
    const half = "word ".repeat(60);
    const chunks = await chunksOf(
      textOf([
        said("user", half, timeOn("2026-03-05")),
        said("assistant", "answer", timeOn("2026-03-05")),
        said("user", "question", timeOn("2026-03-05")),
        said("user", "next day", timeOn("2026-03-06")),
        said("user", "no time"),
      ]),
      100,
    );
    expect(chunks.map(({ startLine, endLine, context }) => [startLine, endLine, context])).toEqual(data.newBeginnings);
  });

  test("do not join what stands far apart in the file", async () => {
    const far = textOf([
      said("user", "one"),
      ...Array.from({ length: 30 }, () => toolResult(10_000)),
      said("user", "two"),
    ]);
    expect(textsOf(await synced(far))).toEqual(["User: one", "User: two"]);
    const near = textOf([said("user", "one"), toolResult(10_000), said("user", "two")]);
    expect(textsOf(await synced(near))).toEqual(["User: one\nUser: two"]);
  });

  test.each([
    ["text", "2026-03-05T10:00:00.000Z"],
    ["milliseconds", Date.parse("2026-03-05T10:00:00.000Z")],
    ["seconds", Date.parse("2026-03-05T10:00:00.000Z") / 1000],
  ])("take the time as %s", async (_, timestamp) => {
    const time = new Date("2026-03-05T10:00:00.000Z");
    const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, "0"));
    const [chunk] = await chunksOf(`${JSON.stringify({ role: "user", content: "x", timestamp })}\n`);
    expect(chunk?.context).toBe(day.join("-"));
  });

  test.each(["soon", -5, 0, 1e300, null, {}, true])("have no day where the time is %j", async (timestamp) => {
    const [chunk] = await chunksOf(`${JSON.stringify({ role: "user", content: "x", timestamp })}\n`);
    expect(chunk).toMatchObject({ context: "", text: "User: x" });
  });
});

describe("lines that cannot be read", () => {
  test("are passed over and counted, and the others keep their numbers", async () => {
    const transcript = transcriptOf();
    const broken = Buffer.concat([
      Buffer.from(textOf([said("user", "one"), "{ not json", "", "[1]", '"text"', "null", said("user", "two")])),
      Buffer.from('{"role":"user","content":"caf'),
      Buffer.from([0xc3]),
      Buffer.from('"}\n'),
      Buffer.from(textOf([said("user", "three").slice(0, 20), said("user", "four")])),
    ]);
    transcript.write(broken);
    await transcript.sync();
    expect(transcript.chunks()).toHaveLength(1);
    expect(transcript.chunks()[0]).toMatchObject(data.passedOver);
    expect(passedOver(transcript)).toBe(6);
    // Read on from the open chunk they are not counted twice.
    await grown(transcript, "{\n");
    expect(passedOver(transcript)).toBe(7);
  });

  test("are hostile lines too", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const lines = [
      deep,
      `{"role":"user","content":${deep}}`,
      '{"__proto__":{"role":"user","content":"from the prototype"}}',
      '{"constructor":{"role":"user"},"__proto__":null,"role":"user","content":"own"}',
      '{"role":"user","content":[{"__proto__":{"type":"text","text":"from the prototype"}}]}',
      '{"role":"__proto__","content":"x"}',
      '{"type":"message","message":[{"role":"user","content":"in a list"}]}',
    ];
    const chunks = await chunksOf(textOf(lines));
    expect(chunks.map(({ text, startLine }) => [text, startLine])).toEqual([["User: own", 4]]);
  });

  test("are lines that are too long, which still count as lines", async () => {
    const long = said("user", "y".repeat(maxLineBytes));
    const transcript = await synced(textOf([said("user", "one"), long, said("user", "two")]));
    expect(transcript.chunks().map(({ text, startLine }) => [text, startLine])).toEqual(data.withoutLongLine);
    expect(passedOver(transcript)).toBe(1);
  });

  test("are messages that go on without end, but for their beginning", async () => {
    const secret = `sk-${"aB3dE5fG7h".repeat(4)}`;
    const text = `${"many words ".repeat(Math.ceil(maxTextLength / 11))}`.slice(0, maxTextLength - 20);
    const transcript = await synced(textOf([said("user", `${text} ${secret} behind`), said("user", "next")]));
    const kept = textsOf(transcript).join("\n");
    expect(kept).not.toContain("sk-aB3d");
    expect(kept).not.toContain("behind");
    expect(kept.length).toBeGreaterThan(maxTextLength);
    expect(kept.endsWith("User: next")).toBe(true);
    expect(passedOver(transcript)).toBe(1);
  });

  test("are none with CRLF and a byte order mark", async () => {
    const transcript = await synced(`\uFEFF${said("user", "one")}\r\n\r\n${said("user", "two")}\r\n`);
    expect(transcript.chunks()[0]).toMatchObject({ startLine: 1, endLine: 3, text: "User: one\nUser: two" });
    expect(passedOver(transcript)).toBe(0);
  });
});

describe("what comes to a transcript", () => {
  test("is read from the open chunk on, and nothing before it", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => said("user", `message ${index} ${"word ".repeat(20)}`));
    const transcript = await synced(textOf(lines), 100);
    const before = transcript.chunks();
    await grown(transcript, textOf([said("assistant", "new")]));
    const [reading, ...others] = transcript.readings();
    expect(others).toEqual([]);
    expect(reading?.changed?.fromLine).toBe(before.at(-1)?.startLine);
    expect(reading?.changed?.chunks.length).toBeLessThanOrEqual(2);
    expect(transcript.chunks().slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    expect(transcript.chunks().at(-1)?.text).toContain("Assistant: new");
  });

  test("is nothing where nothing came", async () => {
    const transcript = await synced(textOf([said("user", "one")]));
    // It could change again within this time stamp: it is looked at once more.
    expect(transcript.stored()?.mtimeMs).toBe(-1);
    await transcript.sync();
    expect(transcript.readings().map(({ changed }) => changed)).toEqual([undefined]);
    transcript.settle();
    await transcript.sync();
    const { mtimeMs, size } = statSync(transcript.file);
    expect(transcript.stored()).toMatchObject({ mtimeMs, size });
    await transcript.sync();
    expect(transcript.readings().map(({ changed }) => changed)).toEqual([undefined]);
  });

  test("gives the same chunks, in whatever pieces it comes: 15 transcripts", async () => {
    await expectSameChunksInPieces({ seed: 1, transcripts: 15 });
  });
});

describe("a file that is another by now is read whole", () => {
  async function changedTo(before: string, after: string | ((file: string) => void)): Promise<Transcript> {
    const transcript = transcriptOf();
    transcript.write(before);
    transcript.settle();
    await transcript.sync();
    if (typeof after === "string") transcript.write(after);
    else after(transcript.file);
    await transcript.sync();
    return transcript;
  }
  const many = (word: string, count: number): string =>
    textOf(Array.from({ length: count }, (_, index) => said("user", `${word} ${index}`)));

  async function expectWhole(transcript: Transcript): Promise<void> {
    expect(transcript.readings()[0]?.changed).toBeDefined();
    expect(transcript.readings()[0]?.changed?.fromLine).toBeUndefined();
    expect(transcript.chunks()).toEqual(await chunksOf(readFileSync(transcript.file)));
  }

  const [old, older] = [many("old", 500), many("older", 100)];
  test.each<[string, string | ((file: string) => void)]>([
    ["it was cut off", (file) => truncateSync(file, 1000)],
    ["it was emptied", (file) => truncateSync(file, 0)],
    ["a longer one with another beginning took its place", many("new", 900)],
    ["a longer one with the same beginning took its place", old + many("newer", 300)],
    ["its first line was changed before more came", old.replace("old 0", "new 0") + older + many("more", 10)],
    ["a word in the middle was changed for one of the same length", (old + older).replace("old 250", "new 250")],
    [
      "one of the same size was renamed over it",
      (file) => {
        const next = transcriptOf();
        next.write(many("new", 500) + older);
        renameSync(next.file, file);
      },
    ],
  ])("when %s", async (_, after) => {
    await expectWhole(await changedTo(old + older, after));
  });

  test("when it was cut for chunks of another size", async () => {
    const transcript = await synced(old, 400);
    const settings = settingsWith({ chunking: { tokens: 100, overlap: 0 } });
    const stateDir = transcript.file.replace(/.agents.main.sessions.one\.jsonl$/, "");
    const other = createSessionSource({ stateDir, agentId: "main", settings });
    const reading = await other.read(transcript.scanned(), transcript.stored(), never);
    expect(reading?.changed?.fromLine).toBeUndefined();
    expect(reading?.changed?.chunks.length).toBeGreaterThan(transcript.chunks().length * 2);
  });
});

describe("a long transcript", () => {
  const turn = (index: number): string[] => [
    said("user", `question ${index} ${"why ".repeat(20)}`),
    toolResult(20_000),
    said("assistant", `answer ${index} ${"since ".repeat(30)}`),
  ];
  const long = (turns: number): string => textOf(Array.from({ length: turns }, (_, index) => turn(index)).flat());

  test("comes in several readings, each bounded, and none of it is missing", async () => {
    const transcript = await synced(long(400));
    const readings = transcript.readings();
    const { size } = statSync(transcript.file);
    expect(readings.length).toBeGreaterThanOrEqual(Math.floor(size / (2 * 1024 * 1024)));
    for (const reading of readings) {
      const bytes = reading.changed?.chunks.reduce((sum, { text }) => sum + text.length, 0) ?? 0;
      expect(bytes).toBeLessThan(2 * 1024 * 1024);
    }
    expect(readings.map(({ more }) => more === true)).toEqual([...readings.slice(1).map(() => true), false]);
    const text = textsOf(transcript).join("\n");
    for (let index = 0; index < 400; index++) {
      expect(text.split(`question ${index} `)).toHaveLength(2);
      expect(text.split(`answer ${index} `)).toHaveLength(2);
    }
  });

  test("that was read in part is due until it is read to its end, and goes on where it was", async () => {
    const sessions = { deltaBytes: 1e9, deltaMessages: 1e6, postCompactionForce: true };
    const transcript = transcriptIn(tempFolder(), settingsWith({ sync: { sessions } }));
    transcript.write(long(300));
    transcript.settle();
    const first = await transcript.source.read(transcript.scanned(), undefined, never);
    expect(first?.more).toBe(true);
    expect(first?.record.mtimeMs).toBe(-1);
    appendFileSync(transcript.file, textOf([said("user", "little more")]));
    const due = await transcript.source.isDue?.(transcript.scanned(), first?.record, { reason: "search" });
    expect(due).toBe(true);
    const second = await transcript.source.read(transcript.scanned(), first?.record, never);
    expect(second?.changed?.fromLine).toBeGreaterThan(100);
  });

  test("can be given up in the middle", async () => {
    const transcript = transcriptOf();
    transcript.write(long(50));
    const given = new AbortController();
    given.abort();
    await expect(transcript.source.read(transcript.scanned(), undefined, given.signal)).rejects.toThrow("aborted");
  });
});

test("a transcript that is gone is no failure", async () => {
  const transcript = transcriptOf();
  transcript.write("{}\n");
  const scanned = transcript.scanned();
  rmSync(transcript.file);
  expect(await transcript.source.read(scanned, undefined, never)).toBeUndefined();
});

test("a time that jumps back is a change like any other", async () => {
  const transcript = transcriptOf();
  transcript.write(textOf([said("user", "one")]));
  utimesSync(transcript.file, new Date(2030, 0, 1), new Date(2030, 0, 1));
  await transcript.sync();
  transcript.write(textOf([said("user", "six")]));
  utimesSync(transcript.file, new Date(2020, 0, 1), new Date(2020, 0, 1));
  await transcript.sync();
  expect(textsOf(transcript)).toEqual(["User: six"]);
});

const kept = async (...lines: string[]): Promise<string[]> => await keptOf(tempFolder(), lines);

/** Lines are objects as they stand in a file, `[role, text]`, or what a user said. */
test.each(texts)("a transcript keeps $what", async ({ lines, kept: expected }) => {
  const written = lines.map((line) => {
    if (typeof line === "string") return said("user", fill(line));
    return Array.isArray(line) ? said(line[0] as Role, line[1] ?? "") : JSON.stringify(line);
  });
  expect(await kept(...written)).toEqual(expected);
});

test("text is wrapped at 800 characters, never inside a character", async () => {
  const text = `${"🎉".repeat(900)} ${"word ".repeat(400)}`;
  const lines = await kept(said("user", text));
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    expect(line.length).toBeLessThanOrEqual(800 + "User: ".length);
    expect(line.isWellFormed()).toBe(true);
  }
  const all = lines.map((line) => line.slice("User: ".length)).join("");
  expect(all.replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
});

test("text has no lone surrogates, no NUL, and composed characters", async () => {
  const line = String.raw`{"role":"user","content":"a\ud800b\u0000c cafe\u0301"}`;
  expect(await kept(line)).toEqual(["User: a\ufffdb c café"]);
});

test("secrets do not survive, wherever a line is wrapped", async () => {
  const texts = secretExamples.flatMap(({ secret }) =>
    [0, 640, 770, 790].map((before) => `${"ab ".repeat(before / 3)}${secret} and more ${"cd ".repeat(20)}`),
  );
  const all = (await kept(...texts.map((text) => said("user", text)))).map((line) => line.slice("User: ".length));
  const held = all.join("").replaceAll(" ", "");
  expect(all.length).toBeGreaterThan(texts.length);
  for (const { name, secret } of secretExamples)
    expect(held, name).not.toContain(secret.slice(-12).replaceAll(" ", ""));
});
