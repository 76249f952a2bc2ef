import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import Database from "better-sqlite3";
import { afterEach, describe, expect, test } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import { SharedState } from "./shared-state.ts";
import { startClock, stopClock } from "./test/scripted-provider.ts";
import { readUsage } from "./read-usage.ts";
import { OverBudget, Usage } from "./usage.ts";

const search = { reason: "search", provider: "p", model: "m", requests: 1 };
const request = { ...search, reason: "cli", requests: 0 };

afterEach(startClock);

function usageIn(stateDir: string, agentId = "main"): Usage {
  return new Usage(new SharedState(stateDir), agentId);
}

function budgetIn(stateDir: string, tokensPerDay: number, agentId = "main"): Usage {
  return new Usage(new SharedState(stateDir), agentId, tokensPerDay);
}

function fileIn(stateDir: string): string {
  return new SharedState(stateDir).file;
}

test("tokens of a day are those of one agent, over all reasons, providers and processes", () => {
  const stateDir = tempFolder();
  const [here, there, other] = [usageIn(stateDir), usageIn(stateDir), usageIn(stateDir, "other")];
  expect([here.tokensToday(), existsSync(fileIn(stateDir))]).toEqual([0, false]);
  here.add({ ...search, tokens: 10 });
  there.add({ ...search, reason: "watch", provider: "q", tokens: 5 });
  other.add({ ...search, tokens: 1000 });
  expect([here, there, other, usageIn(stateDir)].map((usage) => usage.tokensToday())).toEqual([15, 15, 1000, 15]);
});

test("a day ends at midnight, local time, and a clock that is set back does not begin it again", () => {
  const stateDir = tempFolder();
  const usage = usageIn(stateDir);
  stopClock("2026-03-05T23:59:59");
  usage.add({ ...search, tokens: 15 });
  stopClock("2026-03-06T00:00:00");
  expect(usage.tokensToday()).toBe(0);
  usage.add({ ...search, tokens: 4 });
  stopClock("2026-03-05T23:59:59");
  expect(usage.tokensToday()).toBe(4);
  expect(() => budgetIn(stateDir, 100).reserve({ ...request, tokens: 97 })).toThrow(OverBudget);
  budgetIn(stateDir, 100).reserve({ ...request, tokens: 96 });
  stopClock("2026-03-06T12:00:00");
  expect(budgetIn(stateDir, 100).left()).toBe(0);
});

test("usage is summed by day, agent, reason, provider and model, the oldest day first, for 92 days", async () => {
  const stateDir = tempFolder();
  const [main, other] = [usageIn(stateDir), usageIn(stateDir, "other")];
  expect(await readUsage(stateDir)).toEqual([]);
  stopClock("2025-12-03T12:00:00");
  main.add({ ...search, tokens: 1 });
  stopClock("2026-03-05T12:00:00");
  main.add({ ...search, tokens: 10 });
  main.add({ ...search, reason: "cli", tokens: 400, requests: 3 });
  main.add({ ...search, reason: "cli", tokens: 100, requests: 2 });
  main.add({ ...search, tokens: 0 });
  main.add({ ...search, model: "m2", tokens: 4 });
  other.add({ ...search, tokens: 7 });
  const entry = { day: "2026-03-05", agentId: "main", provider: "p", model: "m" };
  const all = [
    { ...entry, day: "2025-12-03", reason: "search", requests: 1, tokens: 1 },
    { ...entry, reason: "cli", requests: 5, tokens: 500 },
    { ...entry, reason: "search", requests: 2, tokens: 10 },
    { ...entry, model: "m2", reason: "search", requests: 1, tokens: 4 },
    { ...entry, agentId: "other", reason: "search", requests: 1, tokens: 7 },
  ];
  expect(await readUsage(stateDir, { days: 93 })).toEqual(all);
  expect(await readUsage(stateDir, { agentId: "other" })).toEqual(all.slice(4));
  expect(await readUsage(stateDir, { days: 1 })).toEqual(all.slice(1));
  stopClock("2026-03-06T00:00:01");
  expect(await readUsage(stateDir, { days: 1 })).toEqual([]);
  main.add({ ...search, tokens: 1 });
  expect((await readUsage(stateDir, { days: 200 }))[0]?.day).toBe("2026-03-05");
});

describe("the budget of a day", () => {
  test("is spent once, however many processes spend it", () => {
    const stateDir = tempFolder();
    const budgets = Array.from({ length: 8 }, () => budgetIn(stateDir, 1000));
    let sum = 0;
    for (let round = 0; round < 40; round++) {
      for (const [index, budget] of budgets.entries()) {
        const tokens = 7 + ((round * 13 + index * 5) % 40);
        try {
          budget.reserve({ ...request, tokens });
          sum += tokens;
        } catch (error) {
          expect(error).toBeInstanceOf(OverBudget);
          expect(String(error)).toContain("the token budget of today is spent");
        }
      }
    }
    expect(sum).toBeLessThanOrEqual(1000);
    expect(sum).toBeGreaterThan(1000 - 7);
    expect(usageIn(stateDir).tokensToday()).toBe(sum);
    expect(() => budgetIn(stateDir, 1000, "other").reserve({ ...request, tokens: 1000 })).not.toThrow();
  });

  test("counts what a request has cost in the end, and what was reserved until then", async () => {
    const stateDir = tempFolder();
    const [budget, usage] = [budgetIn(stateDir, 100), usageIn(stateDir)];
    const day = budget.reserve({ ...request, tokens: 60 });
    expect(budget.left()).toBe(40);
    usage.add({ ...request, requests: 1, tokens: 25 - 60 }, day);
    expect([budget.left(), budgetIn(stateDir, 100).left()]).toEqual([75, 75]);
    expect(() => budget.reserve({ ...request, tokens: 76 })).toThrow(OverBudget);
    expect(await readUsage(stateDir)).toMatchObject([{ requests: 1, tokens: 25 }]);
  });

  test("is settled on the day that it was reserved on", async () => {
    const stateDir = tempFolder();
    stopClock("2026-03-05T23:59:59");
    const day = budgetIn(stateDir, 100).reserve({ ...request, tokens: 60 });
    stopClock("2026-03-06T00:00:01");
    usageIn(stateDir).add({ ...request, requests: 1, tokens: -20 }, day);
    expect(await readUsage(stateDir)).toMatchObject([{ day: "2026-03-05", requests: 1, tokens: 40 }]);
    expect(budgetIn(stateDir, 100).left()).toBe(100);
  });
});

describe("a count that cannot be kept", () => {
  test.each<[string, (stateDir: string) => void, RegExp]>([
    ["as its folder is a file", (dir) => writeFileSync(`${dir}/embeddings`, ""), /cannot be used: (?:ENOTDIR|EEXIST)/],
    [
      "as the file cannot be written",
      (dir) => (writeFiles(dir, { "embeddings/a": "" }), symlinkSync("/dev/full", fileIn(dir))),
      /state\.sqlite cannot be used: ./,
    ],
    [
      "as the file is damaged",
      (dir) => writeFiles(dir, { "embeddings/state.sqlite": "no count" }),
      /is damaged; a new one replaces it tomorrow/,
    ],
    [
      "as a page of the file is damaged",
      (dir) => {
        budgetIn(dir, 1000).reserve({ ...request, tokens: 900 });
        const db = new Database(fileIn(dir));
        db.pragma("wal_checkpoint(TRUNCATE)");
        db.close();
        const bytes = readFileSync(fileIn(dir));
        writeFileSync(fileIn(dir), bytes.fill(0xa5, 4096 * 2));
      },
      /is damaged; a new one replaces it tomorrow/,
    ],
  ])("%s, grants nothing and counts for this process", (_, spoil, why) => {
    const stateDir = tempFolder();
    spoil(stateDir);
    const budget = budgetIn(stateDir, 1000);
    expect(() => budget.reserve({ ...request, tokens: 1 })).toThrow(OverBudget);
    expect(budget.left()).toBe(0);
    expect(budget.reason().reason).toMatch(
      /^memorySearch\.budget\.tokensPerDay cannot be enforced, so nothing is sent/,
    );
    expect(budget.reason().reason).toMatch(why);
    budget.add({ ...search, tokens: 30 });
    expect(budget.tokensToday()).toBeGreaterThanOrEqual(30);
  });

  test("is counted again as soon as the damaged file is deleted", () => {
    const stateDir = tempFolder({ "embeddings/state.sqlite": "no count" });
    const budget = budgetIn(stateDir, 1000);
    expect(budget.left()).toBe(0);
    rmSync(fileIn(stateDir));
    expect(budget.left()).toBe(1000);
    budget.reserve({ ...request, tokens: 400 });
    expect(budgetIn(stateDir, 1000).left()).toBe(600);
  });

  test("grants nothing as soon as the open file turns out to be damaged", () => {
    const stateDir = tempFolder();
    const budget = budgetIn(stateDir, 1000);
    budget.reserve({ ...request, tokens: 900 });
    const db = new Database(fileIn(stateDir));
    db.exec("DROP TABLE usage");
    db.close();
    expect(budget.left()).toBe(0);
  });

  test("is counted again when the disk has space again", () => {
    const stateDir = tempFolder();
    stopClock("2026-03-05T12:00:00");
    const state = new SharedState(stateDir);
    const budget = new Usage(state, "main", 1000);
    budget.reserve({ ...request, tokens: 400 });
    const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
    expect(
      state.store(() => {
        throw full;
      }),
    ).toBe(undefined);
    expect(budget.left()).toBe(0);
    stopClock("2026-03-05T12:01:00");
    expect(budget.left()).toBe(600);
  });

  test.each(["state.sqlite", "state.sqlite-wal"])(
    "restarts on the day after the last write of a damaged %s",
    (name) => {
      const stateDir = tempFolder({ "embeddings/state.sqlite": "no count", "embeddings/state.sqlite-wal": "" });
      const budget = budgetIn(stateDir, 1000);
      const [day, before] = [new Date("2026-03-05T12:00:00"), new Date("2026-03-04T12:00:00")];
      for (const each of ["state.sqlite", "state.sqlite-wal"])
        utimesSync(`${stateDir}/embeddings/${each}`, day, each === name ? day : before);
      stopClock("2026-03-05T23:58:00");
      expect([budget.left(), budgetIn(stateDir, 1000).left()]).toEqual([0, 0]);
      stopClock("2026-03-06T00:00:01");
      expect(budget.left()).toBe(1000);
      budget.reserve({ ...request, tokens: 400 });
      expect(budgetIn(stateDir, 1000).left()).toBe(600);
      const kept = readdirSync(`${stateDir}/embeddings`).filter((each) => /^state\.sqlite\.corrupt-\d+$/.test(each));
      expect(kept.map((each) => readFileSync(`${stateDir}/embeddings/${each}`, "utf8"))).toEqual(["no count"]);
    },
  );

  test("of a file that another process has put in place is followed", () => {
    const [stateDir, other] = [tempFolder(), tempFolder()];
    const usage = usageIn(stateDir);
    usage.add({ ...search, tokens: 10 });
    usageIn(other).add({ ...search, tokens: 7 });
    for (const suffix of ["", "-wal", "-shm"]) rmSync(fileIn(stateDir) + suffix, { force: true });
    usageIn(stateDir).add({ ...search, tokens: 3 });
    usage.add({ ...search, tokens: 1 });
    expect(usage.tokensToday()).toBe(4);
  });
});

test("processes that count at the same time lose nothing, also when one is killed, and each knows the sum", async () => {
  const stateDir = tempFolder();
  const stateProcess = new URL("./test/state-process.ts", import.meta.url);
  const children = ["main", "main", "other", "main"].map((agentId) => startChild(stateProcess, [stateDir, agentId]));
  const [first, second, other, killed] = children as [(typeof children)[0], ...typeof children];
  await Promise.all(children.map((child) => child.ask("tokens")));
  await killed?.ask("spend 1");
  const endless = killed?.ask("spend 1000000").catch(() => undefined);
  await Promise.all([first, second, other].map((child) => child?.ask("spend 10")));
  await killed?.kill();
  await endless;
  await Promise.all([first, second, other].map((child) => child?.ask("spend 290")));
  const { requests = 0, tokens } = (await readUsage(stateDir, { agentId: "main" }))[0] ?? {};
  expect(requests).toBeGreaterThan(600);
  expect(tokens).toBe(7 * requests);
  expect(await Promise.all([first, second, other].map((child) => child?.ask("tokens")))).toEqual([
    String(tokens),
    String(tokens),
    "2100",
  ]);
  await Promise.all([first, second, other].map((child) => child?.end()));
});
