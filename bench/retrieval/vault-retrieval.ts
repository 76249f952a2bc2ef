import { mock } from "node:test";
import { askSix, printCalibration, printConfidence } from "./confidence.ts";
import { type Asked, isAnswerable, judge, mean } from "./judge.ts";
import { plainFts } from "./plain-fts.ts";
import { compareWithOthers } from "./compare.ts";
import { documentSets, readDocuments } from "./documents.ts";
import { openNotes } from "./recall.ts";
import { printTable } from "../support/table.ts";
import { isSetAside, readVault, readWholeVault, type Vault, type VaultQuestion } from "./vault.ts";

export const halves: readonly (readonly [name: string, belongs: (asked: Asked) => boolean])[] = [
  ["the half for tuning", ({ question }) => !isSetAside(question)],
  ["the half set aside", ({ question }) => isSetAside(question)],
];

/** In characters: longer notes of the handbooks have a heading for everything. A section of them is the answer. */
const longNote = 4000;

const usual = ["all but synonyms", ({ question }: Asked) => question.kind !== "synonym"] as const;
/** The questions that other programs are asked, too: see `bench/page`. */
const withoutClock = ["without a day of asking", ({ question }: Asked) => question.now === undefined] as const;

/**
 * Measures, in keyword mode, what is found in the vault of this repository, by kind of question: the half that weights
 * may be tuned on and the half that is set aside, each by itself.
 */
export async function benchVault(): Promise<void> {
  const vault = readVault();
  const own = await askMemory(vault);
  const plain = askPlain(vault);
  for (const [name, belongs] of halves)
    printGroups(
      `Vault, ${name}: memslot, in brackets plain FTS5`,
      own.filter(belongs),
      plain.filter(belongs),
      kindOf,
      usual,
    );
  printGroups("Vault by language, both halves", own, plain, ({ language }) => language, usual, withoutClock);
  printConfidenceOfHalves("Vault", own);
  printCalibration(halves.map(([name, belongs]) => [name, own.filter(belongs)]));
  await compareWithOthers("Vault", vault, own);
  await benchHandbooks(vault);
}

function printConfidenceOfHalves(title: string, asked: readonly Asked[]): void {
  printConfidence(
    title,
    halves.map(([name, belongs]) => {
      const half = asked.filter(belongs);
      return { name, answerable: half.filter(isAnswerable), unanswerable: half.filter((one) => !isAnswerable(one)) };
    }),
  );
}

/** The documentation of npm packages, by kind of question. */
export async function benchDocuments(): Promise<void> {
  for (const name of documentSets) {
    const documents = readDocuments(name);
    const title = `Documentation of ${name}`;
    const own = await askMemory(documents);
    const plain = askPlain(documents);
    for (const [half, belongs] of halves)
      printGroups(
        `${title}, ${half}: memslot, in brackets plain FTS5`,
        own.filter(belongs),
        plain.filter(belongs),
        kindOf,
        ["all but paraphrases", ({ question }) => question.kind !== "paraphrase"],
      );
    printConfidenceOfHalves(title, own);
    await compareWithOthers(title, documents, own);
  }
}

/** The same questions with the handbooks in the folder, and the questions about the handbooks. */
async function benchHandbooks(alone: Vault): Promise<void> {
  const whole = readWholeVault();
  const own = await askMemory(whole);
  const plain = askPlain(whole);
  const known = new Set(alone.questions.map(({ id }) => id));
  const isKnown = ({ question }: Asked): boolean => known.has(question.id);
  const isNew = (asked: Asked): boolean => !isKnown(asked);
  const isInLong = ({ question }: Asked): boolean =>
    question.evidence.every(({ path }) => (whole.notes.get(path)?.length ?? 0) > longNote);
  printGroups(
    "Vault with handbooks, both halves: memslot, in brackets plain FTS5",
    own,
    plain,
    ({ id }) => (known.has(id) ? "questions of the vault" : "questions of the handbooks"),
    withoutClock,
  );
  printGroups(
    "Vault with handbooks, questions of the vault",
    own.filter(isKnown),
    plain.filter(isKnown),
    kindOf,
    usual,
    withoutClock,
  );
  for (const [half, belongs] of halves) {
    const isAsked = (asked: Asked): boolean => isNew(asked) && belongs(asked);
    printGroups(
      `Vault with handbooks, questions of the handbooks, ${half}`,
      own.filter(isAsked),
      plain.filter(isAsked),
      kindOf,
      ["answered by a short note", (asked) => !isInLong(asked)],
      ["answered by a long note", isInLong],
    );
  }
  const asked = own.filter(isNew);
  printConfidence("Handbooks", [
    {
      name: "both halves",
      answerable: asked.filter(isAnswerable),
      unanswerable: asked.filter((one) => !isAnswerable(one)),
    },
  ]);
  await compareWithOthers("Handbooks in the folder of the vault", whole, asked);
}

/** The folder is opened as an extra path: by itself it holds nothing that memory is looked for in. */
export async function askMemory(vault: Vault): Promise<Asked[]> {
  const { memory, close } = await openNotes(vault.notes, {}, true);
  try {
    const asked: Asked[] = [];
    for (const question of vault.questions) {
      const { results, ...sure } = await onTheDay(question.now, () => askSix(memory, question.query));
      asked.push(judge(question, results, sure));
    }
    return asked;
  } finally {
    await close();
  }
}

/** Asks as if it were noon of a day: the library counts "yesterday" from the clock. */
async function onTheDay<Answer>(day: string | undefined, ask: () => Promise<Answer>): Promise<Answer> {
  if (day === undefined) return await ask();
  mock.timers.enable({ apis: ["Date"], now: new Date(`${day}T12:00:00`) });
  try {
    return await ask();
  } finally {
    mock.timers.reset();
  }
}

export function askPlain(vault: Vault): Asked[] {
  const plain = plainFts({ files: vault.notes });
  try {
    return vault.questions.map((question) =>
      judge(question, plain.search(question.query, 6), { confidence: 0, level: "none" }),
    );
  } finally {
    plain.close();
  }
}

/** Questions that name a day of asking are a group of their own: they need a clock that can be set. */
function kindOf({ kind, now }: VaultQuestion): string {
  return now === undefined ? kind : `${kind}, from the day of asking`;
}

export function printGroups(
  title: string,
  own: readonly Asked[],
  plain: readonly Asked[],
  groupOf: (question: VaultQuestion) => string,
  ...parts: readonly (readonly [name: string, belongs: (asked: Asked) => boolean])[]
): void {
  const answerable = (asked: Asked): boolean => asked.question.evidence.length > 0;
  const groups = [...new Set(own.filter(answerable).map(({ question }) => groupOf(question)))];
  const measures: [string, (asked: Asked) => number][] = [
    ["note first", ({ first }) => (first ? 1 : 0)],
    ["note in six", ({ inSix }) => (inSix ? 1 : 0)],
    ["recall@6", ({ recall }) => recall],
  ];
  const row = (name: string, belongs: (asked: Asked) => boolean): string[] => {
    const [ours, theirs] = [own.filter(belongs), plain.filter(belongs)];
    const share = (asked: readonly Asked[], read: (asked: Asked) => number): string => mean(asked.map(read)).toFixed(3);
    return [name, String(ours.length), ...measures.map(([, read]) => `${share(ours, read)} (${share(theirs, read)})`)];
  };
  printTable(
    title,
    ["", "questions", ...measures.map(([name]) => name)],
    [
      row("all", answerable),
      ...parts.map(([name, belongs]) => row(name, (asked) => answerable(asked) && belongs(asked))),
      ...groups.map((group) => row(group, (asked) => answerable(asked) && groupOf(asked.question) === group)),
    ],
  );
}
