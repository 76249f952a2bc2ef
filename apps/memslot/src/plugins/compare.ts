import { type FoundPlugin, type MemoryFeature, memoryFeatures } from "@memslot/core";
import { table } from "../format/table.ts";

/** What a change of the memory plugin means, from what both say of themselves. */
export interface Comparison {
  gained: MemoryFeature[];
  lost: MemoryFeature[];
  kept: MemoryFeature[];
  /** What becomes of the vectors. */
  vectors: "kept" | "made again" | "not used" | "own models" | "none before";
}

type Declared = Pick<FoundPlugin, "id" | "features">;

export function comparePlugins(before: Declared, after: Declared): Comparison {
  const names = Object.keys(memoryFeatures) as MemoryFeature[];
  const has = ({ features = [] }: Declared, name: MemoryFeature): boolean => features.includes(name);
  return {
    gained: names.filter((name) => has(after, name) && !has(before, name)),
    lost: names.filter((name) => has(before, name) && !has(after, name)),
    kept: names.filter((name) => has(before, name) && has(after, name)),
    vectors: vectorsOf(before, after, has),
  };
}

function vectorsOf(
  before: Declared,
  after: Declared,
  has: (plugin: Declared, name: MemoryFeature) => boolean,
): Comparison["vectors"] {
  if (!has(after, "vector")) return has(after, "own-models") ? "own models" : "not used";
  if (!has(before, "vector")) return "none before";
  return has(before, "shared-vectors") && has(after, "shared-vectors") ? "kept" : "made again";
}

/** A line for each thing that one of the two can do. */
export function comparisonTable(before: Declared, after: Declared, { gained, lost, kept }: Comparison): string {
  const all = Object.keys(memoryFeatures) as MemoryFeature[];
  const rows = all
    .filter((name) => [...gained, ...lost, ...kept].includes(name))
    .map((name) => [
      memoryFeatures[name],
      gained.includes(name) ? "no" : "yes",
      lost.includes(name) ? "no" : "yes",
      gained.includes(name) ? "gained" : lost.includes(name) ? "lost" : "",
    ]);
  return table(["", before.id, after.id, ""], rows);
}

/** What becomes of the vectors, as a sentence. */
export function vectorSentence({ vectors }: Comparison, before: Declared, after: Declared): string {
  const sentences: Record<Comparison["vectors"], string> = {
    kept: "No text is embedded again: both keep their vectors in the same place.",
    "made again": `The vectors are made again for ${after.id}; \`memslot memory index --estimate\` says what that costs. Those of ${before.id} stay for the way back.`,
    "none before": `With an embedding provider, vectors are made for ${after.id}; \`memslot memory index --estimate\` says what that costs.`,
    "own models": `The embedding provider is not asked: ${after.id} brings its own models. Vectors that are there stay for the way back.`,
    "not used": `${after.id} finds by words alone: no vectors are made or used. Those that are there stay for the way back.`,
  };
  return sentences[vectors];
}
