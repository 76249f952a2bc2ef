/** Filters that have a control of their own; everything else stays as it is typed. */
export type FilterName = "source" | "path" | "tag" | "after" | "before";

function pattern(name: FilterName): RegExp {
  return new RegExp(`(^|\\s)${name}:("[^"]*"|\\S*)`, "u");
}

/** What a query says of a filter; empty where it says nothing. */
export function filterIn(query: string, name: FilterName): string {
  return pattern(name).exec(query)?.[2]?.replaceAll('"', "") ?? "";
}

/** The query with a filter set to a value, or without it. */
export function withFilter(query: string, name: FilterName, value: string): string {
  const plain = value.replaceAll('"', "").trim();
  const written = plain === "" ? "" : `${name}:${/\s/u.test(plain) ? `"${plain}"` : plain}`;
  const found = pattern(name);
  if (!found.test(query)) return [query.trim(), written].filter(Boolean).join(" ");
  return query.replace(found, (_, before: string) => (written === "" ? "" : before + written)).trim();
}
