export interface Random {
  /** 0 up to, but not including, `end`. */
  below(end: number): number;
  pick<T>(items: readonly T[]): T;
  chance(share: number): boolean;
}

/** A generator that gives the same numbers for the same seed (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    below,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    chance: (share) => next() < share,
  };
}

/** Ranges that break tokenizers, in code points. */
const ranges: readonly (readonly [number, number])[] = [
  [0x00, 0x20],
  [0x20, 0x7f],
  [0x20, 0x7f],
  [0x80, 0x250],
  [0x2b0, 0x370],
  [0x370, 0x530],
  [0x590, 0x780],
  [0x900, 0x980],
  [0xe00, 0xf00],
  [0x1100, 0x1200],
  [0x1e00, 0x2070],
  [0x20d0, 0x2c00],
  [0x3000, 0x3400],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a4],
  [0xd800, 0xe000],
  [0xf900, 0xfb50],
  [0xfb50, 0x10000],
  [0x1_0400, 0x1_0450],
  [0x1_d400, 0x1_d800],
  [0x1_f300, 0x1_fb00],
  [0x2_0000, 0x2_a6e0],
  [0xe_0100, 0xe_01f0],
];

/** Up to `longest` code points of every kind, lone surrogates included. */
export function randomText(random: Random, longest: number): string {
  let text = "";
  for (let left = random.below(longest + 1); left > 0; left--) {
    const [from, to] = random.pick(ranges);
    text += String.fromCodePoint(from + random.below(to - from));
  }
  return text;
}

const words =
  "the a we decided deploy server Friday budget review café Müller QX-7919 node.js memorySearch 42 2026-03-05 it's TODO 重跑 数据库 东京 ラーメン 서울 สวัสดี 👍 c++ foo_bar http://example.org/a?b=1 * _very_ **bold** `code`".split(
    " ",
  );

export function randomSentence(random: Random, longest: number): string {
  return Array.from({ length: 1 + random.below(longest) }, () => random.pick(words)).join(" ");
}
