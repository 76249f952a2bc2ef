import { closeSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import type { SyncReport } from "memslot";
import { describe, expect, test } from "vitest";
import { type EmbeddingHouse, manyNotes, notesSent, useEmbeddingHouse } from "../support/embedding-workspace.ts";
import { ask, indexFile } from "../support/temp-workspace.ts";

// What is sent when neither the index nor the count of spent tokens can be stored. A damaged count: usage.test.ts.

const wholeMemory = 12;

/** As many commands, one after the other: each opens the memory, brings the index up to date, searches, and ends. */
async function commands(
  given: EmbeddingHouse,
  count: number,
  reason: string,
  memorySearch: Record<string, unknown>,
): Promise<(SyncReport | undefined)[]> {
  const reports: (SyncReport | undefined)[] = [];
  for (let index = 0; index < count; index++) {
    const memory = await given.open({ ...memorySearch, sync: { watch: false, onSearch: false } });
    reports.push(await memory.sync({ reason }));
    const { results } = await ask(memory, "the kitten of number 2");
    expect(results[0]?.path).toBe("memory/note-2.md");
    await memory.close();
  }
  return reports;
}

function overwrite(file: string, at: number, bytes: Buffer): void {
  const handle = openSync(file, "r+");
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

describe("a damaged beginning of our own index", () => {
  test.each([
    ["the first page", 0, Buffer.alloc(32_768)],
    ["the place that says whose it is", 68, Buffer.alloc(4)],
  ])("%s: it is set aside and rebuilt, and embedded once", async (_, at, bytes) => {
    const given = await useEmbeddingHouse(manyNotes(wholeMemory));
    await commands(given, 1, "cli", {});
    const file = indexFile(given);
    overwrite(file, at, bytes);
    const damaged = readFileSync(file);
    given.api.reset();
    given.notices.splice(0);
    await commands(given, 2, "cli", {});
    // Once, and only what could not be taken over from the damaged file.
    const sent = notesSent(given.api.log).filter((text) => text.includes("on my mind"));
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent.length).toBeLessThanOrEqual(wholeMemory);
    const aside = readdirSync(path.dirname(file)).filter((name) => /\.corrupt-\d+$/.test(name));
    expect(aside).toHaveLength(1);
    expect(readFileSync(path.join(path.dirname(file), aside[0] ?? "")).equals(damaged)).toBe(true);
    expect(given.notices.filter((line) => line.includes("was damaged"))).toHaveLength(1);
  });
});

describe("a state folder that cannot be written", () => {
  test("nothing is embedded unless it is asked for", async () => {
    const given = await useEmbeddingHouse(manyNotes(wholeMemory));
    writeFileSync(given.stateDir, "a file");
    const reports = await commands(given, 2, "search", {});
    expect(given.api.log).toEqual([]);
    expect(reports[0]?.pendingVectors?.reason).toContain("kept in memory");
    const asked = await commands(given, 1, "cli", {});
    expect(asked[0]?.pendingVectors).toBeUndefined();
    expect(notesSent(given.api.log).length).toBeGreaterThanOrEqual(wholeMemory);
  });

  test("with a budget nothing is spent at all: it cannot be counted", async () => {
    const given = await useEmbeddingHouse(manyNotes(wholeMemory));
    writeFileSync(given.stateDir, "a file");
    const reports = await commands(given, 2, "cli", { budget: { tokensPerDay: 60 } });
    expect(given.api.log).toEqual([]);
    for (const report of reports) {
      expect(report?.pendingVectors).toMatchObject({ chunks: wholeMemory });
      expect(report?.pendingVectors?.reason).toContain("tokensPerDay cannot be enforced");
    }
  });
});

describe("the budget of a day is kept over all commands", () => {
  const tokensPerDay = 70;

  test("with an index in memory, because another file is in its place", async () => {
    const given = await useEmbeddingHouse(manyNotes(wholeMemory));
    const file = given.at("mine.txt");
    writeFileSync(file, "my own words");
    const settings = { store: { path: file }, budget: { tokensPerDay } };
    const reports = await commands(given, 4, "cli", settings);
    expect(given.api.stats().tokens).toBeGreaterThan(tokensPerDay / 2);
    expect(given.api.stats().tokens).toBeLessThanOrEqual(tokensPerDay);
    expect(reports.at(-1)?.pendingVectors?.reason).toContain("budget of today is spent");
    expect(readFileSync(file, "utf8")).toBe("my own words");
  });

  test("with answers that break off after they were paid for", async () => {
    const given = await useEmbeddingHouse(manyNotes(wholeMemory));
    given.api.fail({ times: 1_000_000, behaviour: "disconnect" });
    const reports = await commands(given, 3, "cli", { budget: { tokensPerDay }, outputDimensionality: 64 });
    expect(given.api.stats().tokens).toBeGreaterThan(0);
    expect(given.api.stats().tokens).toBeLessThanOrEqual(tokensPerDay);
    expect(reports.at(-1)?.pendingVectors?.reason).toContain("budget of today is spent");
  });
});
