import timers, { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import fs, {
  appendFileSync,
  lstatSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { FileRecord } from "../index-row-types.ts";
import { recordedState, stampOf, maxFileBytes } from "./file-state.ts";
import { noteTasks } from "./note-worker-tasks.ts";
import { notesHold, readChunks, recipeOf } from "./read-note.ts";
import { type FileContent, readSettled } from "./open-file.ts";
import type { ScannedFile } from "./scan.ts";
import { never } from "../../test/support/context.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { privateKeyBlock, secretExamples } from "../../test/support/secret-examples.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import promises from "node:fs/promises";

const chunking = { tokens: 400, overlap: 80 };
const longAgo = new Date(2020, 0, 1);
afterEach(() => void vi.restoreAllMocks());

/** After so long what a file system tells of a file can be relied on, and is part of its record. */
const tickMs = 60;

function scanned(folder: string, file: string): ScannedFile {
  const absolutePath = path.join(folder, file);
  const stats = statSync(absolutePath);
  return { path: file, absolutePath, mtimeMs: stats.mtimeMs, size: stats.size };
}

function prepared(content: string | Uint8Array, name = "memory/a.md"): ScannedFile {
  const folder = folderWith({ [name]: content });
  utimesSync(path.join(folder, name), longAgo, longAgo);
  return scanned(folder, name);
}

async function read(file: ScannedFile, stored?: FileRecord, own = chunking): ReturnType<typeof readChunks> {
  return await readChunks(file, "memory", stored, own, never);
}

const line = "The kitchen door sticks again and the pass over the mountain is closed until May.\n";

/** How often the work has let the event loop go on, whether or not it was time to. */
function turnsOf(): () => number {
  let clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (clock += 2));
  let turns = 0;
  const nextTurn = timers.setImmediate;
  stubBuiltin(timers, { setImmediate: (...call) => (turns++, nextTurn(...call)) });
  return () => turns;
}

test("a note of 250 kB is read in slices: not more than 64,000 characters or one chunk between two turns of the event loop", async () => {
  const file = prepared(line.repeat(Math.ceil(250_000 / line.length)));
  const turns = turnsOf();
  const chunks = (await read(file))?.changed?.chunks.length ?? 0;
  expect(chunks).toBeGreaterThan(150);
  // Looked at for signs of secrets, for names whose secret is below, and for secrets.
  expect(turns()).toBeGreaterThanOrEqual(chunks + 3 * Math.floor(file.size / 64_068));
});

test.each([
  ["lines", line.repeat(4000)],
  ["blank lines", `${line}${" \r\n".repeat(100_000)}${line.repeat(30)}${"\n".repeat(100_000)}${line}`],
])("a longer note of %s becomes the same chunks, in a thread of its own", async (_what, text) => {
  const file = prepared(text);
  const turns = turnsOf();
  const chunks = (await read(file))?.changed?.chunks;
  expect(turns()).toBe(0);
  expect(chunks).toEqual(
    await noteTasks.cut({ bytes: Buffer.from(text), path: file.path, chunking }, async () => undefined),
  );
  const lines = text.split(/\r?\n/u);
  for (const chunk of chunks ?? []) expect(lines.slice(chunk.startLine - 1, chunk.endLine).join("\n")).toBe(chunk.text);
  expect(chunks?.at(-1)?.endLine).toBe(lines.length - 1);
});

describe("a file", () => {
  test("becomes chunks with their terms, and a record of what it was", async () => {
    const file = prepared("# Plans\n\nWe deployed QX-7919.\n", "memory/plans.md");
    expect(await read(file)).toEqual({
      // Whether it has a stamp goes by how long ago it was written.
      record: expect.objectContaining({
        path: "memory/plans.md",
        source: "memory",
        hash: createHash("sha256").update("# Plans\n\nWe deployed QX-7919.\n").digest("hex"),
        mtimeMs: longAgo.getTime(),
        size: 30,
        recipe: recipeOf(chunking),
      }) as unknown,
      changed: expect.objectContaining({
        path: "memory/plans.md",
        chunks: [
          {
            startLine: 1,
            endLine: 3,
            text: "# Plans\n\nWe deployed QX-7919.",
            context: "",
            terms: "plan we deploi qx 7919 qx-7919 qx7919 plan",
            hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          },
        ],
      }) as unknown,
    });
  });

  test("that is no text at all becomes a record without chunks, which says why", async () => {
    const picture = Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256));
    const file = prepared(picture);
    await sleep(tickMs);
    const first = await read(file);
    expect(first?.changed).toMatchObject({ chunks: [], size: 4000, mtimeMs: longAgo.getTime() });
    expect(recordedState(first?.changed ?? expect.fail()).skipped).toBe("file.notText");
    const again = await read(file, first?.record);
    expect(again).toEqual({ record: first?.record, changed: undefined });
    writeFileSync(file.absolutePath, "text");
    const later = await read(file, first?.record);
    expect(later?.changed?.chunks).toHaveLength(1);
    expect(recordedState(later?.record ?? expect.fail()).skipped).toBeUndefined();
  });
});

test.each([60_000, 800_000])("a picture of %i bytes in a file is no words and no chunk", async (bytes) => {
  const picture = createHash("sha512")
    .update("")
    .digest("base64")
    .slice(0, 80)
    .repeat(bytes / 60);
  const drawing = `\`\`\`compressed-json\n${picture.replaceAll(/.{256}/gu, "$&\n\n")}\n\`\`\``;
  const text = `# Porch\n\n![s](data:image/png;base64,${picture})\n\n${drawing}\n\n# Roof\n\ntiles`;
  const file = prepared(text);
  const last = text.split("\n").length;
  const chunks = (await read(file))?.changed?.chunks ?? [];
  expect(chunks).toMatchObject([
    { startLine: 1, endLine: 6, terms: "porch s compress json compressed-json compressedjson a" },
    { startLine: last - 2, endLine: last, text: "# Roof\n\ntiles" },
  ]);
  // What the file holds is compared with its data replaced, too.
  const found = chunks.map((chunk) => ({ ...chunk, lines: chunk.text.split("\n") }));
  const other = found.map((chunk) => ({ ...chunk, lines: [...chunk.lines.slice(1), "x"] }));
  expect(await notesHold(file.absolutePath, [...found, ...other], never)).toEqual([true, true, false, false]);
});

test("a file that is known saved a moment ago is compared by content the next time too", async () => {
  const folder = folderWith({ "memory/a.md": "text" });
  const file = path.join(folder, "memory/a.md");
  const now = vi.spyOn(Date, "now").mockReturnValue(Math.floor(lstatSync(file).ctimeMs) + 5);
  const first = await read(scanned(folder, "memory/a.md"));
  expect(first?.changed?.chunks).toHaveLength(1);
  expect(recordedState(first?.record ?? expect.fail()).stamp).toBeUndefined();
  now.mockReturnValue(Math.floor(lstatSync(file).ctimeMs) + 500);
  const second = await read(scanned(folder, "memory/a.md"), first?.record);
  expect(second?.changed).toBeUndefined();
  expect(recordedState(second?.record ?? expect.fail()).stamp).toBe(stampOf(lstatSync(file, { bigint: true })));
});

describe("secrets in a file", () => {
  const shown = secretExamples.map(({ name, secret }) => `- ${name}: ${secret}`);
  const heading = `## The key ${secretExamples[0]?.secret}`;
  const [begin = "", ...rest] = privateKeyBlock("OPENSSH ");
  const lines = ["# Accounts", "", ...shown, "", begin, ...rest, "", heading, "", "renewed in May", ""];
  const beginning = (line = ""): string | undefined => (rest.includes(line) ? "" : line.split(/sk-|-----|[:[]/)[0]);
  const content = lines.join("\r\n");

  test("are in no chunk, no context, no terms; the lines are those of the file", async () => {
    const chunks = (await read(prepared(content)))?.changed?.chunks ?? [];
    const copies = JSON.stringify(chunks);
    const pieces = [...lines.slice(2), ...secretExamples.map(({ secret }) => secret)].filter(
      (line) => line.length > 24,
    );
    expect(pieces.filter((piece) => copies.includes(piece) || copies.includes(piece.toLowerCase()))).toEqual([]);
    expect(chunks.at(-1)).toMatchObject({ endLine: lines.indexOf("renewed in May") + 1 });
    for (const chunk of chunks)
      for (const [index, text] of chunk.text.split("\n").entries())
        expect(text.split(/[:[]/)[0]).toBe(beginning(lines[chunk.startLine - 1 + index]));
  });
});

describe("a file that is not what it was", () => {
  test("gone: nothing comes of it", async () => {
    const file = prepared("text");
    rmSync(file.absolutePath);
    expect(await read(file)).toBeUndefined();
  });

  test.skipIf(process.platform === "win32")("now a link, a pipe or a folder: it is not read", async () => {
    const outside = folderWith({ "secret.md": "secret" });
    const file = prepared("text");
    rmSync(file.absolutePath);
    symlinkSync(path.join(outside, "secret.md"), file.absolutePath);
    await expect(read(file)).rejects.toMatchObject({ code: "ELOOP" });
    rmSync(file.absolutePath);
    execFileSync("mkfifo", [file.absolutePath]);
    await expect(read(file)).rejects.toThrow("is not a regular file");
    await expect(read({ ...file, absolutePath: path.dirname(file.absolutePath) })).rejects.toThrow(
      "is not a regular file",
    );
  });

  test("grown over the limit: it is not read", async () => {
    const file = prepared("text");
    truncateSync(file.absolutePath, maxFileBytes + 1);
    await expect(read(file)).rejects.toThrow("has grown to more than 16 MiB");
  });

  test("an abort ends the wait for one that a thread works on, and the next is read by another thread", async () => {
    const file = prepared("some words of a large file\n".repeat(40_000));
    const controller = new AbortController();
    const { any } = AbortSignal;
    // By then the thread has its task.
    vi.spyOn(AbortSignal, "any").mockImplementationOnce((signals) => {
      queueMicrotask(() => controller.abort());
      return any.call(AbortSignal, signals);
    });
    const reading = readChunks(file, "memory", undefined, chunking, controller.signal);
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    expect((await read(file))?.changed?.chunks.length).toBeGreaterThan(600);
  });
});

describe("a file that changes", () => {
  type Open = typeof promises.open;

  function fileWith(content: string): string {
    return path.join(folderWith({ "a.md": content }), "a.md");
  }

  /**
   * Lets something happen to the file between two looks of each reading: when it was read, before it is examined again.
   */
  function duringReading(happens: (reading: number) => void): void {
    let looks = 0;
    const { fstatSync } = fs;
    const look = (...asked: [number]): unknown => {
      if (++looks % 2 === 0) happens(looks / 2);
      return fstatSync(...asked);
    };
    stubBuiltin(fs, { fstatSync: look as typeof fstatSync });
  }

  /** Lets `opens` take the place of the opening of files. Gives how often one was opened. */
  function openingBy(opens: (real: Open, call: Parameters<Open>, count: number) => ReturnType<Open>): () => number {
    let count = 0;
    const real = promises.open;
    stubBuiltin(promises, { open: (...call) => opens(real, call, ++count) });
    return () => count;
  }

  async function read(file: string, knownSize?: number): Promise<FileContent | undefined> {
    return await readSettled(file, knownSize, never);
  }

  /** What happens to a file during a reading; `settled: false` if it does not come to rest. */
  type Change = (file: string, reading: number) => void;
  const longPast = (file: string): void => utimesSync(file, 1, 1);
  test.each<[what: string, before: string, change: Change, expected: { text?: string; settled?: boolean }]>([
    [
      "is read again, and what is given is its last state",
      "one",
      (file, reading) => reading === 1 && writeFileSync(file, "the second state"),
      { text: "the second state", settled: true },
    ],
    [
      "is given as unsettled when it does not come to rest",
      "0",
      (file, reading) => appendFileSync(file, String(reading)),
      { text: "012", settled: false },
    ],
    [
      "by a save of the same length is noticed by its time",
      "one",
      (file, reading) => reading === 1 && writeFileSync(file, "two"),
      { text: "two" },
    ],
    [
      "with the time set back is noticed by its length",
      "one",
      (file, reading) => {
        if (reading > 1) return;
        appendFileSync(file, " and two");
        longPast(file);
      },
      { text: "one and two" },
    ],
    ["and is gone, is gone", "text", (file) => rmSync(file), {}],
  ])("a file that is written while it is read %s", async (_, before, change, expected) => {
    const file = fileWith(before);
    longPast(file);
    duringReading((reading) => change(file, reading));
    const state = await read(file);
    expect({ text: state && String(state.bytes), settled: state?.settled }).toMatchObject(expected);
    if (expected.text === undefined) expect(state).toBeUndefined();
  });

  test("a file that is written and does not come to rest is compared again in the next sync", async () => {
    const file = fileWith("text ");
    // Long ago, so that nothing but the reading tells that it is not settled.
    duringReading((reading) => {
      appendFileSync(file, String(reading));
      utimesSync(file, reading, reading);
    });
    const scanned = { path: "a.md", absolutePath: file, mtimeMs: 0, size: 5 };
    const reading = await readChunks(scanned, "memory", undefined, { tokens: 400, overlap: 80 }, never);
    expect(reading?.changed).toMatchObject({ mtimeMs: -1, chunks: [{ text: "text 12" }] });
  });

  test("a file that is read and becomes shorter ends where it ends", async () => {
    const file = fileWith("a long text");
    let cuts = 0;
    openingBy(async (real, call) => {
      const handle = await real(...call);
      const read = handle.read.bind(handle) as (...given: unknown[]) => Promise<{ bytesRead: number }>;
      handle.read = (async (...given: unknown[]) => {
        if (cuts++ === 0) truncateSync(file, 3);
        return await read(...given);
      }) as typeof handle.read;
      return handle;
    });
    expect(String((await read(file))?.bytes)).toBe("a l");
  });

  describe("a file that was truncated a moment ago", () => {
    const now = new Date(2030, 0, 1);
    beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
    afterEach(() => void vi.useRealTimers());

    test("is waited for, since most programs write it then", async () => {
      const file = fileWith("");
      utimesSync(file, now, now);
      duringReading((reading) => {
        // Behind the second look of the first reading, as the program that saves goes on.
        if (reading === 2) writeFileSync(file, "what was meant");
      });
      expect(String((await read(file, 10))?.bytes)).toBe("what was meant");
    });

    test("is taken as it is when nothing comes, or when it is empty for longer", async () => {
      const file = fileWith("");
      utimesSync(file, now, now);
      const opened = openingBy((real, call) => real(...call));
      expect(await read(file, 10)).toMatchObject({ settled: true, bytes: Buffer.alloc(0) });
      expect(opened()).toBe(3);
      const earlier = new Date(now.getTime() - 1000);
      utimesSync(file, earlier, earlier);
      expect(await read(file, 10)).toMatchObject({ bytes: Buffer.alloc(0) });
      expect(opened()).toBe(4);
    });
  });

  test("a cloud folder that has to fetch the file is asked again", async () => {
    const file = fileWith("text");
    const busy = Object.assign(new Error("EDEADLK: of the test"), { code: "EDEADLK" });
    // Twice in the first reading, and three times in the second.
    openingBy(async (real, call, count) => (count === 3 ? await real(...call) : Promise.reject(busy)));
    expect(String((await read(file))?.bytes)).toBe("text");
    await expect(read(file)).rejects.toThrow("EDEADLK");
  });
});
