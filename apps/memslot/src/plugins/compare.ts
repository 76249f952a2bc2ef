import { type MemoryFeature, memoryFeatures } from "@memslot/core";
import { type FoundPlugin } from "@memslot/core/host";
import { table } from "../format/table.ts";

export interface Comparison {
  gained: MemoryFeature[];
  lost: MemoryFeature[];
  kept: MemoryFeature[];
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

export function vectorSentence({ vectors }: Comparison, before: Declared, after: Declared): string {
  const sentences: Record<Comparison["vectors"], string> = {
    kept: "No text is embedded again: both use the same stored vectors.",
    "made again": `The notes are embedded again for ${after.id}; run \`memslot memory index --estimate\` for the cost. The vectors of ${before.id} are kept.`,
    "none before": `With an embedding provider, the notes are embedded for ${after.id}; run \`memslot memory index --estimate\` for the cost.`,
    "own models": `The embedding provider is not used: ${after.id} has its own models. Existing vectors are kept.`,
    "not used": `${after.id} has keyword search only and uses no vectors. Existing vectors are kept.`,
  };
  return sentences[vectors];
}
