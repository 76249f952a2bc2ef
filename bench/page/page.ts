import { type ScaleMetric, type ScaleReport, type ScaleRow, scaleMetrics } from "../scale/rows.ts";
import { markdownTable } from "../support/table.ts";
import type { Machine } from "./machine.ts";
import { drawCommands, drawScale } from "./plots.ts";
import type { BenchResults, CommandFigures, CommandUsage, InProcessFigures } from "./results.ts";
import { unmeasured } from "./unmeasured.ts";
import { whereEnginesEnd } from "./where-engines-end.ts";

/** The page, and the plots that it shows, by their file names. */
interface BenchPage {
  markdown: string;
  plots: Map<string, string>;
}

const scalePlots: readonly { file: string; metric: ScaleMetric; title: string; unit: string }[] = [
  { file: "vector.svg", metric: "vector_p50_ms", title: "A search by vector, half of them are faster", unit: "ms" },
  { file: "hybrid.svg", metric: "hybrid_p50_ms", title: "By words and by vector, half of them are faster", unit: "ms" },
  { file: "memory.svg", metric: "rss_mb", title: "Memory of the process that searches, at its most", unit: "MB" },
  { file: "disk.svg", metric: "disk_kb_per_chunk", title: "Disk for each chunk: text, words and vectors", unit: "kB" },
];

/** Makes the page from what was measured. Nothing but the results decides what stands in it. */
export function makePage(results: BenchResults): BenchPage {
  const plots = new Map<string, string>();
  const scale = scaleOf(results);
  const parts = [
    intro,
    commandsPart(results.commands?.figures, plots),
    inProcessPart(results["in-process"]?.figures),
    foundPart(results.found?.figures),
    scalePart(scale, plots),
    unmeasured(results, scale),
    machinesPart(results),
  ];
  const markdown = `${parts.filter((part) => part !== "").join("\n\n")}\n`;
  // Cells are not padded: the page is read, its source is not.
  return { markdown: markdown.replaceAll(/ {2,}\|/gu, " |").replaceAll(/-{4,} \|/gu, "--- |"), plots };
}

const intro = `# Benchmarks

\`pnpm bench\` makes this page from [results.json](benchmarks/results.json). Times depend on the machine, ratios much less: the programs of a
table ran in turn on the same machine. \`pnpm build && pnpm bench\` measures everything again in about an hour and resumes if it is
interrupted. [bench/README.md](../bench/README.md) describes each part.`;

function commandsPart(figures: CommandFigures | undefined, plots: Map<string, string>): string {
  if (figures === undefined) return "";
  plots.set("commands.svg", drawCommands(figures));
  const { files, rounds, programs } = figures;
  const [own] = programs;
  const usages: [string, (program: CommandFigures["programs"][number]) => CommandUsage][] = [
    ["first index", ({ first }) => first],
    ["nothing to index", ({ unchanged }) => unchanged],
    ["search", ({ search }) => search],
  ];
  const rows: [string, string, (program: CommandFigures["programs"][number]) => number][] = [
    ...usages.flatMap(([name, of]): typeof rows => [
      [`${name}, processor`, "s", (program) => of(program).cpu],
      [`${name}, wall`, "s", (program) => of(program).wall],
      [`${name}, peak memory`, "MB", (program) => of(program).megabytes],
    ]),
    ["index on disk", "MB", ({ indexMegabytes }) => indexMegabytes],
  ];
  const table = markdownTable(
    ["", ...programs.map(({ name }) => name), ...programs.slice(1).map(({ name }) => `${name} to memslot`)],
    rows.map(([label, unit, read]) => [
      label,
      ...programs.map((program) => `${shown(read(program))} ${unit}`),
      ...programs.slice(1).map((program) => ratio(read(program), own === undefined ? Number.NaN : read(own))),
    ]),
  );
  return `## Whole commands

${files.toLocaleString("en")} generated notes of 4 kB, keyword search without a model. Each command is a new process: the first index once, the others
${rounds} times (median). Each program finds the fact that each search asks for. memslot checks for changed notes; qmd does not. A ratio above 1x
means that the other program takes more.

${table}

![Processor time of whole commands](benchmarks/commands.svg)`;
}

function inProcessPart(figures: InProcessFigures | undefined): string {
  if (figures === undefined) return "";
  const { files, searches, questions, programs } = figures;
  const table = markdownTable(
    [
      "",
      "first search",
      "search p50",
      "search p95",
      "processor",
      "fact first",
      "right note first",
      "right note in six",
      "peak memory",
    ],
    programs.map((program) => [
      program.name,
      `${shown(program.firstMs)} ms`,
      `${shown(program.p50Ms)} ms`,
      `${shown(program.p95Ms)} ms`,
      `${shown(program.cpuMs)} ms`,
      program.factFirst.toFixed(3),
      program.noteFirst.toFixed(3),
      program.noteInSix.toFixed(3),
      `${shown(program.megabytes)} MB`,
    ]),
  );
  return `## Searches in a process, and what they find

Each program is a library in its own process, with an existing index. Times are of ${searches} keyword searches in ${files.toLocaleString("en")} generated notes,
after the first one. \`fact first\`: share of searches whose first result contains the fact. The right note: ${questions} questions to
[the vault](../bench/vault/README.md), six results, default settings. memslot checks for changed notes, except in its second row; qmd and plain
FTS5 do not. qmd is asked for all words at once and, if that finds nothing, for each of them.

${table}`;
}

function foundPart(figures: NonNullable<BenchResults["found"]>["figures"] = []): string {
  const [first] = figures;
  if (first === undefined) return "";
  const table = markdownTable(
    ["", "questions", ...first.programs.map(({ name }) => name)],
    figures.map(({ name, questions, programs }) => [
      name,
      String(questions),
      ...programs.map(({ noteFirst, noteInSix }) => `${noteFirst.toFixed(3)} / ${noteInSix.toFixed(3)}`),
    ]),
  );
  return `## What they find, with the current ranking

The ranking changed after the measurement above. From \`pnpm bench retrieval\`: right note first / in six, keyword search. OpenClaw was not
measured again.

${table}`;
}

function scalePart({ rows }: ScaleReport, plots: Map<string, string>): string {
  if (rows.length === 0) return "";
  for (const { file, metric, title, unit } of scalePlots) plots.set(file, drawScale(title, unit, metric, rows));
  const sizes = [...new Set(rows.map(({ chunks }) => chunks))].toSorted((left, right) => left - right);
  const tables = sizes.map(
    (chunks) =>
      `### ${chunks.toLocaleString("en")} chunks\n\n${scaleTable(rows.filter((row) => row.chunks === chunks))}`,
  );
  const images = scalePlots.map(({ file, title }) => `![${title}](benchmarks/${file})`);
  return `## With more and more chunks

\`pnpm bench scale\`: chunks of 180 words and vectors of 768 dimensions in 400 groups, fixed seed, no model. Each engine runs in its own
processes, alternating with the others, 24 rows per query.

- \`recall_at_10\` compares the first ten rows with the exact ten nearest. \`hybrid\` asks for words and vector together, without merging.
- \`memslot-…\` is memory-core. \`memory-lancedb\` is its store alone, without the ledger. \`sqlite-vec\` is one table of it and one of FTS5.
- \`A2\` is the query of OpenClaw 2026.9.6 on tables of its shape, \`A\` its older one; both are reimplementations.
- Ratios compare processor time of a vector search. Memory includes Node and the bench: compare its growth.

${[...tables, whereEnginesEnd(rows), ...images].join("\n\n")}`;
}

function scaleTable(rows: readonly ScaleRow[]): string {
  return markdownTable(
    ["", ...scaleMetrics.map((metric) => `\`${metric}\``)],
    [...new Set(rows.map(({ engine }) => engine))].map((engine) => [
      engine,
      ...scaleMetrics.map((metric) => {
        const row = rows.find((one) => one.engine === engine && one.metric === metric);
        if (row === undefined) return "";
        return metric.startsWith("ratio") ? `${shown(row.value)}x` : shown(row.value);
      }),
    ]),
  );
}

function machinesPart(results: BenchResults): string {
  const steps = Object.entries(results).flatMap(([name, step]): [string, Machine][] =>
    step === undefined ? [] : [[name, step.machine]],
  );
  const machineOf = ({ processor, cores, gigabytes, system, node }: Machine): string =>
    `${processor}, ${cores} cores, ${gigabytes} GB, ${system}, Node ${node}`;
  const tables = [...Map.groupBy(steps, ([, machine]) => machineOf(machine))].map(([machine, group]) => {
    const rows = group.map(([name, { day, commit, load }]) => [name, day, commit, load.join(" and ")]);
    return `${machine}:\n\n${markdownTable(["", "day", "commit", "load before and after"], rows)}`;
  });
  return `## Where it was measured

A \`+\` behind a commit: files were changed after it. A load above the number of cores: other programs were running; compare processor
time, not wall time.

${tables.join("\n\n")}`;
}

/** The sizes that were measured, as one report. */
function scaleOf(results: BenchResults): ScaleReport {
  const steps = Object.entries(results).flatMap(([name, step]) =>
    step !== undefined && name.startsWith("scale-") ? [step.figures as ScaleReport] : [],
  );
  return { rows: steps.flatMap(({ rows }) => rows), failures: steps.flatMap(({ failures }) => failures) };
}

function ratio(value: number, by: number): string {
  return `${shown(value / by)}x`;
}

/** As many digits as help. */
function shown(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
