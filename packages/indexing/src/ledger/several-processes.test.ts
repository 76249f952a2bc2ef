import { expect, test } from "vitest";
import { type Child, startChild } from "../../test/support/child.ts";
import { edit, findingsOf, open, openHere, sha256, spaceOf, tempPath } from "./test/ledgers.ts";

const space = spaceOf("m");
const texts = ["the same in all", ...Array.from({ length: 60 }, (_, number) => `text ${number}`)];

function worker(path: string, store: string): Child {
  return startChild(new URL("./test/work-on-ledger.ts", import.meta.url), [path, store]);
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
  expect(await ledger.owedVectors(9)).toBeUndefined();
  expect(await ledger.listFiles()).toHaveLength(60);
  expect(await ledger.spaceStats(space)).toEqual({ embedded: 120, pending: 0, quarantined: 0 });
  await Promise.all([first, second, payer, other].map((child) => child.end()));
});

test("two stores of two processes share what either embeds, and each is owed its own", async () => {
  const path = tempPath();
  const [one, two] = [worker(path, "one"), worker(path, "two")];
  await Promise.all([one.ask("write 0 20"), two.ask("write 10 30")]);
  const owed = await Promise.all([one.ask("pay"), two.ask("pay")]);
  expect(owed.map((line) => line.split(" ").toSorted())).toEqual([
    [texts[0] ?? "", ...texts.slice(1, 21)].map(sha256).toSorted(),
    [texts[0] ?? "", ...texts.slice(11, 31)].map(sha256).toSorted(),
  ]);
  await Promise.all([one.end(), two.end()]);
  const ledger = await open(path);
  expect((await ledger.stats()).cachedVectors).toBe(31);
});

test("what a store that nobody opens any more has is in nobody's way, and there when it comes back", async () => {
  const path = tempPath();
  const left = worker(path, "left");
  await left.ask("write 0 20");
  await left.kill();
  const store = openHere(path, { store: "stays", cacheMaxEntries: 0 });
  expect(store.health().notices).toEqual([]);
  expect(store.owedVectors(99)).toBeUndefined();
  expect((await findingsOf(store.repair())).filter(({ ok, fixed }) => !ok || fixed !== undefined)).toEqual([]);
  await findingsOf(store.compact());
  store.useSpace(space);
  store.putVectors(space, [{ hash: sha256("nobody's"), vector: new Float32Array(8).fill(Math.sqrt(1 / 8)) }]);
  while (await store.tidy());
  expect(store.stats().cachedVectors, "vectors of its chunks are kept").toBe(21);
  store.close();
  expect(edit(path, (db) => db.prepare("SELECT count(*) FROM owed_vectors").pluck().get())).toBe(21);
  const again = openHere(path, { store: "left" });
  expect(again.listFiles()).toHaveLength(20);
  expect(again.owedVectors(99)?.entries).toHaveLength(21);
  again.close();
});
