import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openUsage, readUsage } from "./usage.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";
import { startChild } from "../../../test/support/child.ts";

const stateProcess = new URL("./test/state-process.ts", import.meta.url);

test("processes that count at the same time lose nothing, and each knows the sum", async () => {
  const stateDir = folder();
  const children = ["main", "main", "main", "other"].map((agentId) => startChild(stateProcess, [stateDir, agentId]));
  await Promise.all(children.map((child) => child.ask("tokens")));
  await Promise.all(children.map((child) => child.ask("spend 500")));
  const usageDir = path.join(stateDir, "embeddings", "usage");
  const [name = ""] = readdirSync(usageDir);
  const lines = readFileSync(path.join(usageDir, name), "utf8").trimEnd().split("\n");
  expect(lines.filter((line) => line !== "")).toHaveLength(2000);
  expect(await Promise.all(children.map((child) => child.ask("tokens")))).toEqual(["10500", "10500", "10500", "3500"]);
  expect(openUsage({ stateDir, agentId: "main" }).tokensToday()).toBe(10_500);
  expect(await readUsage(stateDir, { agentId: "main" })).toMatchObject([{ requests: 1500, tokens: 10_500 }]);
  await Promise.all(children.map((child) => child.end()));
});

test("what one process has learnt of a provider the others know at once", async () => {
  const stateDir = folder();
  const [first, second] = [0, 1].map(() => startChild(stateProcess, [stateDir]));
  if (!first || !second) throw new Error("no processes");
  expect(await second.ask("enter")).toBe("true");

  await first.ask("fail rate");
  expect(JSON.parse(await second.ask("state"))).toMatchObject({ kind: "rate", reason: "it was rate", failures: 1 });
  expect(await second.ask("enter")).toBe("false");
  expect(await second.ask("enter asked")).toBe("false");

  // A minute later the probe is one process's.
  for (const child of [first, second]) await child.ask("clock 60000");
  expect(await second.ask("enter")).toBe("true");
  expect(await first.ask("enter")).toBe("false");
  await second.ask("succeed");
  expect(await first.ask("state")).toBe("null");
  expect(await first.ask("enter")).toBe("true");

  await second.ask("fail quota");
  expect(await first.ask("enter")).toBe("false");
  expect(await first.ask("enter asked")).toBe("true");
  await Promise.all([first.end(), second.end()]);
  const third = startChild(stateProcess, [stateDir]);
  expect(JSON.parse(await third.ask("state")), "when all have ended").toMatchObject({ kind: "quota", failures: 1 });
});

test("a probe that several processes want at the same time leaves a whole file, and one gets it at least", async () => {
  const stateDir = folder();
  const children = [0, 1, 2].map(() => startChild(stateProcess, [stateDir]));
  const [first] = children;
  await first?.ask("fail auth");
  for (let round = 1; round <= 20; round++) {
    const dueMs = 7 * 60 * 60_000 * round;
    await Promise.all(children.map((child) => child.ask(`clock ${dueMs}`)));
    const entered = await Promise.all(children.map((child) => child.ask("enter")));
    expect(entered).toContain("true");
    expect(JSON.parse((await first?.ask("state")) ?? "")).toMatchObject({ kind: "auth", failures: round });
    await first?.ask("fail auth");
  }
  expect(readdirSync(path.join(stateDir, "embeddings", "circuits"))).toHaveLength(1);
});
