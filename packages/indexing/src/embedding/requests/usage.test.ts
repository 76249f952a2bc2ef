import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { OverBudget, Usage, createBudget, readUsage } from "./usage.ts";
import { tempFolder as folder, writeFiles } from "@memslot/test-tools/files";
import { startChild } from "../../../test/support/child.ts";

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
    const [here, there, other] = ["main", "main", "other"].map((agentId) => new Usage({ stateDir, agentId, now }));
    expect(here?.tokensToday()).toBe(0);
    here?.add({ ...search, tokens: 10 });
    expect(here?.tokensToday()).toBe(10);
    there?.add({ ...search, reason: "watch", provider: "q", tokens: 5 });
    other?.add({ ...search, tokens: 1000 });
    expect(here?.tokensToday()).toBe(15);
    expect(here?.tokensToday(), "asked again").toBe(15);
    expect(there?.tokensToday()).toBe(15);
    expect(other?.tokensToday()).toBe(1000);
    expect(new Usage({ stateDir, agentId: "main", now }).tokensToday(), "begun later").toBe(15);
  });

  test("begin anew at midnight, local time", () => {
    const stateDir = folder();
    const clock = clockAt(2026, 2, 5, 23, 59, 59);
    const usage = new Usage({ stateDir, agentId: "main", now: clock.now });
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

  test("pass over damaged lines, and half a line takes no other with it", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    const usage = new Usage({ stateDir, agentId: "main", now });
    const file = fileIn(stateDir, "2026-03-05");
    spend(usage, 10);
    appendFileSync(file, 'nonsense\n[]\nnull\n{"agentId":"main","tokens":5}\n');
    const line = readFileSync(file, "utf8").split("\n")[0] ?? "";
    appendFileSync(file, `${line.replace('"tokens":10', '"tokens":-10')}\n${line.slice(0, -9)}`);
    expect(usage.tokensToday()).toBe(10);
    spend(usage, 20);
    expect(usage.tokensToday()).toBe(30);
    expect(new Usage({ stateDir, agentId: "main", now }).tokensToday()).toBe(30);
  });

  test("are counted for this process when they cannot be written", () => {
    const stateDir = folder({ embeddings: "a file where a folder should be" });
    const clock = clockAt(2026, 2, 5, 12);
    const usage = new Usage({ stateDir, agentId: "main", now: clock.now });
    spend(usage, 10, 20);
    expect(usage.tokensToday()).toBe(30);
    clock.set(2026, 2, 6, 12);
    expect(usage.tokensToday()).toBe(0);
  });
});

describe("the files", () => {
  test("are for their owner alone, with one line for each request", () => {
    const stateDir = folder();
    const { now } = clockAt(2026, 2, 5, 12);
    new Usage({ stateDir, agentId: "main", now }).add({ ...search, tokens: 3 });
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
    const usage = new Usage({ stateDir, agentId: "main", now: clock.now });
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
    const [main, other] = ["main", "other"].map((agentId) => new Usage({ stateDir, agentId, now: clock.now }));
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
});

describe("the budget of a day", () => {
  const request = { reason: "cli", provider: "p", model: "m" };
  const clock = { time: new Date(2026, 2, 5, 12) };
  const now = (): Date => clock.time;
  const day = "2026-03-05";

  function usageFolder(stateDir: string): string {
    return path.join(stateDir, "embeddings", "usage");
  }

  function budgetIn(stateDir: string, tokensPerDay: number, agentId = "main"): ReturnType<typeof createBudget> {
    return createBudget(new Usage({ stateDir, agentId, now }), tokensPerDay);
  }

  describe("a budget", () => {
    test("is spent once, by however many processes at one time", async () => {
      const stateDir = folder();
      const budgets = Array.from({ length: 8 }, () => budgetIn(stateDir, 1000));
      const taken: number[] = [];
      for (let round = 0; round < 40; round++) {
        for (const [index, budget] of budgets.entries()) {
          const tokens = 7 + ((round * 13 + index * 5) % 40);
          try {
            budget.take({ ...request, tokens });
            taken.push(tokens);
          } catch (error) {
            expect(error).toBeInstanceOf(OverBudget);
            expect(String(error)).toContain("the token budget of today is spent");
          }
        }
      }
      const sum = taken.reduce((all, tokens) => all + tokens, 0);
      expect(sum).toBeLessThanOrEqual(1000);
      expect(sum).toBeGreaterThan(1000 - 7);
      expect(new Usage({ stateDir, agentId: "main", now }).tokensToday()).toBe(sum);
      expect(() => budgetIn(stateDir, 1000, "other").take({ ...request, tokens: 1000 })).not.toThrow();
    });

    test("counts what a request has cost in the end, and keeps what was taken where nobody says so", async () => {
      const stateDir = folder();
      const budget = budgetIn(stateDir, 100);
      budget.take({ ...request, tokens: 60 }).settle(25);
      expect(budget.left()).toBe(75);
      const away = budget.take({ ...request, tokens: 50 });
      expect([budget.left(), budgetIn(stateDir, 100).left()], "on its way: counted by its sender").toEqual([75, 25]);
      expect(() => budget.take({ ...request, tokens: 26 })).toThrow(OverBudget);
      away.settle(50);
      expect(budget.left()).toBe(25);
      expect(await readUsage(stateDir, { now })).toEqual([
        { day, agentId: "main", ...request, requests: 2, tokens: 75 },
      ]);
    });

    test("is not given twice when the clock goes back by a day", () => {
      const stateDir = folder();
      budgetIn(stateDir, 100)
        .take({ ...request, tokens: 90 })
        .settle(90);
      clock.time = new Date(2026, 2, 4, 12);
      try {
        expect(budgetIn(stateDir, 100).left()).toBe(10);
        expect(() => budgetIn(stateDir, 100).take({ ...request, tokens: 11 })).toThrow(OverBudget);
        budgetIn(stateDir, 100)
          .take({ ...request, tokens: 10 })
          .settle(10);
      } finally {
        clock.time = new Date(2026, 2, 5, 12);
      }
      expect(budgetIn(stateDir, 100).left()).toBe(0);
    });
  });

  describe("what cannot be counted is not spent", () => {
    function expectNothing(stateDir: string, why: RegExp): void {
      const budget = budgetIn(stateDir, 1000);
      expect(() => budget.take({ ...request, tokens: 1 })).toThrow(OverBudget);
      expect(budget.left()).toBe(0);
      expect(budget.reason()).toMatch(/^memorySearch\.budget\.tokensPerDay cannot be kept.*nothing is sent/);
      expect(budget.reason()).toMatch(why);
    }

    test("where a file stands in place of the folder", () => {
      expectNothing(folder({ embeddings: "a file" }), /cannot be written: (?:ENOTDIR|EEXIST)/);
    });

    test("where the file was damaged, until it is deleted", () => {
      const stateDir = folder();
      budgetIn(stateDir, 1000)
        .take({ ...request, tokens: 900 })
        .settle(900);
      appendFileSync(path.join(usageFolder(stateDir), `${day}.jsonl`), Buffer.alloc(100, 0xff));
      budgetIn(stateDir, 1000).left();
      appendFileSync(path.join(usageFolder(stateDir), `${day}.jsonl`), "\n");
      expectNothing(stateDir, /is damaged; delete it/);
    });

    test("but half a line of a process that died before it sent anything is no damage", () => {
      const stateDir = folder();
      budgetIn(stateDir, 1000)
        .take({ ...request, tokens: 900 })
        .settle(900);
      appendFileSync(path.join(usageFolder(stateDir), `${day}.jsonl`), '{"at":"2026-03-05T1');
      budgetIn(stateDir, 1000).take({ ...request, tokens: 50 });
      expect(budgetIn(stateDir, 1000).left()).toBe(50);
    });

    test.skipIf(!existsSync("/dev/full"))("where the disk is full", () => {
      const stateDir = folder();
      mkdirSync(usageFolder(stateDir), { recursive: true });
      symlinkSync("/dev/full", path.join(usageFolder(stateDir), `${day}.jsonl`));
      expectNothing(stateDir, /ENOSPC/);
    });
  });
});

describe("several processes", () => {
  const stateProcess = new URL("./test/state-process.ts", import.meta.url);

  test("processes that count at the same time lose nothing, and each knows the sum", async () => {
    const stateDir = folder();
    const children = ["main", "main", "other"].map((agentId) => startChild(stateProcess, [stateDir, agentId]));
    await Promise.all(children.map((child) => child.ask("tokens")));
    await Promise.all(children.map((child) => child.ask("spend 300")));
    expect(await Promise.all(children.map((child) => child.ask("tokens")))).toEqual(["4200", "4200", "2100"]);
    expect(new Usage({ stateDir, agentId: "main" }).tokensToday()).toBe(4200);
    expect(await readUsage(stateDir, { agentId: "main" })).toMatchObject([{ requests: 600, tokens: 4200 }]);
    await Promise.all(children.map((child) => child.end()));
  });
});
