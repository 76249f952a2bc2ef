import assert from "node:assert/strict";
import type { ChunkStore, FileChunks, KeywordAnswer, PathScope, QueryTerm } from "@memslot/indexing";
import { randomFrom } from "../helpers/random.ts";
import { type StoreCheck, bothSources, exactly, fileOf } from "./lab.ts";
import { dimensions, one, vectorOf } from "./vectors/vector-lab.ts";

const scope: PathScope = { within: ["shared/"], without: ["shared/own/"] };
const vocabulary = ["heron", "nest", "pike", "reed", "marsh", "plan", "planet", "plankton", "boat", "文字"];

async function ask(store: ChunkStore, terms: QueryTerm[], limit = 50): Promise<KeywordAnswer> {
  return await store.searchKeyword({ terms, sources: ["memory"], scope, limit });
}

/** Files of words that are drawn by lot. */
function drawnFiles(random: () => number, folder: string, count: number): FileChunks[] {
  const draw = (most: number): number => Math.floor(random() * most);
  return Array.from({ length: count }, (_, file) => {
    const texts = Array.from({ length: 1 + draw(3) }, (_each, chunk) => {
      const words = Array.from({ length: 1 + draw(9) }, () => vocabulary[draw(vocabulary.length)]);
      return `${words.join(" ")} ${folder.replaceAll("/", "")}${file}x${chunk}`;
    });
    return fileOf(`${folder}${file}.md`, texts);
  });
}

/** Gives each chunk of these files the vector of a seed of its own, the same for the same chunk. */
async function embedFiles(store: ChunkStore, files: readonly FileChunks[]): Promise<void> {
  const chunks = files.flatMap(({ chunks }) => chunks);
  const seedOf = (hash: string): number => Number.parseInt(hash.slice(0, 7), 16) ^ Number.parseInt(hash.slice(-7), 16);
  await store.putVectors(
    one,
    chunks.map(({ hash }) => ({ hash, vector: vectorOf(seedOf(hash), dimensions) })),
  );
}

/** What stands outside a scope is not to be felt within it. */
export const scopeCountChecks: readonly StoreCheck[] = [
  {
    name: "keyword: with a scope, chunks and terms are counted within it",
    async run({ store }) {
      await store.replaceFiles([
        fileOf("shared/a.md", ["planet one", "plan two", "nothing"]),
        fileOf("shared/own/b.md", ["planet planet"]),
        fileOf("memory/c.md", ["planet", "planet", "secret"]),
        fileOf("shared/a.md", ["planet said"], { source: "sessions" }),
      ]);
      const terms = [...exactly("planet", "secret", "nothing"), { term: "plan", prefix: true }];
      const answer = await ask(store, terms, 1);
      assert.deepEqual([answer.chunkCount, answer.documentFrequencies], [3, [1, 0, 1, 2]]);
      const both = await store.searchKeyword({ terms, sources: bothSources, scope, limit: 1 });
      assert.deepEqual([both.chunkCount, both.documentFrequencies], [4, [2, 0, 1, 3]]);
      const empty = await store.searchKeyword({
        terms,
        sources: bothSources,
        scope: { within: [], without: [] },
        limit: 1,
      });
      assert.deepEqual(empty, { rows: [], chunkCount: 0, documentFrequencies: [0, 0, 0, 0] });
    },
  },
  {
    name: "keyword: with a scope, rows, scores and order do not change with what stands outside it",
    async run({ store }) {
      const random = randomFrom(20);
      await store.replaceFiles(drawnFiles(random, "shared/", 12));
      const draw = (): string => vocabulary[Math.floor(random() * vocabulary.length)] ?? "heron";
      const questions = Array.from({ length: 12 }, (_, index) =>
        index % 4 === 0 ? [{ term: draw().slice(0, 3), prefix: true }] : exactly(draw(), draw(), "outsideonly"),
      );
      const askAll = async (): Promise<KeywordAnswer[]> => {
        const answers: KeywordAnswer[] = [];
        for (const terms of questions) for (const limit of [2, 50]) answers.push(await ask(store, terms, limit));
        return answers;
      };
      const before = await askAll();
      await store.replaceFiles([
        ...drawnFiles(random, "memory/", 30),
        ...drawnFiles(random, "shared/own/", 5),
        fileOf("memory/long.md", [`${"heron ".repeat(300)}outsideonly pla`]),
      ]);
      assert.deepEqual(await askAll(), before);
    },
  },
  {
    name: "keyword: among thousands of chunks a word within the scope is found beside one that stands outside it",
    async run({ store }) {
      // Stores leave very common words out of a search of many chunks. How common one is, is a matter of the scope.
      const many = Array.from({ length: 5200 }, (_, index) => `deploy entry ${index}`);
      const shared = Array.from({ length: 10 }, (_, index) => `deploy step ${index}`);
      await store.replaceFiles([
        fileOf("memory/log.md", many),
        fileOf("memory/trip.md", ["zanzibar"]),
        fileOf("shared/how.md", shared),
        fileOf("shared/how.md", ["deploy as said"], { source: "sessions" }),
      ]);
      const { rows } = await ask(store, exactly("deploy", "zanzibar"));
      assert.equal(rows.length, shared.length);
      const terms = exactly("deploy", "zanzibar");
      const said = await store.searchKeyword({ terms, sources: ["sessions"], limit: 5 });
      assert.deepEqual(
        said.rows.map(({ path, source }) => [path, source]),
        [["shared/how.md", "sessions"]],
        "a source is a filter too",
      );
      const common = await store.searchKeyword({ terms: exactly("deploy"), sources: ["memory"], limit: 5 });
      assert.equal(common.rows.length, 5, "a word in nearly every chunk is found when it is asked alone");
    },
  },
  {
    name: "vector: with a scope, rows, scores and order do not change with what stands outside it",
    async run({ store }) {
      const random = randomFrom(21);
      const within = drawnFiles(random, "shared/", 12);
      await store.replaceFiles([...within, fileOf("shared/new.md", ["without a vector"])]);
      await embedFiles(store, within);
      const askAll = async (): Promise<unknown[]> => {
        const answers: unknown[] = [];
        for (const seed of [101, 102, 103]) {
          for (const limit of [1, 50]) {
            const vector = vectorOf(seed, dimensions);
            answers.push((await store.searchVector({ space: one, vector, sources: ["memory"], scope, limit })).rows);
          }
        }
        return answers;
      };
      const before = await askAll();
      const outside = [...drawnFiles(random, "memory/", 20), ...drawnFiles(random, "shared/own/", 5)];
      await store.replaceFiles([...outside, fileOf("memory/new.md", ["without a vector, and private"])]);
      await embedFiles(store, outside);
      assert.deepEqual(await askAll(), before);
    },
  },
];
