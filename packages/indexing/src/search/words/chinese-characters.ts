// oxlint-disable-next-line typescript/triple-slash-reference -- the package has no types, and who compiles this file is to find ours.
/// <reference path="./opencc-js.d.ts" />

/** The other ways to write a character, simplified and traditional. */
export type CharacterVariants = (character: string) => readonly string[];

/** Loaded when a word of Chinese characters stands nowhere: the tables of OpenCC, one character for one, 60 kB. */
export async function loadCharacterVariants(): Promise<CharacterVariants> {
  const tables = await Promise.all([import("opencc-js/dict/STCharacters"), import("opencc-js/dict/TSCharacters")]);
  const variants = new Map<string, Set<string>>();
  const add = (from: string, to: string): void => void variants.set(from, (variants.get(from) ?? new Set()).add(to));
  for (const { default: table } of tables) {
    for (const entry of table.split("|")) {
      const [from = "", ...others] = entry.split(" ");
      // One simplified character stands for several traditional ones, and its table names the usual one alone.
      for (const to of others) {
        add(from, to);
        add(to, from);
      }
    }
  }
  return (character) => {
    const near = [...(variants.get(character) ?? [])];
    const all = new Set([...near, ...near.flatMap((other) => [...(variants.get(other) ?? [])])]);
    all.delete(character);
    return [...all];
  };
}

/** Most characters have one other form, few have five. */
const most = 40;

/** The other ways to write a run of characters. */
export function otherCharacters(run: string, variants: CharacterVariants): string[] {
  let runs = [""];
  for (const character of run) {
    const all = [character, ...variants(character)];
    runs = runs.flatMap((begun) => all.map((one) => begun + one)).slice(0, most);
  }
  return runs.filter((other) => other !== run);
}
