import { connect } from "@lancedb/lancedb";
import type { ChunkStore } from "@memslot/indexing";
import { expect, onTestFinished, test } from "vitest";
import { vectorIndexFrom } from "./tidy.ts";
import {
  embed,
  fileOf,
  indexFolder,
  near,
  open,
  spaceOf,
  tempFolder,
  textOf,
  vectorOf,
} from "../../test/support/stores.ts";

const dimensions = 96;
const space = spaceOf("m", dimensions);
const count = vectorIndexFrom + 500;
const texts = Array.from({ length: count }, (_, index) => `text ${index}`);

async function filled(stateDir: string): Promise<ChunkStore> {
  const store = await open(stateDir, { tidying: { afterMs: 50, keepVersionsMs: 0 } });
  const files = Array.from({ length: count / 50 }, (_, file) =>
    fileOf(
      `${file % 10 === 0 ? "some" : "most"}/${file}.md`,
      texts.slice(file * 50, file * 50 + 50),
      file % 4 === 0 ? "sessions" : "memory",
    ),
  );
  await store.replaceFiles(files);
  await embed(store, space, files);
  return store;
}

/** Waits until the index of the vectors is there. */
async function indexed(stateDir: string): Promise<void> {
  const connection = await connect(indexFolder(stateDir));
  onTestFinished(() => connection.close());
  const name = (await connection.tableNames()).find((each) => each.startsWith("v2_vectors_")) ?? "";
  await expect
    .poll(async () => (await (await connection.openTable(name)).indexStats("vector_idx"))?.indexType, {
      timeout: 60_000,
    })
    .toBe("IVF_RQ");
}

test(
  "from some thousand vectors on an index answers, with what comparing all of them gives",
  { timeout: 180_000 },
  async () => {
    const stateDir = await tempFolder();
    const store = await filled(stateDir);
    // No search waits for it.
    expect(await near(store, space, "text 77", 1)).toEqual(["text 77"]);
    await indexed(stateDir);

    const vectors = texts.map((text) => ({ text, vector: vectorOf(text, dimensions) }));
    let found = 0;
    const wanted = 25 * 20;
    for (let query = 0; query < 25; query++) {
      const name = `query ${query}`;
      const asked = vectorOf(name, dimensions);
      const exact = vectors
        .map(({ text, vector }) => ({
          text,
          score: vector.reduce((sum, value, at) => sum + value * (asked[at] ?? 0), 0),
        }))
        .toSorted((left, right) => right.score - left.score)
        .slice(0, 20);
      const { rows } = await store.searchVector({ space, vector: asked, sources: ["memory", "sessions"], limit: 100 });
      const scores = new Map(rows.map((row) => [textOf(row), row.score]));
      for (const { text, score } of exact) {
        const given = scores.get(text);
        if (given === undefined) continue;
        found++;
        expect(Math.abs(given - score)).toBeLessThan(1e-4);
      }
    }
    // Vectors in all directions are the hardest there are: those of a model lie in groups.
    expect(found / wanted).toBeGreaterThan(0.99);

    const edited = [fileOf("new.md", ["brand new"]), fileOf("most/1.md", ["text 50 anew"])];
    await store.replaceFiles(edited);
    await embed(store, space, edited);
    expect(await near(store, space, "brand new", 1)).toEqual(["brand new"]);
    expect(await near(store, space, "text 55", 3)).not.toContain("text 55");
    for (const [sources, limit] of [[["sessions"], 30] as const, [["memory"], 30] as const]) {
      const { rows } = await store.searchVector({ space, vector: vectorOf("q", dimensions), sources, limit });
      expect(rows).toHaveLength(limit);
      expect(new Set(rows.map(({ source }) => source))).toEqual(new Set(sources));
    }
    const scope = { within: ["some/"], without: ["some/20.md"] };
    const { rows } = await store.searchVector({
      space,
      vector: vectorOf("q", dimensions),
      sources: ["memory"],
      scope,
      limit: 2000,
    });
    const inScope = (file: number): boolean => file % 10 === 0 && file % 4 !== 0 && file !== 20;
    const expected = Array.from({ length: count / 50 }, (_, file) => file).filter(inScope).length * 50;
    expect(rows).toHaveLength(expected);
  },
);
