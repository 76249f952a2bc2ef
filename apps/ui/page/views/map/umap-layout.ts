import { UMAP } from "umap-js";
import type { Places } from "./map-viewport.ts";

/** Points that are laid out; the others are placed beside them. */
const mostLandmarks = 2_000;
const neighbours = 15;

/** Points with their first layout. */
export interface FinePoints extends Places {
  /** Concatenated vectors, as in `MemoryMap.fine`. */
  values: Int8Array;
  dimensions: number;
}

/**
 * Lays points out on a plane (UMAP, McInnes et al. 2018), -1 to 1, reproducibly, and turned so that they stay near the first
 * layout. Undefined for too few points.
 */
export function refine({ values, dimensions, ...first }: FinePoints): Places | undefined {
  const count = Math.floor(values.length / dimensions);
  // Without dimensions the count is no number.
  if (!(count > neighbours)) return undefined;
  const pointAt = (index: number): number[] => [...values.subarray(index * dimensions, (index + 1) * dimensions)];
  const step = Math.ceil(count / mostLandmarks);
  const landmarks = Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
  // Pseudo-random numbers (Park and Miller 1988): equal points have equal layouts.
  let seed = 12_345;
  const umap = new UMAP({
    nComponents: 2,
    nNeighbors: Math.min(neighbours, Math.ceil(Math.sqrt(landmarks.length))),
    random: () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647,
  });
  const laid = umap.fit(landmarks.map(pointAt));
  const places = Array.from({ length: count }, (_, index) => (index % step === 0 ? laid[index / step] : undefined));
  const others = [...places.keys()].filter((index) => places[index] === undefined);
  const placed = others.length === 0 ? [] : umap.transform(others.map(pointAt));
  for (const [at, place] of placed.entries()) places[others[at] ?? 0] = place;
  const laidOut = {
    x: fitted(places.map((place) => place?.[0] ?? 0)),
    y: fitted(places.map((place) => place?.[1] ?? 0)),
  };
  return aligned(laidOut, first);
}

/** Turns and mirrors a layout so that points stay near where they were (Procrustes, Schönemann 1966). */
function aligned({ x, y }: Places, before: Places): Places {
  const [best] = [1, -1]
    .map((mirror) => {
      let [cosine, sine] = [0, 0];
      for (const [index, own] of x.entries()) {
        const [atX, atY] = [before.x[index] ?? 0, before.y[index] ?? 0];
        cosine += mirror * own * atX + (y[index] ?? 0) * atY;
        sine += mirror * own * atY - (y[index] ?? 0) * atX;
      }
      return { mirror, size: Math.hypot(cosine, sine), cosine, sine };
    })
    .toSorted((a, b) => b.size - a.size);
  if (best === undefined || best.size === 0) return { x, y };
  const [cosine, sine] = [best.cosine / best.size, best.sine / best.size];
  return {
    x: fitted(x.map((own, index) => best.mirror * own * cosine - (y[index] ?? 0) * sine)),
    y: fitted(x.map((own, index) => best.mirror * own * sine + (y[index] ?? 0) * cosine)),
  };
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
