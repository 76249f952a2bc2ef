import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { scaleMetrics, type ScaleReport } from "@memslot/bench/scale-rows";
import { askDiaries, namesDay } from "@memslot/bench/diary-retrieval";
import { expect, test } from "vitest";

const bench = path.resolve(import.meta.dirname, "../bench/run.ts");

async function run(...args: string[]): Promise<ScaleReport> {
  const command = ["--conditions=@memslot/source", bench, "scale", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { timeout: 15 * 60_000 });
  return JSON.parse(stdout) as ScaleReport;
}

test("pnpm bench scale measures every engine, whatever the time that it takes", { timeout: 16 * 60_000 }, async () => {
  const { rows, failures } = await run("--chunks", "500", "--json");
  expect(failures).toEqual([]);
  const engines = [...new Set(rows.map(({ engine }) => engine))];
  expect(engines.filter((engine) => !engine.startsWith("memslot"))).toEqual([
    "memory-lancedb",
    "sqlite-vec",
    "A",
    "A2",
  ]);
  expect(engines.filter((engine) => engine.startsWith("memslot")).length).toBeGreaterThanOrEqual(1);
  for (const engine of engines) {
    const own = rows.filter((row) => row.engine === engine);
    expect([engine, own.map(({ metric }) => metric)]).toEqual([engine, [...scaleMetrics]]);
    for (const row of own) expect(row).toEqual({ chunks: 500, engine, metric: row.metric, value: expect.any(Number) });
    expect(own.filter(({ value }) => !(value > 0))).toEqual([]);
  }
  // So few are compared one by one: an engine that finds others answers another question.
  const recall = rows.filter(({ metric }) => metric === "recall_at_10");
  expect(recall.filter(({ value }) => value < 0.99)).toEqual([]);
});

test("a size or an engine that there is not is refused with what there is", { timeout: 5 * 60_000 }, async () => {
  await expect(run("--chunks", "many")).rejects.toThrow("--chunks takes whole numbers from 10 on");
  await expect(run("--engines", "fastest")).rejects.toThrow(/no engine "fastest": memslot.*, A2/);
});

test("the day that a question names comes first", { timeout: 60_000 }, async () => {
  const asked = (await askDiaries()).filter(namesDay);
  expect(asked.length).toBe(132);
  expect(asked.filter(({ inSix }) => !inSix).map(({ question }) => question.query)).toEqual([]);
  expect(asked.filter(({ first }) => first).length).toBeGreaterThanOrEqual(Math.ceil(0.92 * asked.length));
});
