import type { SyncRecord } from "@memslot/core";
import { expect, test } from "vitest";
import { createSyncHistory } from "./sync-history.ts";

function smallFacts(): {
  note: (name: string, value: string | undefined) => Promise<void>;
  noted: () => Promise<string | undefined>;
  value: () => string | undefined;
  fail: boolean;
} {
  let kept: string | undefined;
  const facts = {
    fail: false,
    note: async (_name: string, value: string | undefined) => {
      if (facts.fail) throw new Error("the disk is full");
      kept = value;
    },
    noted: async () => kept,
    value: () => kept,
  };
  return facts;
}

function record(minute: number): SyncRecord {
  return {
    reason: "cli",
    finishedAt: new Date(Date.UTC(2026, 2, 5, 9, minute)).toISOString(),
    durationMs: minute,
    added: 1,
  };
}

test("a history is there in the next process, the newest first", async () => {
  const facts = smallFacts();
  const first = createSyncHistory(facts);
  first.add(record(1));
  first.add(record(2));
  await first.settle();
  const second = createSyncHistory(facts);
  second.add(record(3));
  expect((await second.list()).map(({ durationMs }) => durationMs)).toEqual([3, 2, 1]);
});

test("a hundred are kept, the latest", async () => {
  const facts = smallFacts();
  const history = createSyncHistory(facts);
  for (let minute = 0; minute < 130; minute++) history.add(record(minute));
  const listed = await createSyncHistory(facts).list();
  await history.settle();
  const kept = await createSyncHistory(facts).list();
  expect(listed.length).toBeLessThanOrEqual(100);
  expect([kept.length, kept[0]?.durationMs, kept.at(-1)?.durationMs]).toEqual([100, 129, 30]);
});

test("what cannot be kept is known to this process, and kept with the next one that can", async () => {
  const facts = smallFacts();
  const history = createSyncHistory(facts);
  facts.fail = true;
  history.add(record(1));
  expect(await history.list()).toEqual([record(1)]);
  expect(facts.value()).toBeUndefined();
  facts.fail = false;
  history.add(record(2));
  await history.settle();
  expect(await createSyncHistory(facts).list()).toEqual([record(2), record(1)]);
  expect(await history.list()).toEqual([record(2), record(1)]);
});

test("what is damaged is left out, and without a place for facts this process has its own", async () => {
  const facts = smallFacts();
  await facts.note("syncs", JSON.stringify([record(1), { reason: 5 }, "x", { ...record(2), finishedAt: "soon" }]));
  expect(await createSyncHistory(facts).list()).toEqual([record(1)]);
  await facts.note("syncs", "{");
  expect(await createSyncHistory(facts).list()).toEqual([]);
  const alone = createSyncHistory(undefined);
  alone.add(record(3));
  expect(await alone.list()).toEqual([record(3)]);
});
