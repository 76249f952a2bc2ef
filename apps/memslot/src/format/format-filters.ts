import type { SearchFilters, SearchReport } from "@memslot/core";

export function describeFilters(filters: SearchFilters): string {
  const { words, phrases = [], excluded = [], paths = [], excludedPaths = [], tags = [], excludedTags = [] } = filters;
  const parts = [
    words === "" ? "no words" : `words ${JSON.stringify(words)}`,
    listed("phrase", phrases.map(quoted)),
    listed("without", excluded.map(quoted)),
    listed("path", paths),
    listed("not path", excludedPaths),
    listed("tag", tags),
    listed("not tag", excludedTags),
    listed("source", filters.sources ?? []),
    windowOf(filters),
    filters.order === "relevance" ? undefined : `${filters.order} first`,
    filters.undated === undefined ? undefined : `${filters.undated} excluded without a date`,
    ...(filters.unread ?? []),
  ];
  return parts.filter((part) => part !== undefined).join("; ");
}

export function filterNotes({
  lines,
  report,
  underMinScore,
}: {
  lines: readonly unknown[];
  report: SearchReport | undefined;
  underMinScore: number;
}): string[] {
  const filters = report?.filters;
  const notes: string[] = [];
  const days = filters && windowOf(filters);
  if (days !== undefined) {
    const { undated = 0 } = filters ?? {};
    const left =
      undated === 0
        ? ""
        : `; ${undated === 1 ? "1 note without a date was" : `${undated} notes without a date were`} excluded`;
    notes.push(`Only ${days}${left}.`);
  }
  for (const text of filters?.unread ?? []) notes.push(`${text}.`);
  if (underMinScore > 0 && lines.length > 0)
    notes.push(`${underMinScore === 1 ? "1 result was" : `${underMinScore} results were`} excluded by --min-score.`);
  return notes;
}

function windowOf({ since, until }: SearchFilters): string | undefined {
  if (since === undefined && until === undefined) return undefined;
  return [since === undefined ? "" : `since ${since}`, until === undefined ? "" : `until ${until}`]
    .filter(Boolean)
    .join(" ");
}

function listed(name: string, values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : `${name} ${values.join(", ")}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
