import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { makePage, pageFolder, readResults, type BenchResults } from "@memslot/bench/page";
import { rowsOf, scaleMetrics } from "@memslot/bench/scale-rows";
import { describe, expect, test } from "vitest";

const machine = {
  day: "2026-01-02",
  processor: "A processor",
  cores: 2,
  gigabytes: 8,
  system: "Linux 6 x64",
  load: [0.5, 1] as [number, number],
  node: "v24.0.0",
  commit: "0123456789",
};
const usage = { cpu: 1, wall: 2, megabytes: 100 };
const program = { name: "memslot", first: usage, unchanged: usage, search: usage, indexMegabytes: 3 };
const asked = {
  firstMs: 9,
  p50Ms: 2,
  p95Ms: 3,
  cpuMs: 1,
  factFirst: 1,
  noteFirst: 0.5,
  noteInSix: 0.75,
  megabytes: 90,
};

/** What a run over some sizes gives, with these times of a search by words and vector. */
function scale(times: Readonly<Record<string, readonly [chunks: number, hybridMs: number][]>>): BenchResults {
  const results: BenchResults = {};
  for (const [engine, points] of Object.entries(times)) {
    for (const [chunks, hybridMs] of points) {
      const measure = { wallMs: [hybridMs], cpuMs: [hybridMs], recall: [1], hybridMs: [hybridMs], rssMegabytes: 100 };
      const rows = rowsOf(chunks, new Map([[engine, measure]]), new Map([[engine, 5]]));
      const step = (results[`scale-${chunks}`] ??= { machine, figures: { rows: [], failures: [] } });
      step.figures.rows.push(...rows);
    }
  }
  return results;
}

const tiny: BenchResults = {
  commands: {
    machine,
    figures: {
      files: 20,
      rounds: 1,
      programs: [program, { ...program, name: "other", first: { ...usage, cpu: 12.5 } }],
    },
  },
  "in-process": {
    machine,
    figures: { files: 20, searches: 5, questions: 7, programs: [{ name: "memslot", ...asked }] },
  },
  ...scale({ memslot: [[1000, 3]], "memory-lancedb": [[1000, 8]] }),
};

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
    expect(markdown.match(/A processor/g)).toHaveLength(3);
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

  test("says where an engine ends and from where on memory-lancedb is faster", () => {
    const growing = scale({
      "memslot-a": [
        [1000, 1],
        [10_000, 90],
        [100_000, 900],
      ],
      "memslot-b": [
        [1000, 2],
        [10_000, 20],
        [100_000, 250],
      ],
      "memory-lancedb": [
        [1000, 9],
        [10_000, 30],
        [100_000, 60],
      ],
    });
    const { markdown } = makePage(growing);
    expect(markdown).toContain("- `memslot-a`: up to 10,000 chunks (90 ms), and no longer with 100,000 (900 ms).");
    expect(markdown).toContain("- `memory-lancedb`: up to 100,000 chunks, the most that it was measured with (60 ms).");
    expect(markdown).toContain("From 100,000 chunks on memory-lancedb in a folder is faster");
    const never = makePage(
      scale({
        memslot: [
          [1000, 1],
          [10_000, 5],
        ],
        "memory-lancedb": [
          [1000, 9],
          [10_000, 30],
        ],
      }),
    );
    expect(never.markdown).toContain("With all sizes up to 10,000 chunks memory-core is faster");
    const slow = makePage(scale({ A: [[1000, 400]] })).markdown;
    expect(slow).toContain("- `A`: not with 1,000 chunks (400 ms).");
    expect(never.markdown).not.toContain("with 1,000 chunks.");
    const apart = makePage(
      scale({
        memslot: [[1000, 1]],
        A: [
          [1000, 9],
          [10_000, 90],
        ],
      }),
    ).markdown;
    expect(apart).toContain("- `memslot` with 10,000 chunks.");
    expect(slow).toContain("were not measured with the same number of chunks");
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
