import timers, { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { FileRecord } from "../chunk-index.ts";
import { stampOf } from "./file-stamp.ts";
import { readChunks, recipeOf, skippedBecause, stampInNote } from "./read-chunks.ts";
import { readMemoryFile } from "./read-file.ts";
import { redactionVersion } from "../secrets/redact-secrets.ts";
import { maxFileBytes, type ScannedFile } from "./scan.ts";
import { queryTerms } from "../text/words.ts";
import { never } from "../../test/support/context.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { privateKeyBlock, secretExamples } from "../../test/support/secret-examples.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

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

test("a note of 1 MB is read in slices: not more than 64,000 characters or one chunk between two turns of the event loop", async () => {
  const line = "The kitchen door sticks again and the pass over the mountain is closed until May.\n";
  const file = prepared(line.repeat(Math.ceil(1_000_000 / line.length)));
  // Each look at the clock finds that a slice is over.
  let clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (clock += 2));
  let turns = 0;
  const nextTurn = timers.setImmediate;
  stubBuiltin(timers, { setImmediate: (...call) => (turns++, nextTurn(...call)) });
  const chunks = (await read(file))?.changed?.chunks.length ?? 0;
  expect(chunks).toBeGreaterThan(600);
  // Looked at for signs of secrets, for names whose secret is below, and for secrets.
  expect(turns).toBeGreaterThanOrEqual(chunks + 3 * Math.floor(file.size / 64_068));
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
            terms: "plan we deploi qx 7919 qx-7919 plan",
            hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          },
        ],
      }) as unknown,
    });
  });

  test("of a day is found by its date and headings, which are not shown", async () => {
    const text = [
      "# Trip",
      "",
      ...Array.from({ length: 60 }, () => "we walked along the river and ate at the old mill"),
      "last words",
    ];
    const result = await read(prepared(text.join("\n"), "memory/2026-03-05.md"));
    const chunks = result?.changed?.chunks ?? [];
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) {
      expect(chunk.terms.split(" ")).toEqual(expect.arrayContaining(["2026-03-05", "2026", "03", "05", "trip"]));
      expect(chunk.context).toContain("2026-03-05");
      expect(chunk.text).not.toContain("2026");
    }
    expect(chunks.at(-1)?.text).not.toContain("Trip");
    expect(chunks.at(-1)?.context).toBe("2026-03-05 > Trip");
  });

  test("that is empty becomes a record without chunks", async () => {
    for (const content of ["", "\n\n", "\ufeff"])
      expect(await read(prepared(content))).toMatchObject({ changed: { chunks: [] } });
  });

  test("with some bytes that are no text is read as well as it can be", async () => {
    const bytes = Buffer.concat([
      Buffer.from("budget \0 caf"),
      Buffer.from([0xe9, 0xff, 0x00]),
      Buffer.from("\nreview"),
    ]);
    const result = await read(prepared(bytes));
    expect(result?.changed?.chunks).toMatchObject([{ startLine: 1, endLine: 2 }]);
    expect(result?.changed?.chunks[0]?.terms.split(" ")).toEqual(expect.arrayContaining(["budget", "review"]));
  });

  test("that is no text at all becomes a record without chunks, which says why", async () => {
    const picture = Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256));
    const file = prepared(picture);
    await sleep(tickMs);
    const first = await read(file);
    expect(first?.changed).toMatchObject({ chunks: [], size: 4000, mtimeMs: longAgo.getTime() });
    expect(skippedBecause(first?.changed ?? expect.fail())).toMatch(/^is not text/);
    const again = await read(file, first?.record);
    expect(again).toEqual({ record: first?.record, changed: undefined });
    writeFileSync(file.absolutePath, "text");
    const later = await read(file, first?.record);
    expect(later?.changed?.chunks).toHaveLength(1);
    expect(skippedBecause(later?.record ?? expect.fail())).toBeUndefined();
  });
});

describe("a file that is known", () => {
  test("with the same content is not cut again", async () => {
    const file = prepared("text");
    await sleep(tickMs);
    const first = await read(file);
    expect(await read(file, first?.record)).toEqual({ record: first?.record, changed: undefined });
  });

  test("with another content, or cut by another recipe, is done again", async () => {
    const file = prepared("text");
    const record = (await read(file))?.record;
    expect((await read(file, record, { tokens: 200, overlap: 0 }))?.changed).toBeDefined();
    writeFileSync(file.absolutePath, "more text");
    expect((await read(file, record))?.changed).toMatchObject({ size: 9, chunks: [{ text: "more text" }] });
  });

  test("a recipe names all that decides how a file is cut", () => {
    expect(recipeOf({ tokens: 400, overlap: 80 })).not.toBe(recipeOf({ tokens: 400, overlap: 81 }));
    expect(recipeOf({ tokens: 400, overlap: 80 })).not.toBe(recipeOf({ tokens: 401, overlap: 80 }));
  });

  test("saved a moment ago is compared by content the next time too", async () => {
    const folder = folderWith({ "memory/a.md": "text" });
    const file = path.join(folder, "memory/a.md");
    const now = vi.spyOn(Date, "now").mockReturnValue(Math.floor(lstatSync(file).ctimeMs) + 5);
    const first = await read(scanned(folder, "memory/a.md"));
    expect(first?.changed?.chunks).toHaveLength(1);
    expect(stampInNote(first?.record ?? expect.fail())).toBeUndefined();
    now.mockReturnValue(Math.floor(lstatSync(file).ctimeMs) + 500);
    const second = await read(scanned(folder, "memory/a.md"), first?.record);
    expect(second?.changed).toBeUndefined();
    expect(stampInNote(second?.record ?? expect.fail())).toBe(stampOf(lstatSync(file, { bigint: true })));
  });

  test("from the future, of a clock that was set back, is compared once more and then believed", async () => {
    const folder = folderWith({ "memory/a.md": "text" });
    const file = path.join(folder, "memory/a.md");
    vi.spyOn(Date, "now").mockReturnValue(lstatSync(file).ctimeMs - 3_600_000);
    const first = await read(scanned(folder, "memory/a.md"));
    expect(stampInNote(first?.record ?? expect.fail())).toBeUndefined();
    const second = await read(scanned(folder, "memory/a.md"), first?.record);
    expect(second).toMatchObject({ changed: undefined });
    expect(stampInNote(second?.record ?? expect.fail())).toBe(stampOf(lstatSync(file, { bigint: true })));
  });
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

  test("stand there by their names", async () => {
    const chunks = (await read(prepared(`# Bot\n\nkey: ${secretExamples[0]?.secret}`)))?.changed?.chunks;
    expect(chunks).toMatchObject([{ text: "# Bot\n\nkey: [redacted: Anthropic key]" }]);
    expect(chunks?.[0]?.terms.split(" ")).toEqual(
      expect.arrayContaining(queryTerms("Anthropic key").map(({ term }) => term)),
    );
    const below = (await read(prepared([heading, "word ".repeat(700), "last"].join("\n"))))?.changed?.chunks ?? [];
    expect(below.at(-1)?.context).toBe("The key [redacted: Anthropic key]");
  });

  test("stay in the file, which is read as it is, and the record is that of the file", async () => {
    const folder = folderWith({ "memory/a.md": content });
    const result = await read(scanned(folder, "memory/a.md"));
    expect(readFileSync(path.join(folder, "memory/a.md"), "utf8")).toBe(content);
    expect(result?.record).toMatchObject({
      hash: createHash("sha256").update(content).digest("hex"),
      size: Buffer.byteLength(content),
    });
    const read3 = await readMemoryFile(
      { relPath: "memory/a.md", from: 3, lines: 1, audience: "private", signal: never },
      folder,
      [],
    );
    expect(read3.text.split("\n")[0]).toBe(shown[0]);
  });

  test("are taken out of an index that was made without", async () => {
    const file = prepared(content);
    const record = (await read(file))?.record;
    const older = record?.recipe.replace(` redaction${redactionVersion}`, "") ?? "";
    expect(older).not.toBe(record?.recipe);
    expect((await read(file, record && { ...record, recipe: older }))?.changed).toBeDefined();
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

  test("grown while it was read: what is kept is one state of it", async () => {
    const file = prepared("a\n".repeat(200_000));
    const reading = read(file);
    const timer = setInterval(() => appendFileSync(file.absolutePath, "b\n"), 0);
    const result = await reading;
    clearInterval(timer);
    const chunks = result?.changed?.chunks ?? [];
    expect(result?.record.size).toBeGreaterThanOrEqual(400_000);
    expect(chunks.at(-1)?.endLine).toBe((result?.record.size ?? 0) / 2);
  });

  test.skipIf(process.platform === "win32")(
    "behind a link that has taken the place of a folder: it is not read",
    async () => {
      const outside = folderWith({ "a.md": "secret" });
      const file = prepared("text");
      rmSync(path.dirname(file.absolutePath), { recursive: true });
      symlinkSync(outside, path.dirname(file.absolutePath));
      await expect(read(file)).rejects.toThrow("leads out of its folder through a link");
    },
  );

  test("grown over the limit: it is not read", async () => {
    const file = prepared("text");
    truncateSync(file.absolutePath, maxFileBytes + 1);
    await expect(read(file)).rejects.toThrow("has grown to more than 16 MiB");
  });

  test("an abort ends the work on a large file", async () => {
    const file = prepared("some words of a large file\n".repeat(400_000));
    const controller = new AbortController();
    const reading = readChunks(file, "memory", undefined, chunking, controller.signal);
    setTimeout(() => controller.abort(), 30);
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
  });
});
