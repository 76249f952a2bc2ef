import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { edit, fileOf, find, open, openWith, sha256, tempPath, words } from "../test/stores.ts";

/** Words that a tokenizer might cut or fold, and pieces that might mean something to a query language. */
const odd = JSON.parse(readFileSync(new URL("../test/odd-words.json", import.meta.url), "utf8")) as {
  words: string[];
  pieces: string[];
};

test("every word survives whole: the index knows it, and nothing but it, and finds its chunk by it", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([
    fileOf(
      "a.md",
      odd.words.map((word) => `before ${word} after`),
    ),
  ]);
  for (const word of odd.words) expect(await find(store, word), word).toEqual([`before ${word} after`]);
  const known = edit(path, (db) => {
    db.exec("CREATE VIRTUAL TABLE temp.known USING fts5vocab(main, chunks_fts_1, 'row')");
    return db.prepare<[], string>("SELECT term FROM known").pluck().all();
  });
  expect(known.toSorted()).toEqual([...odd.words, "before", "after"].toSorted());
});

test("capital letters from A to Z are the same as small ones, in the index and in the query", async () => {
  const { store } = await openWith([fileOf("a.md", ["QX-7919", "Äpfel"])]);
  for (const word of ["QX-7919", "qx-7919", "Qx-7919"]) expect(await find(store, word)).toEqual(["QX-7919"]);
  expect([await find(store, "ÄPFEL"), await find(store, "äpfel")]).toEqual([["Äpfel"], []]);
});

test("random strings as words of a chunk are kept, and found wherever they hold no space", async () => {
  const store = await open(await tempPath());
  const strings = [...new Set(randomStrings(2000))].filter(
    (text) => text !== "" && !/[\s\p{Control}]|\p{Surrogate}|[A-Z]/u.test(text),
  );
  expect(strings.length).toBeGreaterThan(150);
  await store.replaceFiles([fileOf("a.md", strings)]);
  for (const text of strings) expect(await find(store, text), JSON.stringify(text)).toEqual([text]);
});

test("equal scores come in the order of their ids, every time", async () => {
  const { store } = await openWith(
    Array.from({ length: 30 }, (_, index) => fileOf(`${index}.md`, ["same words here"])),
  );
  const { rows } = await store.searchKeyword({ terms: words("same"), sources: ["memory"], limit: 12 });
  const ids = rows.map((row) => Number(row.id));
  expect(ids).toEqual(ids.toSorted((left, right) => left - right));
  expect(new Set(rows.map((row) => row.score)).size).toBe(1);
  expect(ids).toHaveLength(12);
});

test("a file that is removed or replaced is gone from every table", async () => {
  const path = await tempPath();
  const store = await open(path);
  const secret = "hunter2-the-secret";
  await store.replaceFiles([
    fileOf("a.md", [`keep ${secret}`, `refused ${secret}`]),
    fileOf("b.md", [`other ${secret}`]),
  ]);
  const space = { provider: "fake", model: "m", providerKey: "", dimensions: 4 };
  await store.useSpace(space);
  await store.quarantine(space, [{ hash: sha256(`refused ${secret}`), reason: "no" }]);
  await store.putVectors(space, [
    { hash: sha256(`keep ${secret}`), vector: new Float32Array([1, 0, 0, 0]) },
    { hash: sha256(`other ${secret}`), vector: new Float32Array([0, 1, 0, 0]) },
  ]);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  await store.replaceFiles([fileOf("b.md", ["harmless"])]);
  await store.close();
  edit(path, (db) => {
    db.exec("CREATE VIRTUAL TABLE temp.known USING fts5vocab(main, chunks_fts_1, 'row')");
    expect(db.prepare("SELECT term FROM known").pluck().all()).toEqual(["harmless"]);
    expect(db.prepare("SELECT text FROM chunks").pluck().all()).toEqual(["harmless"]);
    expect(db.prepare("SELECT path FROM files").pluck().all()).toEqual(["b.md"]);
    expect(db.prepare("SELECT count(*) FROM chunks_fts_1_docsize").pluck().get()).toBe(1);
    expect(db.prepare("SELECT count(*) FROM chunks_codes_1_places").pluck().get()).toBe(0);
    expect(db.prepare("SELECT count(*) FROM embedding_cache").pluck().get()).toBe(2);
    expect(db.prepare("SELECT count(*) FROM vectors").pluck().get()).toBe(2);
    expect(db.prepare("SELECT count(*) FROM quarantine").pluck().get()).toBe(0);
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  });
});

/** The same strings each time: operators, quotes, control characters, broken surrogates, many scripts. */
function randomStrings(count: number): string[] {
  let state = 42;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: next(12) }, () => odd.pieces[next(odd.pieces.length)] ?? "").join(""),
  );
}
