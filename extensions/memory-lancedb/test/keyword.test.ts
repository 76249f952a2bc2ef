import { type NoteIndex, type ChunkStore, type FileChunks, indexTerms, queryTerms } from "@memslot/indexing";
import { openSqliteStore } from "@memslot/memory-core";
import { connect } from "@lancedb/lancedb";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, onTestFinished, test } from "vitest";
import { ask, fileOf, find, indexFolder, open } from "./support/stores.ts";
import cases from "./data/cases.json" with { type: "json" };

const texts = cases.texts;

const questions =
  "看病 医院 搜索引擎 QX-7919 memory_search node.js parseHttpHeader c++ 東京 부산 Größe drawer INC-4711 INC4711 药 tick".split(
    " ",
  );

function noteOf(text: string, index: number): FileChunks {
  const file = fileOf(`${index}.md`, [text]);
  return { ...file, chunks: file.chunks.map((chunk) => ({ ...chunk, terms: indexTerms(text) })) };
}

/** As the index of memory-core takes it. */
function inCore(file: FileChunks): FileChunks & { mtimeMs: number; size: number } {
  return { ...file, mtimeMs: 1, size: 1 };
}

async function answers(store: Pick<ChunkStore | NoteIndex, "searchKeyword">): Promise<unknown[]> {
  return await Promise.all(
    questions.map(async (question) => {
      const terms = queryTerms(question).map((term) => ({ ...term, prefix: term.prefix || question === "tick" }));
      const { rows, chunkCount, documentFrequencies } = await store.searchKeyword({
        terms,
        sources: ["memory"],
        limit: 20,
      });
      return { question, found: rows.map(({ path }) => path).toSorted(), chunkCount, documentFrequencies };
    }),
  );
}

test("the same words are found as in memory-core, with the same counts, in the index of words and before they are in it", async () => {
  const stateDir = tempFolder();
  const core = await openSqliteStore({
    path: join(stateDir, "main.sqlite"),
    vector: { enabled: false },
    cacheMaxEntries: 0,
  });
  onTestFinished(() => core.close());
  const store = await open(stateDir);
  const notes = texts.map(noteOf);
  await core.replaceFiles(notes.map(inCore));
  await store.replaceFiles(notes);
  const expected = await answers(core);
  expect(expected.every((answer) => (answer as { found: unknown[] }).found.length > 0)).toBe(true);
  expect(await answers(store)).toEqual(expected);
  await store.compact();
  expect(await answers(store)).toEqual(expected);
  // Half in the index, half not.
  const later = noteOf("QX-7919 看病 drawer", 99);
  await core.replaceFiles([inCore(later)]);
  await store.replaceFiles([later]);
  expect(await answers(store)).toEqual(await answers(core));
});

test("in a large index every word is found and counted, also one that is in most chunks or was just written", async () => {
  const stateDir = tempFolder();
  const store = await open(stateDir);
  const many = Array.from({ length: 60 }, (_, file) =>
    fileOf(
      `${file}.md`,
      Array.from({ length: 100 }, (_chunk, part) => `common part${part} of${file} ${part % 4 < 3 ? "often" : ""}`),
    ),
  );
  await store.replaceFiles([...many, fileOf("rare.md", ["a rare word"])]);
  const both = await ask(store, "common", "rare");
  expect([both.rows.length, both.rows[0]?.path]).toEqual([6001, "rare.md"]);
  expect(both.documentFrequencies).toEqual([6000, 1]);
  expect((await ask(store, "common")).rows).toHaveLength(6000);
  expect((await ask(store, "often", "part7")).documentFrequencies).toEqual([4500, 60]);
  // A word that stood nowhere is found as soon as it is written, by its count too.
  expect((await ask(store, "newcomer")).documentFrequencies).toEqual([0]);
  await store.replaceFiles([fileOf("new.md", ["a newcomer"])]);
  const found = await ask(store, "newcomer", "common");
  expect(found.documentFrequencies[0]).toBe(1);
  expect(found.rows[0]?.path).toEqual("new.md");
});

test("a table without its index of words, left by a process that was killed, gets one with the next write", async () => {
  const stateDir = tempFolder();
  const first = await open(stateDir);
  await first.replaceFiles([fileOf("a.md", ["word a"])]);
  await first.close();
  const connection = await connect(indexFolder(stateDir));
  onTestFinished(() => connection.close());
  await (await connection.openTable("v2_files_1")).dropIndex("terms_idx");
  const store = await open(stateDir);
  await store.replaceFiles([fileOf("b.md", ["word b"])]);
  expect(await find(store, "word")).toHaveLength(2);
});
