import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { withNotes } from "./support/contestants.ts";
import { printTable } from "./support/table.ts";
import type { WordFigures } from "./tasks/words-task.ts";

const program = path.join(import.meta.dirname, "tasks/words-task.ts");
const timeoutMs = 15 * 60_000;

/**
 * Words alone, in the library and without a look at the files: the first index, and questions of every kind. Beside each stands
 * plain FTS5 with the same notes and words, in turn in the same process, so that a ratio holds on a busy machine too.
 */
export async function benchWords(files: number): Promise<void> {
  await withNotes(files, ({ folder }) => {
    const home = path.join(folder, "home");
    mkdirSync(home, { recursive: true });
    const run = spawnSync(process.execPath, ["--conditions=@memslot/source", program, folder], {
      encoding: "utf8",
      timeout: timeoutMs,
      env: { PATH: process.env["PATH"], HOME: home, MEMSLOT_HOME: path.join(home, ".memslot") },
    });
    if (run.status !== 0) throw new Error(`words ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
    report(files, JSON.parse(run.stdout) as WordFigures);
  });
}

function report(files: number, { index, questions }: WordFigures): void {
  const ms = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
  const against = (own: number, plain: number): string[] => [ms(own), ms(plain), `${(own / plain).toFixed(2)}x`];
  printTable(
    `words of ${files} generated notes (${index.chunks} chunks), CPU; beside it plain FTS5 in the same process`,
    ["", "memslot", "plain FTS5", "ratio", "one in ten takes more than"],
    [
      ["first index", ...against(index.own, index.plain), ""],
      ...questions.map(({ kind, own, plain, most }) => [kind, ...against(own, plain), ms(most)]),
    ],
  );
  console.log(`\npeak memory after the first index: ${index.megabytes.toFixed(0)} MB`);
}
