const atxHeading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const fenceStart = /^ {0,3}(`{3,}|~{3,})(?!.*`)/;

/** A `#` heading. Its title may be empty. */
export function headingOf(line: string): { level: number; title: string } | undefined {
  const match = line.startsWith("#") || line.startsWith(" ") ? atxHeading.exec(line) : null;
  return match ? { level: match[1]?.length ?? 1, title: (match[2] ?? "").trim() } : undefined;
}

/** The level of a heading that is underlined with `===` or `---`. */
export function setextLevel(line: string, next: string): 1 | 2 | undefined {
  if (line.trim() === "" || /^\s*([-*+>|]|\d+[.)])/.test(line) || line.trim().length > 200) return undefined;
  if (/^=+\s*$/.test(next) && next.length > 1) return 1;
  return /^-{3,}\s*$/.test(next) ? 2 : undefined;
}

/** The marks that begin a code block and that its end has to repeat. */
export function startsFence(line: string): string | undefined {
  return fenceStart.exec(line)?.[1];
}
