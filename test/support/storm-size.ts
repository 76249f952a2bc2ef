const part = Number(process.env["MEMSLOT_TEST_STORMS"] ?? 1);
if (!(part > 0)) throw new Error("MEMSLOT_TEST_STORMS is no number over 0");

/** So many kills, damages and the like: `whole`, or that part of it for which `MEMSLOT_TEST_STORMS` asks, at least one. */
export function stormSize(whole: number): number {
  return Math.ceil(whole * part);
}

/** Where all storms begin. `MEMSLOT_TEST_SEED=7` tries other cases, or repeats a failure: its message names the seed. */
const seed = Number(process.env["MEMSLOT_TEST_SEED"] || 1);
if (!Number.isSafeInteger(seed)) throw new Error("MEMSLOT_TEST_SEED is no whole number");

/** A seed for one storm, another for each `number`. */
export function stormSeed(number = 0): number {
  return (seed * 100_003 + number) % 2 ** 32;
}

/** For the names of tests: how to repeat what has failed. */
export const seeded: string = `MEMSLOT_TEST_SEED=${seed}`;
