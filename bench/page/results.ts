import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ScaleReport } from "../scale/rows.ts";
import type { Machine } from "./machine.ts";

/** What one program used for one command, medians where it was run more than once. */
export interface CommandUsage {
  /** Seconds. */
  cpu: number;
  wall: number;
  /** Of the largest process. */
  megabytes: number;
}

/** Whole commands, each in a fresh process. */
export interface CommandFigures {
  files: number;
  rounds: number;
  programs: {
    name: string;
    first: CommandUsage;
    unchanged: CommandUsage;
    search: CommandUsage;
    indexMegabytes: number;
  }[];
}

/** One program that has its index open and is asked in its own process. Times in milliseconds. */
export interface InProcessFigures {
  files: number;
  searches: number;
  /** Questions of the vault that need no clock and have an answer. */
  questions: number;
  programs: {
    name: string;
    firstMs: number;
    p50Ms: number;
    p95Ms: number;
    cpuMs: number;
    /** Shares of the searches for a fact, and of the questions of the vault. */
    factFirst: number;
    noteFirst: number;
    noteInSix: number;
    megabytes: number;
  }[];
}

/** Right notes that programs find in one set of questions, by words alone. */
interface FoundFigures {
  name: string;
  questions: number;
  programs: { name: string; noteFirst: number; noteInSix: number }[];
}

interface Figures {
  commands: CommandFigures;
  "in-process": InProcessFigures;
  /** The rows `all` of the comparisons that `pnpm bench retrieval` prints. */
  found: FoundFigures[];
  [scale: `scale-${number}`]: ScaleReport;
}

export type StepName = keyof Figures;

/** Everything that was measured, each step with the machine and the day. A step that is absent was not measured. */
export type BenchResults = { [Name in StepName]?: { machine: Machine; figures: Figures[Name] } };

const root = path.resolve(import.meta.dirname, "../..");
/** What this clone has measured; the page is made from the other one, which is part of the repository. */
const measuredFolder = path.join(root, "bench/results");
export const pageFolder: string = path.join(root, "docs/benchmarks");
const kept = path.join(pageFolder, "results.json");

/** What the page in the repository was made from. */
export function readResults(): BenchResults {
  return existsSync(kept) ? (JSON.parse(readFileSync(kept, "utf8")) as BenchResults) : {};
}

export function writeResults(results: BenchResults): void {
  mkdirSync(pageFolder, { recursive: true });
  const sorted = Object.fromEntries(
    Object.entries(results).toSorted(([left], [right]) => left.localeCompare(right, "en", { numeric: true })),
  );
  writeFileSync(kept, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

/** A step that this clone has measured before. */
export function readMeasured(name: StepName): BenchResults[StepName] | undefined {
  const file = path.join(measuredFolder, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as BenchResults[StepName]) : undefined;
}

export function writeMeasured(name: StepName, step: NonNullable<BenchResults[StepName]>): void {
  mkdirSync(measuredFolder, { recursive: true });
  writeFileSync(path.join(measuredFolder, `${name}.json`), `${JSON.stringify(step, undefined, 2)}\n`);
}
