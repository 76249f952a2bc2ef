/** The groups of a match, by their names. */
export type Groups = Readonly<Record<string, string | undefined>>;

/**
 * A pattern in which several groups may have one name. Node 22 has none such, even where only one of them can match: the
 * further ones get a number here, and `groupsOf` gives them their name back.
 */
export function namedPattern(source: string, flags = ""): RegExp {
  const counts = new Map<string, number>();
  const numbered = source.replaceAll(/\(\?<([a-z]\w*)>/gi, (group: string, name: string) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? group : `(?<${name}$${count}>`;
  });
  return new RegExp(numbered, flags);
}

/** What the groups of a `namedPattern` hold; undefined where there is no match. */
export function groupsOf(match: RegExpExecArray | null): Groups | undefined {
  if (match === null) return undefined;
  const groups: Record<string, string | undefined> = {};
  for (const [name, text] of Object.entries(match.groups ?? {})) {
    const [own = name] = name.split("$");
    groups[own] ??= text;
  }
  return groups;
}
