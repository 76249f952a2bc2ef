import { describe, expect, test } from "vitest";
import { type Child, startChild } from "../test/support/child.ts";
import { open, sha256, spaceOf, tempPath } from "./ledger/test/ledgers.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";

const space = spaceOf("m");
const texts = ["the same in all", ...Array.from({ length: 60 }, (_, number) => `text ${number}`)];

function worker(path: string, store: string): Child {
  return startChild(new URL("./ledger/test/ledger-process.ts", import.meta.url), [path, store]);
}

test("of two processes that write and two that pay, all is written once and nothing stays unpaid", async () => {
  const path = tempPath();
  const [first, second, payer, other] = ["one", "one", "one", "one"].map((store) => worker(path, store));
  if (!first || !second || !payer || !other) return expect.fail("there are four");
  const writing = Promise.all([first.ask("write 0 30"), second.ask("write 30 60")]);
  const paid: string[] = [];
  const state = { isWritten: false };
  void writing.finally(() => (state.isWritten = true));
  while (!state.isWritten) paid.push(...(await Promise.all([payer.ask("pay"), other.ask("pay")])));
  await writing;
  paid.push(await payer.ask("pay"));
  const hashes = new Set(paid.flatMap((line) => line.split(" ")).filter((hash) => hash !== ""));
  expect([...hashes].toSorted()).toEqual(texts.map(sha256).toSorted());
  const ledger = await open(path);
  expect(await ledger.unacknowledgedVectors(9)).toBeUndefined();
  expect(await ledger.listFiles()).toHaveLength(60);
  expect(await ledger.spaceStats(space)).toEqual({ embedded: 120, pending: 0, quarantined: 0 });
  await Promise.all([first, second, payer, other].map((child) => child.end()));
});

describe("the state of a provider", () => {
  const stateProcess = new URL("./embedding/requests/test/state-process.ts", import.meta.url);

  test("is known to every process at once, and to the next one when all have ended", async () => {
    const stateDir = folder();
    const [first, second] = [0, 1].map(() => startChild(stateProcess, [stateDir]));
    if (!first || !second) throw new Error("no processes");
    expect(await second.ask("enter")).toBe("true");

    await first.ask("fail rate");
    expect(JSON.parse(await second.ask("state"))).toMatchObject({ kind: "rate", reason: "it was rate", failures: 1 });
    expect(await second.ask("enter")).toBe("false");
    expect(await second.ask("enter asked")).toBe("false");

    // A minute later one process has the probe.
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
    expect(JSON.parse(await third.ask("state"))).toMatchObject({ kind: "quota", failures: 1 });
  });

  test("admits one of several processes that want the probe at the same time", async () => {
    const stateDir = folder();
    const children = [0, 1, 2].map(() => startChild(stateProcess, [stateDir]));
    await Promise.all(children.map((child) => child.ask("state")));
    await children[0]?.ask("fail auth");
    for (let round = 1; round <= 20; round++) {
      await Promise.all(children.map((child) => child.ask(`clock ${7 * 60 * 60_000 * round}`)));
      const entered = await Promise.all(children.map((child) => child.ask("enter")));
      expect(entered.toSorted()).toEqual(["false", "false", "true"]);
      const prober = children[entered.indexOf("true")];
      expect(JSON.parse((await prober?.ask("state")) ?? "")).toMatchObject({ kind: "auth", failures: round });
      await prober?.ask("fail auth");
    }
  });
});
