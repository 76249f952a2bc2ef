import { queryTerms, scanTerms } from "@memslot/indexing";
import type { NoteUnit } from "./note-units.ts";

export interface CandidateUnit {
  path: string;
  unit: NoteUnit;
  searchScore: number;
}

export interface UnitMatch extends CandidateUnit {
  /** Share of the question's words in the unit and its headings, 0 to 1; rare words count more. */
  coverage: number;
  /** For sorting: words in the unit itself count more than those around it. */
  score: number;
}

/** A word of the question, or one character of a script that is written without spaces. */
interface QuestionPart {
  /** Any of these terms matches the part. */
  readonly terms: readonly string[];
  readonly weight: number;
}

const aroundShare = 0.6;
const searchShare = 0.15;

/** Scores the units of found notes, best first. */
export function matchUnits(question: string, candidates: readonly CandidateUnit[]): UnitMatch[] {
  const parts = questionParts(question);
  const texts = candidates.map((candidate) => {
    const { path, unit } = candidate;
    const around = termsOf([...unit.headings, unit.surroundings, path].join("\n"));
    return { candidate, own: termsOf(unit.text), around };
  });
  const weights = parts.map((part) => {
    const holding = texts.filter(({ own }) => holds(own, part)).length;
    return part.weight * Math.log(1 + (candidates.length - holding + 0.5) / (holding + 0.5));
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return [];
  const sumOf = (test: (part: QuestionPart) => boolean): number =>
    parts.reduce((sum, part, index) => (test(part) ? sum + (weights[index] ?? 0) : sum), 0) / total;
  return texts
    .map(({ candidate, own, around }): UnitMatch => {
      const inside = sumOf((part) => holds(own, part));
      const outside = sumOf((part) => !holds(own, part) && holds(around, part));
      const { searchScore, unit } = candidate;
      const score = inside + aroundShare * outside + searchShare * searchScore - lengthPenalty(unit.text);
      return { ...candidate, coverage: inside + outside, score };
    })
    .sort((a, b) => b.score - a.score || a.unit.text.length - b.unit.text.length);
}

function lengthPenalty(text: string): number {
  return 0.04 * Math.max(0, Math.log2(text.length / 100));
}

function holds(terms: ReadonlySet<string>, part: QuestionPart): boolean {
  return part.terms.some((term) => terms.has(term));
}

/** Question words without content. */
const englishFillers = new Set(
  "mean give tell know many much long take kind there pleas say anyon someon ever happen run us get".split(" "),
);
const chineseFillers =
  /是多少|多少|为什么|什么|怎么样?|怎样|哪一[天个年次些]|哪[天个里儿些种年位]?|谁|几[号点个天次岁年月]?|多[久大长高远]|有没有|是不是|能不能|可不可以|我们|你们|他们|她们|一个|这个|那个|那[次天]|这[次天]|请问|告诉|[的了是在有我你他她它吗呢吧啊和跟与把被给对要用能会就都还也很]/g;

function questionParts(question: string): QuestionPart[] {
  const cleaned = question.replaceAll(chineseFillers, " ");
  const parts = new Map<string, QuestionPart>();
  for (const { term, kind, identifier } of queryTerms(cleaned)) {
    const wanted = kind === "word" ? !englishFillers.has(term) : kind === "whole" && identifier;
    if (wanted) parts.set(term, { terms: [term], weight: 1 });
  }
  for (const [character, pairs] of unspacedCharacters(cleaned)) {
    // A character between fillers is the rest of a word: a weak but common match.
    const part = pairs.length > 0 ? { terms: pairs, weight: 0.5 } : { terms: [character], weight: 0.3 };
    parts.set(part.terms.join(" "), part);
  }
  return [...parts.values()];
}

/** Each character of an unspaced script, with its pairs. */
function unspacedCharacters(text: string): [string, string[]][] {
  const found = new Map<number, [string, string[]]>();
  const note = (start: number, pair: string | undefined): void => {
    const character = String.fromCodePoint(text.codePointAt(start) ?? 0x20);
    const entry = found.get(start) ?? [character, []];
    if (pair !== undefined) entry[1].push(pair);
    found.set(start, entry);
  };
  scanTerms(text, (term, start, end, kind) => {
    if (kind === "single") note(start, undefined);
    if (kind !== "pair") return;
    const [first = ""] = term;
    note(start, term);
    if (start + first.length < end) note(start + first.length, term);
  });
  return [...found.values()];
}

/** All terms of a text, its single characters of unspaced scripts, and the months of its dates. */
function termsOf(text: string): Set<string> {
  const terms = new Set<string>();
  const add = (source: string): void =>
    scanTerms(source, (term, _start, _end, kind) => {
      terms.add(term);
      if (kind === "pair") for (const character of term) terms.add(character);
    });
  add(text);
  for (const [, month] of text.matchAll(/(?<!\d)\d{4}-(\d{2})(?!\d)/g)) add(monthNames[Number(month) - 1] ?? "");
  return terms;
}

const monthNames = Array.from({ length: 12 }, (_, index) =>
  ["en", "zh"]
    .map((language) => new Date(Date.UTC(2026, index, 1)).toLocaleString(language, { month: "long", timeZone: "UTC" }))
    .join(" "),
);
