import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { makePage, pageFolder, readResults, type BenchResults } from "@memslot/bench/page";
import { rowsOf, scaleMetrics } from "@memslot/bench/scale-rows";
import { describe, expect, test } from "vitest";

type Scale = "tiny" | "growing" | "never" | "slow" | "apart";
/** Results of the other parts, times of a search by words and vector with some sizes, and what the page says of them. */
const { parts, scales, pages } = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "data/bench-page.json"), "utf8"),
) as {
  parts: Required<Pick<BenchResults, "commands" | "in-process">>;
  scales: Record<Scale, Record<string, [chunks: number, hybridMs: number][]>>;
  pages: [Scale, string[]][];
};
const { machine } = parts.commands;

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

const tiny: BenchResults = { ...parts, ...scale("tiny") };

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

  test("is the same however often and in whatever order it is made", () => {
    const first = makePage(tiny);
    makePage(readResults());
    expect(makePage(tiny)).toEqual(first);
  });

  test("shows every figure of a small result, its ratios and where it was measured", () => {
    const { markdown, plots } = makePage(tiny);
    expect([...plots.keys()]).toEqual(["commands.svg", "vector.svg", "hybrid.svg", "memory.svg", "disk.svg"]);
    for (const svg of plots.values()) expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(markdown).toMatch(/\| first index, processor +\| 1 s +\| 12\.5 s \| 12\.5x/);
    expect(markdown).toMatch(
      /\| memslot \| 9 ms +\| 2 ms +\| 3 ms +\| 1 ms +\| 1\.000 +\| 0\.500 +\| 0\.750 +\| 90 MB/,
    );
    for (const metric of scaleMetrics) expect(markdown).toContain(`\`${metric}\``);
    expect(markdown.match(/A processor/g)).toHaveLength(1);
    expect(markdown).not.toMatch(/NaN|undefined|Infinity/);
  });

  test("says what was not measured, and what failed", () => {
    expect(makePage({}).markdown).toContain("The part `commands`");
    const { markdown } = makePage({
      ...tiny,
      "scale-1000": { machine, figures: { rows: [], failures: [{ chunks: 1000, engine: "A2", reason: "no memory" }] } },
    });
    expect(markdown).toContain("`A2` with 1,000 chunks: no memory.");
    expect(markdown).toContain("1,000, 10,000, 100,000, 1,000,000 chunks:");
    expect(markdown).not.toContain("The part `commands`");
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

  test("have no ratio to a baseline that was not measured", () => {
    const rows = rowsOf(5000, new Map([["memslot", measure(2, 50)]]), new Map());
    expect(rows.map(({ metric }) => metric).filter((metric) => metric.startsWith("ratio"))).toEqual([]);
  });
});
