import type { IndexUpkeep } from "@memslot/indexing";
import type { FullIndex } from "../remembering-indexes.ts";
import type { WrongIndex } from "./wrong-index.ts";

const healthy = "upkeep: a healthy index passes its own check, empty, in use, and while a build is being made";
const compacted = "upkeep: compact gives space back, changes no answer, and leaves the index fit for use";
const sampled = "upkeep: a sample is of chunks that are there, each once, and no more than there are";
const sameVector = "vector: the vector of a text can be had again, of its own space";
const listed = "upkeep: tables are listed with their bytes, the largest first";

export const wrongWithUpkeep: readonly WrongIndex[] = [
  wrong("takes the chunks of the next build for a fault", healthy, (right) => ({
    async check() {
      const { generation, chunks } = await right.stats();
      const ok = (generation?.next?.chunks ?? 0) === 0;
      return [{ name: "words", ok, message: `${chunks} chunks` }];
    },
  })),
  wrong("takes an empty store for a broken one", healthy, (right) => ({
    check: async () => [{ name: "files", ok: (await right.stats()).files > 0, message: "there are files" }],
  })),
  wrong("looks at nothing", healthy, () => ({ check: async () => [] })),
  wrong("mends what is whole", "upkeep: repair mends nothing on a healthy index and changes no answer", () => ({
    repair: async () => [{ name: "words", ok: true, message: "as they should be", fixed: "made anew" }],
  })),
  wrong(
    "loses files in a repair",
    "upkeep: repair mends nothing on a healthy index and changes no answer",
    (right) => ({
      async repair() {
        await right.removeFiles([{ path: "b.md", source: "memory" }]);
        return right.upkeep.repair();
      },
    }),
  ),
  wrong("loses a source when it is compacted", compacted, (right) => ({
    async compact() {
      await right.removeFiles([{ path: "c.jsonl", source: "sessions" }]);
      return right.upkeep.compact();
    },
  })),
  wrong("grows when it is compacted", compacted, () => ({ compact: async () => ({ beforeBytes: 1, afterBytes: 2 }) })),
  wrong("has nothing to show", sampled, () => ({ sample: async () => [] })),
  wrong("shows a chunk twice", sampled, (right) => ({
    async sample(count) {
      const rows = await right.upkeep.sample(count);
      return rows.map((row, index) => (index === 1 ? (rows[0] ?? row) : row));
    },
  })),
  wrong("shows a chunk under another line", sampled, (right) => ({
    sample: async (count) =>
      (await right.upkeep.sample(count)).map((row) => ({ ...row, startLine: row.startLine - 1 })),
  })),
  wrong(
    "always shows the same chunks",
    "upkeep: a small sample is another one each time, so that every chunk has its turn",
    (right) => ({ sample: async (count) => (await right.upkeep.sample(1000)).toSorted(byId).slice(0, count) }),
  ),
  wrong("gives the vector of whatever space has it", sameVector, (right) => ({
    async vectorOf(_space, hash) {
      for (const { space } of await right.spaces()) {
        const found = await right.upkeep.vectorOf(space, hash);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  })),
  wrong("gives vectors that are rounded away", sameVector, (right) => ({
    vectorOf: async (space, hash) =>
      (await right.upkeep.vectorOf(space, hash))?.map((value) => Math.round(value * 3) / 3),
  })),
  wrong("lists its tables by name", listed, () => ({
    tables: async () => [
      { name: "chunks", bytes: 10 },
      { name: "files", bytes: 20 },
    ],
  })),
  wrong("lists no tables", listed, () => ({ tables: async () => [] })),
];

function wrong(fault: string, caughtBy: string, spoil: (right: FullIndex) => Partial<IndexUpkeep>): WrongIndex {
  return { fault, caughtBy, spoil: (right) => ({ upkeep: { ...right.upkeep, ...spoil(right) } }) };
}

function byId(left: { id: number | string }, right: { id: number | string }): number {
  return Number(left.id) - Number(right.id);
}
