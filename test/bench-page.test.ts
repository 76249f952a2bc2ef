import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { makePage, pageFolder, readResults, type BenchResults } from "@memslot/bench/page";
import { rowsOf, scaleMetrics } from "@memslot/bench/scale-rows";
import { describe, expect, test } from "vitest";

type Scale = "growing" | "never" | "slow" | "apart";
/** Times of a hybrid search with some sizes, and what the page says of them. */
const { machine, scales, pages } = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "data/bench-page.json"), "utf8"),
) as {
  machine: NonNullable<BenchResults["commands"]>["machine"];
  scales: Record<Scale, Record<string, [chunks: number, hybridMs: number][]>>;
  pages: [Scale, string[]][];
};

/** What a run over some sizes gives. */
function scale(name: Scale): BenchResults {
  const results: BenchResults = {};
  for (const [engine, points] of Object.entries(scales[name])) {
    for (const [chunks, hybridMs] of points) {
      const measure = { wallMs: [hybridMs], cpuMs: [hybridMs], recall: [1], hybridMs: [hybridMs], rssMegabytes: 100 };
      const rows = rowsOf(chunks, new Map([[engine, measure]]), new Map([[engine, 5]]));
      const step = (results[`scale-${chunks}`] ??= { machine, figures: { rows: [], failures: [] } });
      step.figures.rows.push(...rows);
    }
  }
  return results;
}

describe("the page of benchmarks", () => {
  test("is what the generator makes of the results beside it, the plots too", () => {
    const { markdown, plots } = makePage(readResults());
    const read = (file: string): string => readFileSync(file, "utf8").replaceAll("\r\n", "\n");
    expect(read(`${pageFolder}.md`)).toBe(markdown);
    const drawn = readdirSync(pageFolder).filter((file) => file.endsWith(".svg"));
    expect(drawn.toSorted()).toEqual([...plots.keys()].toSorted());
    for (const [file, svg] of plots) expect([file, read(path.join(pageFolder, file)) === svg]).toEqual([file, true]);
    for (const file of drawn) expect(markdown).toContain(`(benchmarks/${file})`);
  });

  test.each(pages)("says where an engine ends and which is faster from where on: %s", (name, sentences) => {
    const { markdown } = makePage(scale(name));
    for (const sentence of sentences) expect(markdown).toContain(sentence);
    expect(markdown.includes("with 1,000 chunks."), name).toBe(false);
  });
});

describe("the rows of pnpm bench scale", () => {
  const measure = (cpuMs: number, wallMs: number) => ({
    wallMs: [wallMs, wallMs, 10_000],
    cpuMs: [cpuMs, cpuMs, 10_000],
    recall: [1, 0.9],
    hybridMs: [wallMs],
    rssMegabytes: 123.456,
  });

  test("have ratios of processor time to both baselines, more for a faster engine", () => {
    const measures = new Map([
      ["memslot", measure(2, 50)],
      ["A", measure(300, 1)],
      ["A2", measure(40, 1)],
    ]);
    const rows = rowsOf(5000, measures, new Map([["memslot", 6]]));
    const value = (engine: string, metric: string) =>
      rows.find((row) => row.engine === engine && row.metric === metric)?.value;
    expect(rows.filter(({ engine }) => engine === "memslot").map(({ metric }) => metric)).toEqual([...scaleMetrics]);
    expect(value("memslot", "ratio_vs_a2")).toBe(20);
    expect(value("memslot", "ratio_vs_a")).toBe(150);
    expect(value("A2", "ratio_vs_a")).toBe(7.5);
    expect(value("A2", "ratio_vs_a2")).toBe(1);
    expect(value("memslot", "vector_p50_ms")).toBe(50);
    expect(value("memslot", "recall_at_10")).toBe(0.95);
    expect(value("A", "disk_kb_per_chunk")).toBeUndefined();
  });
});
