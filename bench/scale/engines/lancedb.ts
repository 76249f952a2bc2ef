import { openLanceStore } from "@memslot/memory-lancedb";
import type { ScaleEngine } from "../engine.ts";
import { dimensions, numberOf } from "../synthetic.ts";
import { filesOf, space } from "./memslot.ts";

const sources = ["memory"];

/** memory-lancedb in a folder, tidied after it was filled, as its upkeep does it in time. */
export const lancedb: ScaleEngine = {
  name: "memory-lancedb",
  about: "memory-lancedb in a folder, after `compact`",
  async build(folder, blocks) {
    const store = await open(folder);
    for (const block of blocks) {
      const files = filesOf(block);
      await store.replaceFiles(files);
      const chunks = files.flatMap((file) => file.chunks);
      await store.putVectors(
        space,
        chunks.map(({ hash }, at) => ({ hash, vector: block[at]?.vector ?? new Float32Array(dimensions) })),
      );
    }
    await store.compact();
    await store.close();
  },
  async open(folder) {
    const store = await open(folder);
    const vector = async (query: Float32Array, limit: number) =>
      (await store.searchVector({ space, vector: query, sources, limit })).rows;
    return {
      vector: async (query, limit) => (await vector(query.vector, limit)).map(numberOf),
      async hybrid(query, limit) {
        const terms = query.words.map((term) => ({ term, prefix: false }));
        const [keyword, near] = await Promise.all([
          store.searchKeyword({ terms, sources, limit }),
          vector(query.vector, limit),
        ]);
        return keyword.rows.length + near.length;
      },
      close: () => store.close(),
    };
  },
};

async function open(folder: string) {
  const settings = { lance: {}, agentId: "main", folder, stateDir: folder, mayCreate: true };
  const { store } = await openLanceStore({ ...settings, signal: AbortSignal.timeout(60_000) });
  return store;
}
