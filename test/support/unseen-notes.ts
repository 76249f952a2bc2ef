import path from "node:path";
import { expect } from "vitest";
import type { EmbeddingProvider, Memory, SearchReport } from "memslot";
import { createHouse } from "./house.ts";
import { type Random, randomFrom } from "@memslot/test-tools/random";

const group = "agent:main:telegram:group:-100";

/** Words of all notes, those of private notes alone, and beginnings and numbers of both. */
const common =
  "deploy plan planet plankton heron nest server cluster invoice garden tomato release 上海 会议 node.js QX-7919";
const secret = "zanzibar divorce planetarium heronry invoice-4711 病院 diagnosis";
const [commonWords, secretWords] = [common.split(" "), secret.split(" ")];
const beginnings: readonly string[] = ["plan", "zanz", "hero", "inv", "上", "diag"];

/** One backend in which what a group is told is compared: with the private notes, and without. */
export interface Subject {
  settings: Readonly<Record<string, unknown>>;
  /** Makes the provider of one house. Absent: words alone. */
  embeddings?: (() => EmbeddingProvider) | undefined;
}

/** How many questions were compared. */
export async function compareWithoutPrivateNotes(seed: number, subject: Subject): Promise<number> {
  const random = randomFrom(seed);
  const shared = notesIn(random, "team", 1 + random.below(12), commonWords);
  const own = notesIn(random, "memory", 1 + random.below(25), [...commonWords, ...secretWords, ...secretWords]);
  const questions = Array.from({ length: 10 }, () => question(random));
  const limits = questions.map(() => ({ maxResults: 1 + random.below(8), minScore: random.below(5) / 10 }));
  const ask = async (memory: Memory): Promise<string[]> => {
    const told: string[] = [];
    for (const [index, query] of questions.entries()) {
      const reports: SearchReport[] = [];
      const onDebug = (report: SearchReport): unknown => reports.push(report);
      const results = await memory.search(query, { ...limits[index], sessionKey: group, onDebug });
      const [report] = reports.map(({ timingsMs: _timings, ...rest }) => rest);
      told.push(JSON.stringify({ query, results, report }));
      expect(report?.state, JSON.stringify(report)).toBe("ok");
    }
    return told;
  };
  const without = await inHouse(shared, subject, ask);
  const withAll = await inHouse({ ...shared, ...own, "MEMORY.md": noteOf(random, secretWords) }, subject, ask);
  expect(withAll, `seed ${seed}`).toEqual(without);
  expect(without.join("\n")).toContain("team/");
  return questions.length;
}

async function inHouse<T>(
  notes: Record<string, string>,
  { settings, embeddings }: Subject,
  use: (memory: Memory) => Promise<T>,
): Promise<T> {
  const house = createHouse();
  try {
    house.write(notes);
    house.letSettle();
    const memorySearch = { extraPaths: [path.join(house.notes, "team")], sync: { watch: false, onSearch: false } };
    const memory = await house.open({ settings, memorySearch, embeddings: embeddings?.() });
    await memory.sync();
    return await use(memory);
  } finally {
    await house.end();
  }
}

function notesIn(random: Random, folder: string, count: number, words: readonly string[]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${folder}/${at}.md`, noteOf(random, words)]));
}

function noteOf(random: Random, words: readonly string[]): string {
  const line = (): string => Array.from({ length: 1 + random.below(9) }, () => random.pick(words)).join(" ");
  return `# ${random.pick(words)}\n\n${Array.from({ length: 1 + random.below(30) }, line).join("\n")}\n`;
}

function question(random: Random): string {
  const all = [
    ...commonWords,
    ...secretWords,
    ...beginnings,
    "nothing",
    "2026-05-04",
    "heroon",
    "zanzibr",
    "divorse",
    "deplyo",
  ];
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(all)).join(" ");
}
