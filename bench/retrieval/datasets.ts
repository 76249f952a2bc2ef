import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** One workspace of notes with questions whose answers stand at known places. */
export interface RetrievalSet {
  /** Path relative to the workspace to text. */
  files: Map<string, string>;
  questions: Question[];
  /** Of a conversation: the two who speak in it. */
  speakers?: readonly string[] | undefined;
}

export interface Question {
  text: string;
  group: string;
  /** Any of these lines answers it in part; `text` is how the line begins. */
  evidence: { path: string; line?: number | undefined; text?: string | undefined }[];
}

/** A public data set, read from a folder; undefined if it is missing. */
export interface DataSet {
  name: string;
  sets: RetrievalSet[];
}

const months = "January February March April May June July August September October November December".split(" ");
const categories = ["", "multi-hop", "temporal", "open", "single-hop", "adversarial"];

/** LoCoMo (snap-research/LoCoMo, `locomo.json`): each session a daily note, each turn a list item. */
export function loadLocomo(folder: string): DataSet | undefined {
  const conversations = readJson<LocomoConversation[]>(path.join(folder, "locomo.json"));
  if (!conversations) return undefined;
  return { name: "LoCoMo, dated daily notes", sets: conversations.map(locomoSet) };
}

interface LocomoConversation {
  conversation: Record<string, string | { speaker: string; dia_id: string; text: string }[]>;
  qa: { question: string; evidence?: string[]; category: number }[];
}

function locomoSet({ conversation, qa }: LocomoConversation): RetrievalSet {
  const files = new Map<string, string>();
  const places = new Map<string, Question["evidence"][number]>();
  for (const [key, turns] of Object.entries(conversation)) {
    const session = /^session_(\d+)$/.exec(key)?.[1];
    if (!session || !Array.isArray(turns)) continue;
    const [, day = "", month = "", year = ""] =
      /on (\d+) (\w+), (\d+)/.exec(String(conversation[`session_${session}_date_time`])) ?? [];
    const date = `${year}-${String(months.indexOf(month) + 1).padStart(2, "0")}-${day.padStart(2, "0")}`;
    let file = `memory/${date}.md`;
    for (let count = 2; files.has(file); count++) file = `memory/${date}-${count}.md`;
    const lines = [`# ${date}`, ""];
    for (const turn of turns) {
      lines.push(`- ${turn.speaker}: ${turn.text.replaceAll(/\s*\n\s*/g, " ")}`);
      places.set(turn.dia_id, { path: file, line: lines.length, text: lines.at(-1)?.slice(0, 60) });
    }
    files.set(file, `${lines.join("\n")}\n`);
  }
  const questions = qa.map(({ question, evidence = [], category }): Question => {
    // Some ids are malformed: several in one string, or with leading zeros.
    const ids = new Set(
      evidence.flatMap((text) => [...text.matchAll(/D0*(\d+):0*(\d+)/g)].map((match) => `D${match[1]}:${match[2]}`)),
    );
    return {
      text: question,
      group: categories[category] ?? "",
      evidence: [...ids].flatMap((id) => places.get(id) ?? []),
    };
  });
  return {
    files,
    questions: questions.filter((question) => question.evidence.length > 0),
    speakers: [String(conversation["speaker_a"]), String(conversation["speaker_b"])],
  };
}

/** CMRC 2018 (ymcui/cmrc2018, `cmrc2018.json`): each paragraph a note, the question's paragraph is what is to be found. */
export function loadCmrc(folder: string): DataSet | undefined {
  interface Paragraph {
    id: string;
    context: string;
    qas: { question: string }[];
  }
  const data = readJson<{ data: { paragraphs: Paragraph[] }[] }>(path.join(folder, "cmrc2018.json"));
  if (!data) return undefined;
  const paragraphs = data.data.flatMap((entry) => entry.paragraphs);
  const file = (id: string): string => `memory/${id}.md`;
  return {
    name: "CMRC 2018, Chinese",
    sets: [
      {
        files: new Map(paragraphs.map((paragraph) => [file(paragraph.id), `${paragraph.context}\n`])),
        questions: paragraphs.flatMap((paragraph) =>
          paragraph.qas.map(({ question }) => ({
            text: question,
            group: "all",
            evidence: [{ path: file(paragraph.id) }],
          })),
        ),
      },
    ],
  };
}

/** The evaluation of tobi/qmd (`docs/`, `queries.json`): six documents, the query's document is what is to be found. */
export function loadQmdEval(folder: string): DataSet | undefined {
  const queries = readJson<{ query: string; expectedDoc: string; difficulty: string }[]>(
    path.join(folder, "queries.json"),
  );
  if (!queries) return undefined;
  const names = readdirSync(path.join(folder, "docs"));
  const file = (name: string): string => `memory/${name}`;
  return {
    name: "qmd's evaluation",
    sets: [
      {
        files: new Map(names.map((name) => [file(name), readFileSync(path.join(folder, "docs", name), "utf8")])),
        questions: queries.map(({ query, expectedDoc, difficulty }) => {
          return {
            text: query,
            group: difficulty,
            evidence: names.filter((name) => name.includes(expectedDoc)).map((name) => ({ path: file(name) })),
          };
        }),
      },
    ],
  };
}

function readJson<T>(file: string): T | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as T) : undefined;
}
