import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makePage } from "./page.ts";
import { pageFolder, readResults, type BenchResults, writeResults } from "./results.ts";
import { runStep, type StepOptions, stepNames } from "./steps.ts";

export interface PageOptions extends StepOptions {
  /** Names of steps to measure again, though this clone has measured them. */
  again: readonly string[];
  /** Measure nothing. */
  draw: boolean;
}

/**
 * `pnpm bench page`: measures what this clone has not measured yet, and writes the page and its plots from it. Steps that
 * are not measured now keep the figures that they have on the page.
 */
export async function benchPage({ again, draw, ...options }: PageOptions): Promise<void> {
  const names = stepNames(options.sizes);
  const unknown = again.find((name) => !names.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`there is no step "${unknown}": ${names.join(", ")}`);
  if (!draw) {
    for (const name of names) {
      const step = await runStep(name, options, again.includes(name));
      // At once: what comes after may fail.
      writeResults({ ...readResults(), [name]: step } as BenchResults);
    }
  }
  writePage(readResults());
}

/** Writes `docs/benchmarks.md` and its plots; plots that it does not show go. */
function writePage(results: BenchResults): void {
  const { markdown, plots } = makePage(results);
  mkdirSync(pageFolder, { recursive: true });
  for (const file of readdirSync(pageFolder)) {
    if (file.endsWith(".svg") && !plots.has(file)) rmSync(path.join(pageFolder, file));
  }
  for (const [file, svg] of plots) writeFileSync(path.join(pageFolder, file), svg);
  writeFileSync(`${pageFolder}.md`, markdown);
}
