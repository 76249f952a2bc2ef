const part = Number(process.env["MEMSLOT_TEST_STORMS"] ?? 1);
if (!(part > 0)) throw new Error("MEMSLOT_TEST_STORMS is no number over 0");

/** So many kills, damages and the like: `whole`, or that part of it for which `MEMSLOT_TEST_STORMS` asks. */
export function stormSize(whole: number): number {
  return Math.ceil(whole * part);
}
