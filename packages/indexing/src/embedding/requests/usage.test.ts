import { appendFileSync, readFileSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Usage, openUsage, readUsage } from "./usage.ts";
import { tempFolder as folder, writeFiles } from "@memslot/test-tools/files";

const search = { reason: "search", provider: "p", model: "m", requests: 1 };

/** Local time, whatever zone the test runs in. */
function clockAt(...date: [number, number, number, number?, number?, number?]): { now: () => Date; set: typeof set } {
  let time = new Date(...(date as [number, number, number]));
  function set(...next: [number, number, number, number?, number?, number?]): void {
    time = new Date(...(next as [number, number, number]));
  }
  return { now: () => time, set };
}

function fileIn(stateDir: string, day: string): string {
  return path.join(stateDir, "embeddings", "usage", `${day}.jsonl`);
}

function spend(usage: Usage, ...tokens: number[]): void {
  for (const count of tokens) usage.add({ ...search, tokens: count });
}

describe("tokens today", () => {
  test("are those of one agent, over all reasons, providers and processes", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    const [here, there, other] = ["main", "main", "other"].map((agentId) => openUsage({ stateDir, agentId, now }));
    expect(here?.tokensToday()).toBe(0);
    here?.add({ ...search, tokens: 10 });
    expect(here?.tokensToday()).toBe(10);
    there?.add({ ...search, reason: "watch", provider: "q", tokens: 5 });
    other?.add({ ...search, tokens: 1000 });
    expect(here?.tokensToday()).toBe(15);
    expect(here?.tokensToday(), "asked again").toBe(15);
    expect(there?.tokensToday()).toBe(15);
    expect(other?.tokensToday()).toBe(1000);
    expect(openUsage({ stateDir, agentId: "main", now }).tokensToday(), "begun later").toBe(15);
  });

  test("begin anew at midnight, local time", () => {
    const stateDir = folder();
    const clock = clockAt(2026, 2, 5, 23, 59, 59);
    const usage = openUsage({ stateDir, agentId: "main", now: clock.now });
    spend(usage, 7, 8);
    expect(usage.tokensToday()).toBe(15);
    clock.set(2026, 2, 6, 0, 0, 0);
    expect(usage.tokensToday()).toBe(0);
    spend(usage, 4);
    expect(usage.tokensToday()).toBe(4);
    expect(readdirSync(path.join(stateDir, "embeddings", "usage"))).toEqual(["2026-03-05.jsonl", "2026-03-06.jsonl"]);
    clock.set(2026, 2, 5, 23, 59, 59);
    expect(usage.tokensToday(), "the clock was set back: the day that was begun goes on").toBe(4);
  });

  test("are read on from where the last reading ended", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    const usage = openUsage({ stateDir, agentId: "main", now });
    spend(usage, 100);
    expect(usage.tokensToday()).toBe(100);
    // What was counted is not read again: the same bytes with another number change nothing.
    const file = fileIn(stateDir, "2026-03-05");
    const text = readFileSync(file, "utf8");
    truncateSync(file);
    appendFileSync(file, text.replace('"tokens":100', '"tokens":999'));
    expect(usage.tokensToday()).toBe(100);
    spend(usage, 1);
    expect(usage.tokensToday()).toBe(101);
  });

  test("are right when the file is deleted and begun again", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    const usage = openUsage({ stateDir, agentId: "main", now });
    spend(usage, 100, 100);
    expect(usage.tokensToday()).toBe(200);
    rmSync(fileIn(stateDir, "2026-03-05"));
    spend(usage, 5);
    expect(usage.tokensToday()).toBe(5);
  });

  test("pass over damaged lines, and half a line takes no other with it", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    const usage = openUsage({ stateDir, agentId: "main", now });
    const file = fileIn(stateDir, "2026-03-05");
    spend(usage, 10);
    appendFileSync(file, 'nonsense\n[]\nnull\n{"agentId":"main","tokens":5}\n');
    const line = readFileSync(file, "utf8").split("\n")[0] ?? "";
    appendFileSync(file, `${line.replace('"tokens":10', '"tokens":-10')}\n${line.slice(0, -9)}`);
    expect(usage.tokensToday()).toBe(10);
    spend(usage, 20);
    expect(usage.tokensToday()).toBe(30);
    expect(openUsage({ stateDir, agentId: "main", now }).tokensToday()).toBe(30);
  });

  test("a line that another process has begun is counted once it is whole", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    const usage = openUsage({ stateDir, agentId: "männer", now });
    spend(usage, 10);
    const file = fileIn(stateDir, "2026-03-05");
    const line = readFileSync(file);
    const half = line.indexOf("ä") + 1;
    appendFileSync(file, line.subarray(0, half));
    expect(usage.tokensToday()).toBe(10);
    appendFileSync(file, line.subarray(half));
    expect(usage.tokensToday()).toBe(20);
  });

  test("are counted for this process when they cannot be written, and that is said", () => {
    const stateDir = folder({ embeddings: "a file where a folder should be" });
    const clock = clockAt(2026, 2, 5, 12);
    const lines: string[] = [];
    const notify = (line: string): void => void lines.push(line);
    const usage = openUsage({ stateDir, agentId: "main", now: clock.now, notify });
    spend(usage, 10, 20);
    expect(usage.tokensToday()).toBe(30);
    expect(lines[0]).toMatch(/^tokens are counted for this process only: E/);
    clock.set(2026, 2, 6, 12);
    expect(usage.tokensToday()).toBe(0);
  });
});

describe("the files", () => {
  test("are for their owner alone, with one line for each request", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    openUsage({ stateDir, agentId: "main", now }).add({ ...search, tokens: 3 });
    const file = fileIn(stateDir, "2026-03-05");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    const text = readFileSync(file, "utf8");
    expect(text.endsWith("}\n")).toBe(true);
    expect(JSON.parse(text)).toEqual({ at: now().toISOString(), agentId: "main", ...search, tokens: 3 });
  });

  test("older than 92 days are deleted when a new day begins, and nothing else is", () => {
    const days = ["2025-01-01", "2025-12-02", "2025-12-03", "2025-12-04", "2026-03-04"];
    const stateDir = folder();
    const usageDir = path.join(stateDir, "embeddings", "usage");
    writeFiles(usageDir, Object.fromEntries(days.map((day) => [`${day}.jsonl`, ""])));
    writeFiles(usageDir, { "2025-01-01.txt": "", "notes.jsonl": "" });
    const clock = clockAt(2026, 2, 5, 12);
    const usage = openUsage({ stateDir, agentId: "main", now: clock.now });
    usage.tokensToday();
    expect(readdirSync(usageDir)).toHaveLength(7);
    spend(usage, 1);
    const left = ["2025-01-01.txt", "2025-12-03.jsonl", "2025-12-04.jsonl", "2026-03-04.jsonl", "2026-03-05.jsonl"];
    expect(readdirSync(usageDir).toSorted()).toEqual([...left, "notes.jsonl"]);
    writeFiles(usageDir, { "2025-12-02.jsonl": "" });
    spend(usage, 1);
    expect(readdirSync(usageDir), "only when a day begins").toContain("2025-12-02.jsonl");
    clock.set(2026, 2, 6, 12);
    spend(usage, 1);
    expect(readdirSync(usageDir).toSorted().slice(0, 2)).toEqual(["2025-01-01.txt", "2025-12-04.jsonl"]);
  });
});

describe("reading usage", () => {
  test("sums it up for each day, agent, reason, provider and model, oldest day first", async () => {
    const stateDir = folder();
    const clock = clockAt(2026, 2, 4, 12);
    const [main, other] = ["main", "other"].map((agentId) => openUsage({ stateDir, agentId, now: clock.now }));
    main?.add({ ...search, tokens: 1 });
    clock.set(2026, 2, 5, 12);
    main?.add({ ...search, tokens: 10 });
    main?.add({ ...search, reason: "cli", tokens: 400, requests: 3 });
    main?.add({ ...search, reason: "cli", tokens: 100, requests: 2 });
    main?.add({ ...search, tokens: 0 });
    main?.add({ ...search, model: "m2", tokens: 4 });
    other?.add({ ...search, tokens: 7 });
    appendFileSync(fileIn(stateDir, "2026-03-05"), "half a li");
    const entry = { day: "2026-03-05", agentId: "main", provider: "p", model: "m" };
    const all = [
      { ...entry, day: "2026-03-04", reason: "search", requests: 1, tokens: 1 },
      { ...entry, reason: "cli", requests: 5, tokens: 500 },
      { ...entry, reason: "search", requests: 2, tokens: 10 },
      { ...entry, model: "m2", reason: "search", requests: 1, tokens: 4 },
      { ...entry, agentId: "other", reason: "search", requests: 1, tokens: 7 },
    ];
    expect(await readUsage(stateDir)).toEqual(all);
    expect(await readUsage(stateDir, { agentId: "other" })).toEqual(all.slice(4));
    expect(await readUsage(stateDir, { days: 1, now: clock.now })).toEqual(all.slice(1));
    expect(await readUsage(stateDir, { days: 2, now: clock.now })).toEqual(all);
    clock.set(2026, 2, 6, 0, 0, 1);
    expect(await readUsage(stateDir, { days: 1, now: clock.now })).toEqual([]);
  });

  test("gives nothing where nothing was spent or it cannot be read", async () => {
    expect(await readUsage(folder())).toEqual([]);
    expect(await readUsage(folder({ "embeddings/usage": "a file" }))).toEqual([]);
    expect(await readUsage(folder({ "embeddings/usage/2026-03-05.jsonl/inside": "" }))).toEqual([]);
  });
});
