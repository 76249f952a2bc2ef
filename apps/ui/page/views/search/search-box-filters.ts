export const filterNames = ["path", "tag", "source", "after", "before"] as const;
export type FilterName = (typeof filterNames)[number];

function patternOf(name: FilterName): RegExp {
  return new RegExp(`(?:^|\\s)${name}:(?:"([^"]*)"|(\\S+))`, "iu");
}

/** The value of a filter in the query; empty if there is none. */
export function filterIn(query: string, name: FilterName): string {
  const [, quoted, plain] = patternOf(name).exec(query) ?? [];
  return quoted ?? plain ?? "";
}

/** The query with this filter replaced; an empty value removes it. */
export function withFilter(query: string, name: FilterName, value: string): string {
  const rest = query.replace(patternOf(name), "").trim();
  const clean = value.trim().replaceAll('"', "");
  if (clean === "") return rest;
  return `${rest} ${name}:${/\s/u.test(clean) ? `"${clean}"` : clean}`.trim();
}
