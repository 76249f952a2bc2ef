import path from "node:path";
import type { EvidenceLines, Vault, VaultQuestion } from "./vault.ts";

/** How many questions of each kind there are. A label that is lost changes a figure, so it is not lost in silence. */
export const questionCounts: Readonly<Record<string, number>> = {
  name: 50,
  title: 40,
  tag: 20,
  time: 70,
  typo: 25,
  synonym: 25,
  exclusion: 15,
  phrase: 15,
  identifier: 20,
  script: 30,
  sentence: 50,
  unanswerable: 40,
};

/** The same of the handbooks. */
export const handbookCounts: Readonly<Record<string, number>> = {
  name: 38,
  "how-to": 42,
  abbreviation: 24,
  code: 27,
  moved: 16,
  typo: 15,
  "other language": 18,
  unanswerable: 20,
};

const dayMs = 86_400_000;
const languages = new Set(["en", "de", "zh", "fr", "es", "pt"]);

/** Problems in the labels of a vault, one line each. `counts` is how many questions of each kind there are. */
export function vaultProblems(
  vault: Vault,
  counts: Readonly<Record<string, number>> | "any" = questionCounts,
): string[] {
  const ids = vault.questions.map((question) => question.id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  const asked = vault.questions.map(({ query, now }) => `${query.toLowerCase()} ${now ?? ""}`);
  return [
    ...twice.map((id) => `${id}: the id is there twice`),
    ...ids.filter((_, index) => asked.indexOf(asked[index] ?? "") !== index).map((id) => `${id}: is asked twice`),
    ...(counts === "any" ? [] : countProblems(vault.questions, counts)),
    ...vault.questions.flatMap((question) =>
      problemsOf(question, vault).map((problem) => `${question.id}: ${problem}`),
    ),
  ];
}

function countProblems(questions: readonly VaultQuestion[], counts: Readonly<Record<string, number>>): string[] {
  const kinds = new Set([...Object.keys(counts), ...questions.map((question) => question.kind)]);
  return [...kinds].flatMap((kind) => {
    const count = questions.filter((question) => question.kind === kind).length;
    const wanted = counts[kind] ?? 0;
    return count === wanted ? [] : [`${kind}: ${count} questions instead of ${wanted}`];
  });
}

function problemsOf(question: VaultQuestion, { notes }: Vault): string[] {
  const { kind, evidence, period, now } = question;
  const problems: string[] = [];
  if (question.query.trim() === "") problems.push("asks nothing");
  if (!languages.has(question.language)) problems.push(`is in no language known here, ${question.language}`);
  if ((kind === "unanswerable") !== (evidence.length === 0))
    problems.push(`${evidence.length} pieces of evidence for a question that is ${kind}`);
  for (const place of evidence) {
    const lines = linesOf(place, notes);
    if (!lines) problems.push(`no lines ${place.startLine} to ${place.endLine} in ${place.path}`);
    else if (lines.every((line) => line.trim() === "")) problems.push(`empty lines in ${place.path}`);
  }
  for (const day of [now, period?.since, period?.until])
    if (day !== undefined && Number.isNaN(dayOf(day))) problems.push(`${day} is no day`);
  if ((kind === "time") !== (period !== undefined))
    problems.push("a period belongs to the questions about a time, alone");
  if (period) problems.push(...timeProblems(period, evidence, notes));
  // A pasted command has options, which exclude nothing.
  for (const [, word = ""] of kind === "code" ? [] : question.query.matchAll(/(?:^|\s)-([\p{L}\p{N}]+)/gu)) {
    const holding = evidence.filter(({ path: file }) =>
      wordsOf(`${file}\n${notes.get(file)}`).includes(word.toLowerCase()),
    );
    problems.push(...holding.map(({ path: file }) => `${file} holds ${word}, which is excluded`));
  }
  if (wordBound.has(kind) && evidence.length > 0 && !sharesWord(question, notes))
    problems.push("no word of it stands in its evidence");
  return problems;
}

function linesOf({ path: file, startLine, endLine }: EvidenceLines, notes: Vault["notes"]): string[] | undefined {
  const lines = notes.get(file)?.replace(/\n$/, "").split("\n");
  if (!lines || startLine < 1 || endLine < startLine || endLine > lines.length) return undefined;
  return lines.slice(startLine - 1, endLine);
}

function timeProblems(
  { since, until }: { since: string; until: string },
  evidence: readonly EvidenceLines[],
  notes: Vault["notes"],
): string[] {
  if (dayOf(until) < dayOf(since)) return ["a period that ends before it begins"];
  return evidence.flatMap(({ path: file }) => {
    const span = spanOf(file, notes.get(file) ?? "");
    if (span && span.from <= dayOf(until) && span.to >= dayOf(since)) return [];
    return [`${file} is no note of ${since} to ${until}`];
  });
}

/** The days that a note is about, as days since 1970: from its name, `2024-01-05 …` or `2024-W01`, or its frontmatter. */
export function spanOf(file: string, text: string): { from: number; to: number } | undefined {
  const name = path.posix.basename(file);
  const week = /^(\d{4})-W(\d{2})/.exec(name);
  if (week) {
    // The first week of a year is the one that holds the 4th of January; day 4 since 1970 was a Monday.
    const fourth = dayOf(`${week[1]}-01-04`);
    const from = fourth - ((fourth - 4) % 7) + (Number(week[2]) - 1) * 7;
    return { from, to: from + 6 };
  }
  const frontmatter = /^---\n([\s\S]*?)\n---/.exec(text)?.[1] ?? "";
  const day = /^\d{4}-\d{2}-\d{2}/.exec(name)?.[0] ?? /^date: (\d{4}-\d{2}-\d{2})$/m.exec(frontmatter)?.[1];
  return day === undefined ? undefined : { from: dayOf(day), to: dayOf(day) };
}

function dayOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / dayMs;
}

/** Kinds whose words are those of the notes, in a typo almost. The others may be asked in any words. */
const wordBound = new Set(["name", "title", "tag", "phrase", "identifier", "typo", "code"]);

function sharesWord(question: VaultQuestion, notes: Vault["notes"]): boolean {
  const asked = wordsOf(question.query);
  return question.evidence.every((place) => {
    const frontmatter = /^---\n[\s\S]*?\n---/.exec(notes.get(place.path) ?? "")?.[0] ?? "";
    const standing = wordsOf([place.path, frontmatter, ...(linesOf(place, notes) ?? [])].join("\n"));
    const together = standing.join(" ");
    return asked.some(
      (word) =>
        together.includes(word) ||
        (question.kind === "typo" && word.length > 4 && standing.some((other) => distance(word, other) <= 2)),
    );
  });
}

/** Words in small letters; of a script without spaces whole runs of it. */
function wordsOf(text: string): string[] {
  return (
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  );
}

/** How many letters have to be put in, taken out or changed to make one word of the other. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return 3;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
