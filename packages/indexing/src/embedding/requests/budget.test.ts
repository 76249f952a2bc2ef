import { appendFileSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createBudget, OverBudget } from "./budget.ts";
import { openUsage, readUsage } from "./usage.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";

const request = { reason: "cli", provider: "p", model: "m" };
const clock = { time: new Date(2026, 2, 5, 12) };
const now = (): Date => clock.time;
const day = "2026-03-05";

function usageFolder(stateDir: string): string {
  return path.join(stateDir, "embeddings", "usage");
}

function budgetIn(stateDir: string, tokensPerDay: number, agentId = "main"): ReturnType<typeof createBudget> {
  return createBudget(openUsage({ stateDir, agentId, now }), tokensPerDay);
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
    expect(openUsage({ stateDir, agentId: "main", now }).tokensToday()).toBe(sum);
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
    expect(await readUsage(stateDir, { now })).toEqual([{ day, agentId: "main", ...request, requests: 2, tokens: 75 }]);
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
    expect(budget.stop().reason).toMatch(/^memorySearch\.budget\.tokensPerDay cannot be kept.*nothing is sent/);
    expect(budget.stop().reason).toMatch(why);
  }

  test("where a file stands in place of the folder", () => {
    expectNothing(folder({ embeddings: "a file" }), /cannot be written: (?:ENOTDIR|EEXIST)/);
  });

  test("where a folder stands in place of the file", () => {
    const stateDir = folder();
    mkdirSync(path.join(usageFolder(stateDir), `${day}.jsonl`), { recursive: true });
    expectNothing(stateDir, /cannot be written: EISDIR/);
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
