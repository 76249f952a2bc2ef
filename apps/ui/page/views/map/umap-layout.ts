import { UMAP } from "umap-js";
import type { Places } from "./map-groups.ts";

/** Points that are laid out; the others are placed beside them. */
const mostLandmarks = 2_000;
const neighbours = 15;
/** Half of the width of a layout at the beginning, in units of UMAP. */
const spread = 10;

/** Points with their first layout, and their concatenated vectors, as in `MemoryMap.fine`. */
export type FinePoints = Places & { values: Int8Array };

/**
 * Lays points out on a plane (UMAP, McInnes et al. 2018), -1 to 1, reproducibly. It begins with the first layout, so that
 * points stay near it. Undefined for too few points, or without vectors.
 */
export function refine({ values, x, y }: FinePoints): Places | undefined {
  const count = x.length;
  if (values.length === 0 || count <= neighbours) return undefined;
  const dimensions = values.length / count;
  const step = Math.ceil(count / mostLandmarks);
  const points = Array.from({ length: count }, (_, at) => [...values.subarray(at * dimensions, (at + 1) * dimensions)]);
  const landmarks = points.filter((_, index) => index % step === 0);
  // Pseudo-random numbers (Park and Miller 1988): equal points have equal layouts.
  let seed = 12_345;
  const umap = new UMAP({
    nNeighbors: Math.min(neighbours, Math.ceil(Math.sqrt(landmarks.length))),
    random: () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647,
  });
  umap.initializeFit(landmarks);
  for (const [at, place] of umap.getEmbedding().entries())
    place.splice(0, 2, (x[at * step] ?? 0) * spread, (y[at * step] ?? 0) * spread);
  const laidOut = umap.fit(landmarks);
  const placed = step === 1 ? [] : umap.transform(points.filter((_, index) => index % step !== 0));
  const places = points.map((_, index) => (index % step === 0 ? laidOut : placed).shift() ?? []);
  return { x: fitted(places.map(([across = 0]) => across)), y: fitted(places.map(([, down = 0]) => down)) };
}

/** From edge to edge. */
function fitted(values: readonly number[]): number[] {
  const [least, most] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
  const half = (most - least) / 2 || 1;
  return values.map((value) => Math.round((5_000 * (value - least - half)) / half) / 5_000);
}
