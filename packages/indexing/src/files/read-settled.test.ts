import fs, { appendFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readChunks } from "./read-chunks.ts";
import { type FileState, readSettled } from "./read-settled.ts";
import { never } from "../../test/support/context.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

type Open = typeof promises.open;

function fileWith(content: string): string {
  return path.join(folderWith({ "a.md": content }), "a.md");
}

/** Lets something happen to the file between two looks of each reading: when it was read, before it is looked at again. */
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

async function read(file: string, knownSize?: number): Promise<FileState | undefined> {
  return await readSettled(file, knownSize, never);
}

describe("a file that is written while it is read", () => {
  test("is read again, and what is given is its last state", async () => {
    const file = fileWith("one");
    duringReading((reading) => {
      if (reading === 1) writeFileSync(file, "the second state");
    });
    const state = await read(file);
    expect(String(state?.bytes)).toBe("the second state");
    expect(state?.settled).toBe(true);
  });

  test("is given as unsettled when it does not come to rest", async () => {
    const file = fileWith("0");
    duringReading((reading) => appendFileSync(file, String(reading)));
    const state = await read(file);
    expect(state?.settled).toBe(false);
    expect(String(state?.bytes)).toBe("012");
  });

  test("by a save of the same length is noticed by its time", async () => {
    const file = fileWith("one");
    utimesSync(file, 1, 1);
    duringReading((reading) => {
      if (reading === 1) writeFileSync(file, "two");
    });
    expect(String((await read(file))?.bytes)).toBe("two");
  });

  test("by somebody who sets the time back is noticed by its length", async () => {
    const file = fileWith("one");
    utimesSync(file, 1, 1);
    duringReading((reading) => {
      if (reading > 1) return;
      appendFileSync(file, " and two");
      utimesSync(file, 1, 1);
    });
    expect(String((await read(file))?.bytes)).toBe("one and two");
  });

  test("and does not come to rest is compared again in the next sync", async () => {
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

  test("and becomes shorter ends where it ends", async () => {
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

  test("and is gone, is gone", async () => {
    const file = fileWith("text");
    duringReading(() => rmSync(file));
    expect(await read(file)).toBeUndefined();
  });
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
