import { readFileSync } from "node:fs";
import path from "node:path";
import { accessCode } from "../support/corpus.ts";
import { isAnswerable } from "./in-process.ts";
import { percentile } from "../support/table.ts";
import { readVault } from "../retrieval/vault.ts";
import { type OpenedProgram, openProgram } from "./programs.ts";
import type { InProcessFigures } from "./results.ts";

/**
 * One program asked in its own process: `node in-process-task.ts NAME FOLDER FILES SEARCHES`. The folder holds
 * `generated/` and `vault/`, two workspaces. Prints its figures as JSON.
 */
const [name = "", folder = "", files = "", searches = ""] = process.argv.slice(2);
const limit = 6;

const wallMs: number[] = [];
const cpuMs: number[] = [];
let factFirst = 0;
const generated = await openProgram(name, path.join(folder, "generated"));
const firstMs = await timed(() => generated.search("access code project zephyr0", limit));
for (let count = 0; count < Number(searches); count++) {
  const note = (count * 37) % Number(files);
  const cpu = process.cpuUsage();
  let found: readonly string[] = [];
  wallMs.push(
    await timed(async () => {
      found = await generated.search(`access code project zephyr${note}`, limit);
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  cpuMs.push((user + system) / 1000);
  if (found[0] !== undefined && textOf("generated", found[0]).includes(accessCode(note))) factFirst++;
}
const megabytes = process.resourceUsage().maxRSS / 1024;
await generated.close();

const questions = readVault().questions.filter(isAnswerable);
const vault = await openProgram(name, path.join(folder, "vault"));
let noteFirst = 0;
let noteInSix = 0;
for (const { query, evidence } of questions) {
  const right = new Set(evidence.map((place) => place.path));
  const found = await searchOrNothing(vault, query);
  if (found[0] !== undefined && right.has(found[0])) noteFirst++;
  if (found.some((file) => right.has(file))) noteInSix++;
}
await vault.close();

const figures: InProcessFigures["programs"][number] = {
  name: generated.name,
  firstMs: rounded(firstMs),
  p50Ms: rounded(percentile(wallMs, 0.5)),
  p95Ms: rounded(percentile(wallMs, 0.95)),
  cpuMs: rounded(percentile(cpuMs, 0.5)),
  factFirst: factFirst / wallMs.length,
  noteFirst: rounded(noteFirst / questions.length),
  noteInSix: rounded(noteInSix / questions.length),
  megabytes: Math.round(megabytes),
};
console.log(`\n${JSON.stringify(figures)}`);
// What a program has left open does not keep the next one waiting.
process.exit(0);

/** A question that a program cannot read, such as one of punctuation, is one that it does not answer. */
async function searchOrNothing(program: OpenedProgram, query: string): Promise<readonly string[]> {
  try {
    return await program.search(query, limit);
  } catch (error) {
    console.error(`${program.name} could not be asked "${query}": ${String(error)}`);
    return [];
  }
}

function textOf(workspace: string, file: string): string {
  return readFileSync(path.join(folder, workspace, file), "utf8");
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
