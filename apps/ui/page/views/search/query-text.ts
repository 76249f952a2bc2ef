export const filterNames = ["path", "tag", "source", "after", "before"] as const;
export type FilterName = (typeof filterNames)[number];

function patternOf(name: FilterName): RegExp {
  return new RegExp(`(?:^|\\s)${name}:(?:"([^"]*)"|(\\S+))`, "iu");
}

/** What a question is filtered by, as it is written there; empty where it is not. */
export function filterIn(query: string, name: FilterName): string {
  const [, quoted, plain] = patternOf(name).exec(query) ?? [];
  return quoted ?? plain ?? "";
}

/** The question with this filter in place of the one of the same name; an empty value takes it out. */
export function withFilter(query: string, name: FilterName, value: string): string {
  const rest = query.replace(patternOf(name), "").trim();
  const clean = value.trim().replaceAll('"', "");
  if (clean === "") return rest;
  return `${rest} ${name}:${/\s/u.test(clean) ? `"${clean}"` : clean}`.trim();
}
