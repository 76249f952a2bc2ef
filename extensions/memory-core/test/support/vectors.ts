/** Ways in which vectors lie. */
export type Kind = (typeof kinds)[number];

export const kinds = [
  /** In all directions. */
  "random",
  /** In groups around a common direction, as those of a model. */
  "clustered",
  /** All within a hair of each other. */
  "dense",
  /** Counts of a few words: many numbers are zero, and rounding errs the same way in all of them. */
  "counted",
  /** One number is far larger than the others, so that rounding is coarse for these. */
  "lopsided",
] as const;

/** Numbers from 0 to 1 that look random and are the same in every run. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Vectors of unit length. */
export function vectorsOf(kind: Kind, dimensions: number, count: number, random: () => number): Float32Array[] {
  const spread = (): number => random() + random() + random() - 1.5;
  const direction = (): Float32Array => Float32Array.from({ length: dimensions }, spread);
  const common = direction();
  const groups = Array.from({ length: 20 }, direction);
  const near = (center: Float32Array, noise: number): Float32Array => center.map((value) => value + noise * spread());
  const make = (index: number): Float32Array => {
    const group = groups[Math.floor(random() * groups.length)] ?? common;
    if (kind === "random") return direction();
    if (kind === "dense") return near(common, 0.01);
    if (kind === "counted") return counted(dimensions, index, random);
    const vector = near(
      common.map((value, at) => value + 0.5 * (group[at] ?? 0)),
      0.7,
    );
    if (kind === "lopsided") vector[0] = 8 + spread();
    return vector;
  };
  return Array.from({ length: count }, (_, index) => unit(make(index)));
}

function counted(dimensions: number, index: number, random: () => number): Float32Array {
  const vector = new Float32Array(dimensions);
  // Some words for all, some for a group, and never none.
  vector[index % dimensions] = 1;
  for (let word = 0; word < 40; word++) {
    const at = Math.floor(dimensions * random() ** (word % 2 === 0 ? 3 : 1));
    vector[at] = (vector[at] ?? 0) + 1;
  }
  return vector;
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
