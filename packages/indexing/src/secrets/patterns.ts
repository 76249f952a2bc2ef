import table from "./patterns.json" with { type: "json" };

type Table = typeof table;

/** The patterns of a group, by their names; `‹name›` stands for another one. A note in the table says what one is for. */
export function patternsOf<Group extends keyof Table>(
  group: Group,
  others: Readonly<Record<string, string>> = {},
): Readonly<Record<keyof Table[Group], RegExp>> {
  const rows: Record<string, { is: string; flags?: string }> = table[group];
  const whole = (text: string): string =>
    text.replaceAll(/‹(\w+)›/g, (_, name: string) => whole(others[name] ?? rows[name]?.is ?? ""));
  const patterns = Object.entries(rows).map(([name, { is, flags }]) => [name, new RegExp(whole(is), flags)]);
  return Object.fromEntries(patterns) as Record<keyof Table[Group], RegExp>;
}
