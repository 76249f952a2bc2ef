import assert from "node:assert/strict";
import type { ChunkIndex, IndexedFile, IndexKeywordAnswer, PathScope, QueryTerm } from "@memslot/indexing";
import { randomFrom } from "../helpers/random.ts";
import { type StoreCheck, bothSources, exactly, fileOf, vectorOf } from "./lab.ts";
import { dimensions, embedAll, one } from "./vectors/vector-lab.ts";

const scope: PathScope = { within: ["shared/"], without: ["shared/own/"] };
const vocabulary = ["heron", "nest", "pike", "reed", "marsh", "plan", "planet", "plankton", "boat", "文字"];

/** An answer without the names of its chunks, which are the store's own. */
function toldBy({ rows, ...counts }: IndexKeywordAnswer): unknown {
  return { ...counts, rows: rows.map(({ id: _id, ...row }) => row) };
}

async function ask(store: ChunkIndex, terms: QueryTerm[], limit = 50): Promise<IndexKeywordAnswer> {
  return await store.searchKeyword({ terms, sources: ["memory"], scope, limit });
}

/** Files of words that are drawn by lot. */
function drawnFiles(random: () => number, folder: string, count: number): IndexedFile[] {
  const draw = (most: number): number => Math.floor(random() * most);
  return Array.from({ length: count }, (_, file) => {
    const texts = Array.from({ length: 1 + draw(3) }, (_each, chunk) => {
      const words = Array.from({ length: 1 + draw(9) }, () => vocabulary[draw(vocabulary.length)]);
      return `${words.join(" ")} ${folder.replaceAll("/", "")}${file}x${chunk}`;
    });
    return fileOf(`${folder}${file}.md`, texts);
  });
}

/** What stands outside a scope is not to be felt within it. */
export const scopeCountChecks: readonly StoreCheck[] = [
  {
    name: "keyword: with a scope, chunks and terms are counted within it",
    needs: ["keyword"],
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
    },
  },
  {
    name: "keyword: with a scope, rows, scores and order do not change with what stands outside it",
    needs: ["keyword"],
    async run({ store }) {
      const random = randomFrom(20);
      await store.replaceFiles(drawnFiles(random, "shared/", 12));
      const draw = (): string => vocabulary[Math.floor(random() * vocabulary.length)] ?? "heron";
      const questions = Array.from({ length: 12 }, (_, index) =>
        index % 4 === 0 ? [{ term: draw().slice(0, 3), prefix: true }] : exactly(draw(), draw(), "outsideonly"),
      );
      const before: unknown[] = [];
      for (const terms of questions) for (const limit of [2, 50]) before.push(toldBy(await ask(store, terms, limit)));
      await store.replaceFiles([
        ...drawnFiles(random, "memory/", 30),
        ...drawnFiles(random, "shared/own/", 5),
        fileOf("memory/long.md", [`${"heron ".repeat(300)}outsideonly pla`]),
      ]);
      const after: unknown[] = [];
      for (const terms of questions) for (const limit of [2, 50]) after.push(toldBy(await ask(store, terms, limit)));
      assert.deepEqual(after, before);
    },
  },
  {
    name: "keyword: among thousands of chunks a word within the scope is found beside one that stands outside it",
    needs: ["keyword"],
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
        said.rows.map((row) => row.text),
        ["deploy as said"],
        "a source is a filter too",
      );
    },
  },
  {
    name: "vector: with a scope, rows and scores do not change with what stands outside it, and vectors are counted within it",
    needs: ["vector"],
    async run({ store }) {
      const random = randomFrom(21);
      const seeds = new Map<string, number>();
      const embed = (text: string): Float32Array => {
        const seed = seeds.get(text) ?? seeds.size + 1;
        seeds.set(text, seed);
        return vectorOf(seed, dimensions);
      };
      await store.useSpace(one);
      await store.replaceFiles(drawnFiles(random, "shared/", 12));
      await embedAll(store, one, embed);
      await store.replaceFiles([fileOf("shared/new.md", ["without a vector"])]);
      const nearest = async (): Promise<unknown> => {
        const answers: unknown[] = [];
        for (const seed of [101, 102, 103]) {
          for (const limit of [1, 50]) {
            const vector = vectorOf(seed, dimensions);
            const { rows } = await store.searchVector({ space: one, vector, sources: ["memory"], scope, limit });
            answers.push(rows.map(({ id: _id, ...row }) => row));
          }
        }
        const { embedded, pending, quarantined } = await store.spaceStats(one, { sources: ["memory"], scope });
        return { answers, embedded, pending, quarantined };
      };
      const before = await nearest();
      await store.replaceFiles([...drawnFiles(random, "memory/", 20), ...drawnFiles(random, "shared/own/", 5)]);
      const others = (await store.pendingVectors(one, 10_000)).filter(({ text }) => text !== "without a vector");
      await store.putVectors(
        one,
        others.map(({ hash, text }) => ({ hash, vector: embed(text) })),
      );
      await store.replaceFiles([fileOf("memory/new.md", ["without a vector, and private"])]);
      assert.deepEqual(await nearest(), before);
    },
  },
];
