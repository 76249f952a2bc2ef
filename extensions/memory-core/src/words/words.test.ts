import { readFileSync } from "node:fs";
import type { NoteIndex } from "@memslot/indexing";
import { expect, test } from "vitest";
import { edit, fileOf, find, open, sha256, tempPath, words } from "../test/stores.ts";

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
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["QX-7919", "Äpfel"])]);
  for (const word of ["QX-7919", "qx-7919", "Qx-7919"]) expect(await find(store, word)).toEqual(["QX-7919"]);
  expect([await find(store, "ÄPFEL"), await find(store, "äpfel")]).toEqual([["Äpfel"], []]);
});

test("a thousand random strings, full of operators and broken characters, raise nothing and find nothing", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["plain words only", "and a second one"])]);
  const strings = randomStrings(1000);
  let asked = 0;
  await Promise.all(
    Array.from({ length: 10 }, async (_, lane) => {
      for (let index = lane; index < strings.length; index += 10) {
        const term = strings[index] ?? "";
        const { rows, documentFrequencies } = await store.searchKeyword({
          terms: [
            { term, prefix: index % 2 === 0 },
            { term: `zz${term}`, prefix: index % 3 === 0 },
          ],
          sources: index % 5 === 0 ? [term] : ["memory"],
          limit: 5,
        });
        asked++;
        if (documentFrequencies.every((count) => count === 0)) expect(rows, JSON.stringify(term)).toEqual([]);
      }
    }),
  );
  expect(asked).toBe(strings.length);
  expect(await find(store, "plain")).toEqual(["plain words only"]);
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

test("a query of thousands of words is answered", async () => {
  const store = await open(await tempPath());
  const many = Array.from({ length: 5000 }, (_, index) => `word${index}`);
  await store.replaceFiles([fileOf("a.md", [many.join(" "), "something else"])]);
  const answer = await store.searchKeyword({ terms: words(...many, ...many, "absent"), sources: ["memory"], limit: 5 });
  expect(answer.rows.map(({ startLine }) => startLine)).toEqual([1]);
  expect(answer.documentFrequencies).toEqual([...many, ...many].map(() => 1).concat(0));
});

test("scores after many changes are those of an index made at once", async () => {
  const final = Array.from({ length: 40 }, (_, index) =>
    fileOf(`${index}.md`, [`apple ${"pear ".repeat(index % 7)}plum${index % 3} ${index}`]),
  );
  const changed = await open(await tempPath());
  await changed.replaceFiles(
    Array.from({ length: 60 }, (_, index) => fileOf(`${index}.md`, [`pear pear old ${"filler ".repeat(index)}`])),
  );
  for (const file of final) await changed.replaceFiles([file]);
  await changed.removeFiles(Array.from({ length: 20 }, (_, index) => ({ path: `${index + 40}.md`, source: "memory" })));
  const fresh = await open(await tempPath());
  await fresh.replaceFiles(final);
  const ask = async (store: NoteIndex): Promise<[string, number][]> => {
    const { rows } = await store.searchKeyword({ terms: words("pear", "plum1"), sources: ["memory"], limit: 100 });
    return rows.map((row): [string, number] => [row.path, Math.round(row.score * 1e9)]).toSorted();
  };
  const expected = await ask(fresh);
  expect(expected.length).toBeGreaterThan(30);
  expect(await ask(changed)).toEqual(expected);
});

test("equal scores come in the order of their ids, every time", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles(Array.from({ length: 30 }, (_, index) => fileOf(`${index}.md`, ["same words here"])));
  const { rows } = await store.searchKeyword({ terms: words("same"), sources: ["memory"], limit: 12 });
  const ids = rows.map((row) => Number(row.id));
  expect(ids).toEqual(ids.toSorted((left, right) => left - right));
  expect(new Set(rows.map((row) => row.score)).size).toBe(1);
  expect(ids).toHaveLength(12);
});

test("chunks with a beginning of words are counted once, however many words of it they contain", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["pear peach", "peach", "plum", "pea pear peach"])]);
  const terms = ["pea", "pl", "x"].map((term) => ({ term, prefix: true }));
  const { documentFrequencies } = await store.searchKeyword({ terms, sources: ["memory"], limit: 9 });
  expect(documentFrequencies).toEqual([3, 1, 0]);
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
