import { figure } from "./chinese/chinese-numbers.ts";
import { edge } from "./grammar/language.ts";
import { namedPattern } from "./named-pattern.ts";
import tables from "./patterns.json" with { type: "json" };

const parts: Readonly<Record<string, string>> = { ...tables.parts, edge, figure };

/** The patterns of a table, with the parts that they name (`${year}`), and what each is of. */
export function patternsOf(table: "figures" | "names", flags: string): (readonly [pattern: RegExp, kind: string])[] {
  const filled = (form: string): string =>
    form.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => filled(parts[name] ?? ""));
  return tables[table].map(([form = "", kind = ""]) => [namedPattern(filled(form), flags), kind]);
}
