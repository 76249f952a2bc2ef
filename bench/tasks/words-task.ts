import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { openMemory } from "memslot";
import { plainFts } from "../retrieval/plain-fts.ts";
import { median, percentile } from "../support/table.ts";

/** Measures words in a process of its own: `node words-task.ts FOLDER`. Prints its figures as JSON, in milliseconds of CPU. */
const [folder = ""] = process.argv.slice(2);
const workspace = path.join(folder, "workspace");
const rounds = 15;

export interface WordFigures {
  index: { own: number; plain: number; chunks: number; megabytes: number };
  questions: { kind: string; own: number; most: number; plain: number }[];
}

/** User and system time of the whole process that some work takes. */
async function cpuOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const memory = await openMemory({
  config: {
    agents: { defaults: { memorySearch: { provider: "none", sync: { watch: false, onSearch: false } }, workspace } },
  },
  agentId: "main",
  notify: () => {},
});
const own = await cpuOf(() => memory.sync());
const megabytes = process.resourceUsage().maxRSS / 1024;
const notes = path.join(workspace, "memory");
let plain: ReturnType<typeof plainFts> | undefined;
const plainIndex = await cpuOf(() => {
  const files = readdirSync(notes).map((name): [string, string] => [
    name,
    readFileSync(path.join(notes, name), "utf8"),
  ]);
  plain = plainFts({ files: new Map(files) });
});

const words = readdirSync(notes)
  .slice(0, 300)
  .flatMap(
    (name) =>
      readFileSync(path.join(notes, name), "utf8")
        .toLowerCase()
        .match(/[a-z]{3,}/gu) ?? [],
  );
const counts = new Map<string, number>();
for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
const ranked = [...counts].toSorted((left, right) => right[1] - left[1]).map(([word]) => word);
/** A search takes so many words of a question; plain FTS5 is given no more. */
const wordsOf = (question: string): string => [...new Set(question.split(" "))].slice(0, 64).join(" ");
/** The same words in every run. */
const some = (count: number, from: number, within: number, round: number): string[] =>
  Array.from({ length: count }, (_, index) => ranked[from + ((round * 131 + index * 37) % within)] ?? "");
const mistyped = (word: string): string => `${word.slice(0, -1)}x${word.slice(-1)}`;

const kinds: Record<string, (round: number) => string> = {
  "one fact": (round) => `access code of project zephyr${round}`,
  "six words": (round) => some(6, 50, 2000, round).join(" "),
  "three very common words": (round) => some(3, 0, 12, round).join(" "),
  "the beginning of words": (round) => ["zephyr", "QX-", "bab"][round % 3] ?? "",
  "twelve mistyped words": (round) => some(12, 200, 2000, round).map(mistyped).join(" "),
  "10,000 characters": (round) =>
    words
      .slice(round * 50, round * 50 + 2000)
      .join(" ")
      .slice(0, 10_000),
};
const questions: WordFigures["questions"] = [];
for (const [kind, question] of Object.entries(kinds)) {
  for (let round = 0; round < 5; round++) await memory.search(question(round));
  const [mine, others]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    mine.push(await cpuOf(() => memory.search(question(round))));
    others.push(await cpuOf(() => plain?.search(wordsOf(question(round)), 100)));
  }
  questions.push({ kind, own: median(mine), most: percentile(mine, 0.9), plain: median(others) });
}
const { chunks = 0 } = memory.status();
await memory.close();
plain?.close();
console.log(JSON.stringify({ index: { own, plain: plainIndex, chunks, megabytes }, questions } satisfies WordFigures));
