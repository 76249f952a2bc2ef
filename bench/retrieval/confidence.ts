import { type Memory, type MemorySearchResult, type SearchMatch } from "@memslot/core";
import { weakConfidence } from "@memslot/core/host";
import type { DataSet, Question, RetrievalSet } from "./datasets.ts";
import { openNotes } from "./recall.ts";
import { printTable } from "../support/table.ts";

/** How far an answer says that it is one, and whether it is. */
export interface Believed {
  /** 0 where nothing was found. */
  confidence: number;
  level: SearchMatch["level"];
  /** Whether a piece of the evidence is among the results; a question without any is never answered. */
  held: boolean;
}

/** Six results with what the report says of them. */
export async function askSix(
  memory: Memory,
  query: string,
): Promise<{ results: MemorySearchResult[] } & Omit<Believed, "held">> {
  let [confidence, level]: [number, SearchMatch["level"]] = [0, "none"];
  const results = await memory.search(query, {
    maxResults: 6,
    onDebug: (report) => {
      confidence = report.confidence ?? 0;
      level = report.match?.level ?? (confidence < weakConfidence ? "weak" : "strong");
    },
  });
  return results.length === 0 ? { results, confidence: 0, level: "none" } : { results, confidence, level };
}

/** One line for each group of questions that are not answered: how well they are distinguished from answerable ones. */
export function printConfidence(
  title: string,
  groups: readonly { name: string; answerable: readonly Believed[]; unanswerable: readonly Believed[] }[],
): void {
  const share = (asked: readonly Believed[], test: (one: Believed) => boolean): string =>
    (asked.filter(test).length / Math.max(1, asked.length)).toFixed(3);
  const levels = (asked: readonly Believed[]): string[] =>
    (["strong", "weak", "none"] as const).map((level) => share(asked, (one) => one.level === level));
  printTable(
    `${title}: how far answers say that they are one; in brackets those to answerable questions`,
    ["not answered", "questions", "AUC", "strong", "weak", "none"],
    groups.map(({ name, answerable, unanswerable }) => {
      const known = levels(answerable);
      const called = levels(unanswerable).map((value, index) => `${value} (${known[index]})`);
      return [
        name,
        `${unanswerable.length} (${answerable.length})`,
        auc(answerable, unanswerable).toFixed(3),
        ...called,
      ];
    }),
  );
}

/** What share of the answers that are called so hold a piece of the evidence. */
export function printCalibration(sets: readonly (readonly [name: string, asked: readonly Believed[]])[]): void {
  printTable(
    "Of the answers that are called so, those that hold a piece of the evidence; in brackets how many are called so",
    ["", "questions", "strong", "weak", "none"],
    sets.map(([name, asked]) => [
      name,
      String(asked.length),
      ...(["strong", "weak", "none"] as const).map((level) => {
        const called = asked.filter((one) => one.level === level);
        return `${(called.filter(({ held }) => held).length / Math.max(1, called.length)).toFixed(3)} (${called.length})`;
      }),
    ]),
  );
}

/** The chance that an answerable question is answered with more confidence than one that is not answered. */
function auc(answerable: readonly Believed[], unanswerable: readonly Believed[]): number {
  const pairs = answerable.flatMap(({ confidence: one }) =>
    unanswerable.map(({ confidence: other }): number => (one > other ? 1 : one === other ? 0.5 : 0)),
  );
  return pairs.reduce((sum, value) => sum + value, 0) / Math.max(1, pairs.length);
}

/** Questions that one workspace is asked, by what they are. */
interface AskedOfOne {
  set: RetrievalSet;
  /** `answerable` among them. */
  groups: ReadonlyMap<string, readonly Question[]>;
}

/** Asks the sets of a data set what they answer and what they do not, and prints how well the answers know. */
export async function benchConfidence(dataSet: DataSet): Promise<void> {
  const asked = dataSet.sets.every(({ speakers }) => speakers)
    ? dataSet.sets.map((_, index) => ofConversation(dataSet.sets, index))
    : dataSet.sets.flatMap((set) => ofHalf(set));
  const answers = new Map<string, Believed[]>();
  for (const one of asked) {
    const { memory, close } = await openNotes(one.set.files);
    try {
      for (const [name, questions] of one.groups) {
        const believed: Believed[] = [];
        for (const question of questions) {
          const { results, confidence, level } = await askSix(memory, question.text);
          believed.push({ confidence, level, held: question.evidence.some((place) => isAmong(place, results)) });
        }
        answers.set(name, [...(answers.get(name) ?? []), ...believed]);
      }
    } finally {
      await close();
    }
  }
  const answerable = answers.get("answerable") ?? [];
  const others = [...answers].filter(([name]) => name !== "answerable");
  printConfidence(
    dataSet.name,
    others.map(([name, unanswerable]) => ({ name, answerable, unanswerable })),
  );
  printCalibration(others.map(([name, unanswerable]) => [`answerable, and ${name}`, [...answerable, ...unanswerable]]));
}

function isAmong(place: Question["evidence"][number], results: readonly MemorySearchResult[]): boolean {
  return results.some(
    ({ path, startLine, endLine }) =>
      path === place.path && (place.line === undefined || (startLine <= place.line && endLine >= place.line)),
  );
}

/**
 * What a conversation is asked: its own questions, those that the data set calls adversarial (asked of the wrong speaker), its own
 * with its two speakers in each other's place (a few have an answer all the same), those of the conversation before it, and the
 * same with the names of its own speakers.
 */
function ofConversation(sets: readonly RetrievalSet[], index: number): AskedOfOne {
  const set = sets[index] as RetrievalSet;
  const before = sets.at(index - 1) as RetrievalSet;
  const [one = "", other = ""] = set.speakers ?? [];
  const [first = "", second = ""] = before.speakers ?? [];
  const isAdversarial = ({ group }: Question): boolean => group === "adversarial";
  const own = set.questions.filter((question) => !isAdversarial(question));
  const ofOneSpeaker = own.filter(({ text }) => text.includes(one) !== text.includes(other));
  const foreign = before.questions.filter((question) => !isAdversarial(question));
  const unanswered = (questions: readonly Question[], names: Readonly<Record<string, string>>): Question[] =>
    questions.map((question) => {
      const text = question.text.replaceAll(/\p{L}+/gu, (word) => names[word] ?? word);
      return { ...question, text, evidence: [] };
    });
  const groups: [string, readonly Question[]][] = [
    ["answerable", own],
    ["another conversation's", unanswered(foreign, {})],
    ["another's, with the names of this one", unanswered(foreign, { [first]: one, [second]: other })],
    ["its own, the two speakers swapped", unanswered(ofOneSpeaker, { [one]: other, [other]: one })],
    ["its own, with the names of another", unanswered(own, { [one]: first, [other]: second })],
    ["adversarial", unanswered(set.questions.filter(isAdversarial), {})],
  ];
  return { set, groups: new Map(groups.filter(([, questions]) => questions.length > 0)) };
}

/** Every second note, asked the questions about it and those about the others. */
function ofHalf(set: RetrievalSet): AskedOfOne[] {
  const kept = new Set([...set.files.keys()].filter((_, index) => index % 2 === 0));
  const isKept = ({ evidence }: Question): boolean => evidence.some(({ path }) => kept.has(path));
  const others = set.questions.filter((question) => !isKept(question));
  return [
    {
      set: { ...set, files: new Map([...set.files].filter(([path]) => kept.has(path))) },
      groups: new Map<string, readonly Question[]>([
        ["answerable", set.questions.filter(isKept)],
        ["about a note that is not there", others.map((question) => ({ ...question, evidence: [] }))],
      ]),
    },
  ];
}
