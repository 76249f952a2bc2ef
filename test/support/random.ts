/** Numbers that look random and are the same for the same seed (mulberry32). */
export interface Random {
  /** 0 to `end`, without it. */
  below(end: number): number;
  pick<T>(from: readonly T[]): T;
  chance(probability: number): boolean;
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    below,
    pick(from) {
      if (from.length === 0) throw new Error("there is nothing to pick from");
      return from[below(from.length)] as (typeof from)[number];
    },
    chance: (probability) => next() < probability,
  };
}
