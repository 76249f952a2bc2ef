import { UMAP } from "umap-js";

/** Points that are laid out by UMAP; the others are placed between their nearest ones. */
const mostLandmarks = 2_000;
const neighbours = 15;
const near = 4;

export interface FinePoints {
  /** Concatenated vectors, as in `MemoryMap.fine`. */
  values: Int8Array;
  dimensions: number;
}

export interface Places {
  x: number[];
  y: number[];
}

/** Lays points out on a plane (UMAP, McInnes et al. 2018), -1 to 1, reproducibly. Undefined for too few points. */
export function refine({ values, dimensions }: FinePoints): Places | undefined {
  const count = Math.floor(values.length / dimensions);
  if (count <= neighbours) return undefined;
  const pointAt = (index: number): number[] => [...values.subarray(index * dimensions, (index + 1) * dimensions)];
  const step = Math.ceil(count / mostLandmarks);
  const landmarks = Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
  const umap = new UMAP({ nComponents: 2, nNeighbors: Math.min(neighbours, landmarks.length - 1), random: numbers(1) });
  const laid = umap.fit(landmarks.map(pointAt));
  const places: Places = { x: [], y: [] };
  for (let index = 0; index < count; index++) {
    const own = index % step === 0 ? laid[index / step] : between(index, values, dimensions, { landmarks, laid });
    places.x.push(own?.[0] ?? 0);
    places.y.push(own?.[1] ?? 0);
  }
  return { x: fitted(places.x), y: fitted(places.y) };
}

function between(
  index: number,
  values: Int8Array,
  dimensions: number,
  { landmarks, laid }: { landmarks: readonly number[]; laid: readonly number[][] },
): [number, number] {
  const nearest: { distance: number; at: number }[] = [];
  for (const [at, landmark] of landmarks.entries()) {
    let distance = 0;
    for (let axis = 0; axis < dimensions; axis++)
      distance += ((values[index * dimensions + axis] ?? 0) - (values[landmark * dimensions + axis] ?? 0)) ** 2;
    if (nearest.length === near && distance >= (nearest.at(-1)?.distance ?? 0)) continue;
    const place = nearest.findIndex((other) => distance < other.distance);
    nearest.splice(place < 0 ? nearest.length : place, 0, { distance, at });
    if (nearest.length > near) nearest.pop();
  }
  let [x, y, sum] = [0, 0, 0];
  for (const { distance, at } of nearest) {
    const weight = 1 / (distance + 1);
    x += weight * (laid[at]?.[0] ?? 0);
    y += weight * (laid[at]?.[1] ?? 0);
    sum += weight;
  }
  return [x / sum, y / sum];
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

/** Pseudo-random numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
