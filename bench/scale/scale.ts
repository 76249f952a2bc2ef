import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { megabytesOf } from "../support/contestants.ts";
import { printTable } from "../support/table.ts";
import { scaleEngines } from "./engines.ts";
import { measureEngines, runTask } from "./processes.ts";
import { recallDepth } from "./synthetic.ts";
import { type ScaleReport, type ScaleRow, rowsOf, scaleMetrics } from "./rows.ts";

export interface ScaleOptions {
  sizes: readonly number[];
  /** Names of engines. Absent: all of them. */
  engines?: readonly string[] | undefined;
}

export const usualSizes: readonly number[] = [1000, 10_000, 100_000];
const queryCount = 40;
const minuteMs = 60_000;

/**
 * Measures every engine with every number of chunks of 768 dimensions: each makes its index in a process of its own, and
 * answers in another one, in turn with the others, so that a busy machine is busy for all of them. What could not be
 * measured is listed in `failures`.
 */
export async function measureScale({ sizes, engines }: ScaleOptions): Promise<ScaleReport> {
  const names = chosenEngines(engines);
  const wrong = sizes.find((size) => !Number.isInteger(size) || size < recallDepth);
  if (wrong !== undefined) throw new Error(`--chunks takes whole numbers from ${recallDepth} on, with commas between`);
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-scale-"));
  const report: ScaleReport = { rows: [], failures: [] };
  try {
    console.error(`making vectors for ${Math.max(...sizes)} chunks …`);
    await runTask(["vectors", folder, sizes.join(","), String(queryCount)], 30 * minuteMs);
    for (const chunks of sizes) {
      const fail = (engine: string, reason: string): void => {
        console.error(`${engine} with ${chunks} chunks: ${reason}`);
        report.failures.push({ chunks, engine, reason });
      };
      const built: string[] = [];
      for (const name of names) {
        console.error(`${chunks} chunks: ${name} makes its index …`);
        const timeoutMs = (10 + chunks / 2000) * minuteMs;
        await runTask(["build", name, folder, String(chunks), path.join(folder, name)], timeoutMs).then(
          () => void built.push(name),
          (error: unknown) => fail(name, String(error)),
        );
      }
      const measured = await measureEngines({ names: built, folder, chunks, queryCount, fail });
      const disk = new Map(
        built.map((name) => [name, (megabytesOf(path.join(folder, name)) * 1000) / chunks] as const),
      );
      report.rows.push(...rowsOf(chunks, measured, disk));
      for (const name of names) rmSync(path.join(folder, name), { recursive: true, force: true });
    }
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `pnpm bench scale`: prints the rows as JSON or as a table. */
export async function benchScale(options: ScaleOptions & { json: boolean }): Promise<void> {
  const report = await measureScale(options);
  if (options.json) console.log(JSON.stringify(report, undefined, 2));
  else for (const chunks of options.sizes) printSize(chunks, report.rows);
  // What was asked for is not there.
  if (report.failures.length > 0) process.exitCode = 1;
}

function printSize(chunks: number, rows: readonly ScaleRow[]): void {
  const here = rows.filter((row) => row.chunks === chunks);
  printTable(
    `${chunks.toLocaleString("en")} chunks of 768 dimensions`,
    ["", ...scaleMetrics],
    [...new Set(here.map(({ engine }) => engine))].map((engine) => [
      engine,
      ...scaleMetrics.map((metric) => {
        const row = here.find((one) => one.engine === engine && one.metric === metric);
        return row === undefined ? "" : String(row.value);
      }),
    ]),
  );
}

function chosenEngines(asked: readonly string[] | undefined): string[] {
  const names = scaleEngines().map(({ name }) => name);
  const unknown = asked?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`there is no engine "${unknown}": ${names.join(", ")}`);
  return names.filter((name) => asked?.includes(name) ?? true);
}
