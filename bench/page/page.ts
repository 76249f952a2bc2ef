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
  return { markdown: `${parts.filter((part) => part !== "").join("\n\n")}\n`, plots };
}

const intro = `# Benchmarks

Made by \`pnpm bench\` from [results.json](benchmarks/results.json): no figure on this page was written by hand.
Times depend on the machine and on who else works on it, ratios much less; the programs of a table were measured in turn on
the same machine. \`pnpm build && pnpm bench\` measures everything anew, which takes an hour or so; what it has measured it
keeps in \`bench/results\`, so that it goes on where it was stopped. \`pnpm bench page --again commands\` measures one part
anew, and \`pnpm bench page --draw\` none. What each part does is told in [bench/README.md](../bench/README.md).`;

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

${files.toLocaleString("en")} generated notes of 4 kB, by words alone: no program has a model here. Each command is a fresh process; the first
index once, the rest ${rounds} times, the median. Each search is for a fact that one note holds, six results, and each program
finds it; qmd answers from the index as it was made, memslot looks whether notes have changed. Above
1x in a column of ratios the other program takes more.

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

Each program is loaded as a library into a process of its own, with its index made. Times are of ${searches} searches by words in
${files.toLocaleString("en")} generated notes, after a first one that stands by itself; \`fact first\` says how often the first result held the fact
that was asked for. The right note is that of ${questions} questions to [the vault](../bench/vault/README.md), six results each, by words alone
and with the usual settings of each program. A search of memslot looks whether notes have changed, but for its
second row; qmd and plain FTS5 answer from the index as it was made. OpenClaw's index was made by its command. qmd is asked for
all words at once and, where that finds nothing, for each of them.

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

The ranking changed after the measurement above. \`pnpm bench retrieval\` gives these figures: right note first, and
right note in six, by words alone. OpenClaw was not measured again.

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

\`pnpm bench scale\`: chunks of 180 words and vectors of 768 numbers, made with a fixed seed, in 400 groups; the vectors are
given, no model is asked. Each engine makes its index and answers in processes of its own, in turn with the others: 24 rows for each
query, of which the first ten are compared with the exact ten nearest (\`recall_at_10\`). \`hybrid\` asks for words and vector
together and does not make one list of them; memory-lancedb is its store
alone, which gives places: the texts lie in the ledger, whose time and disk are not in its rows. What begins
with \`memslot\` is memory-core, the backend that it comes with. \`sqlite-vec\` is one table of it, one of FTS5 and nothing else. \`A2\` is the
query of OpenClaw 2026.9.6 on tables of its shape, \`A\` its older one, both written anew from what they do. The ratios are of processor
time for a search by vector: how often an engine could answer while the baseline answers once. Memory is that of the whole
process, Node and the bench included: look at how it grows.

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
  const table = markdownTable(
    ["", "day", "commit", "processor", "cores", "memory", "system", "Node", "load before and after"],
    steps.map(([name, { day, commit, processor, cores, gigabytes, system, node, load }]) => [
      name,
      day,
      commit,
      processor,
      String(cores),
      `${gigabytes} GB`,
      system,
      node,
      load.join(" and "),
    ]),
  );
  return `## Where it was measured

A \`+\` behind a commit: files were changed after it. A load above the number of cores: others were at work on the machine,
wall times are too long, and processor time is what to read.

${table}`;
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
