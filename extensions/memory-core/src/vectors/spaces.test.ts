import { expect, test } from "vitest";
import {
  edit,
  embedAll,
  fileOf,
  near,
  open,
  pendingTexts,
  sha256,
  spaceOf,
  tempPath,
  vectorOf,
} from "../test/stores.ts";

const first = spaceOf("first", 16);
const second = spaceOf("second", 16);

function texts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `text ${index}`);
}

/** The space that is laid out for fast search, by its model. */
function laidOut(path: string): unknown {
  const question = "SELECT model FROM spaces WHERE id = (SELECT value FROM meta WHERE key = 'vector_space:1')";
  return edit(path, (db) => db.prepare(question).pluck().get());
}

test("two processes that use different spaces never meet each other's vectors", async () => {
  const path = await tempPath();
  const one = await open(path);
  await one.replaceFiles([fileOf("a.md", texts(400))]);
  await one.useSpace(first);
  await embedAll(one, first);
  const two = await open(path);
  await two.useSpace(second);
  expect(await near(two, second, "text 1", 5)).toEqual([]);
  const pending = await two.pendingVectors(second, 1000);
  // There, each text has the vector that the one after it has here.
  await two.putVectors(
    second,
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(`text ${(Number(text.slice(5)) + 1) % 400}`, 16) })),
  );
  for (let round = 0; round < 3; round++) {
    for (const wanted of [7, 77, 277]) {
      for (const store of [one, two]) {
        expect(await near(store, first, `text ${wanted}`, 1)).toEqual([`text ${wanted}`]);
        expect(await near(store, second, `text ${wanted}`, 1)).toEqual([`text ${wanted - 1}`]);
      }
    }
    await (round === 0 ? one : two).replaceFiles([fileOf(`${round}.md`, [`extra ${round}`])]);
  }
  expect(laidOut(path)).toBe("second");
  await one.useSpace(first);
  expect(laidOut(path)).toBe("first");
});

test("filling one space leaves the codes of the other one as they are, whatever compares vectors", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", texts(50))]);
  await store.useSpace(first);
  await embedAll(store, first);
  for (const vector of [{ enabled: true }, { enabled: false }]) {
    const filling = await open(path, { vector });
    await filling.putVectors(second, [{ hash: sha256("text 1"), vector: vectorOf("text 2", 16) }]);
    await filling.quarantine(second, [{ hash: sha256("text 3"), reason: "no" }]);
    await filling.close();
    expect(laidOut(path)).toBe("first");
  }
  await embedAll(store, second);
  expect(laidOut(path)).toBe("first");
  expect(await near(store, second, "text 2", 1)).not.toEqual(await near(store, first, "text 3", 1));
  await store.useSpace(second);
  expect(laidOut(path)).toBe("second");
  expect(await near(store, first, "text 9", 1)).toEqual(["text 9"]);
});

test("a space is used again after another one without a vector being asked for, chunks that came meanwhile too", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", texts(20)), fileOf("b.md", ["moving"])]);
  await store.useSpace(first);
  await embedAll(store, first);
  await store.useSpace(second);
  await embedAll(store, second);
  await store.removeFiles([{ path: "b.md", source: "memory" }]);
  await store.replaceFiles([fileOf("c.jsonl", ["moving"], "sessions")]);
  await store.close();
  const again = await open(path);
  await again.useSpace(first);
  expect(await pendingTexts(again, first)).toEqual([]);
  expect(await near(again, first, "moving", 1)).toEqual(["moving"]);
  expect(await near(again, first, "moving", 50)).toHaveLength(21);
  expect(laidOut(path)).toBe("first");
});

test("spaces of another provider, key or length under the same name are other spaces", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  const others = [first, { ...first, provider: "other" }, { ...first, providerKey: "k" }, { ...first, dimensions: 5 }];
  for (const round of [1, 2]) {
    for (const space of others) {
      await store.useSpace(space);
      expect(await embedAll(store, space)).toBe(round === 1 ? 2 : 0);
      expect(await near(store, space, "two", 1)).toEqual(["two"]);
    }
  }
  expect((await store.stats()).cachedVectors).toBe(8);
  expect((await store.spaces()).map(({ space }) => space)).toEqual(others.toReversed());
});

test("the space that was written to last is listed first, also when the clock was set back since", async () => {
  const path = await tempPath();
  for (const [index, space] of [first, second, first].entries()) {
    const store = await open(path);
    await store.putVectors(space, [{ hash: sha256(`text ${index}`), vector: vectorOf("x", 16) }]);
    expect((await store.spaces())[0]?.space).toEqual(space);
    await store.close();
    edit(path, (db) => db.exec("UPDATE spaces SET written_at = written_at + 1000000000"));
  }
});

test("quarantine is kept in the file, with every place and reason, until a text goes or gets its vector", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["two", "three"])]);
  await store.quarantine(first, [
    { hash: sha256("two"), reason: "too long: 9,000 tokens" },
    { hash: sha256("three"), reason: "empty" },
  ]);
  await store.close();
  const again = await open(path, { vector: { enabled: false } });
  expect(
    (await again.quarantined(first, 9)).map(({ path: file, startLine, reason }) => [file, startLine, reason]),
  ).toEqual([
    ["a.md", 2, "too long: 9,000 tokens"],
    ["b.md", 1, "too long: 9,000 tokens"],
    ["b.md", 2, "empty"],
  ]);
  expect(await again.spaceStats(first)).toEqual({ embedded: 0, pending: 1, quarantined: 3 });
  await again.putVectors(first, [{ hash: sha256("three"), vector: vectorOf("three", 16) }]);
  await again.replaceFiles([fileOf("a.md", ["one", "two, but shorter"])]);
  expect(await again.quarantined(first, 9)).toHaveLength(1);
  await again.removeFiles([{ path: "b.md", source: "memory" }]);
  expect(edit(path, (db) => db.prepare("SELECT count(*) FROM quarantine").pluck().get())).toBe(0);
});
