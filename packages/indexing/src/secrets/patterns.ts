import table from "./patterns.json" with { type: "json" };

type Table = typeof table;

/** The patterns of a group, by their names. A note in the table says what one is for. */
export function patternsOf<Group extends keyof Table>(group: Group): Readonly<Record<keyof Table[Group], RegExp>> {
  const rows = Object.entries<{ is: string; flags?: string }>(table[group]);
  const patterns = Object.fromEntries(rows.map(([name, { is, flags }]) => [name, new RegExp(is, flags)]));
  return patterns as Record<keyof Table[Group], RegExp>;
}
