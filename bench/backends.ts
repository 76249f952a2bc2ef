import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { withNotes } from "./support/contestants.ts";
import { type DataSet, loadCmrc, loadLocomo } from "./retrieval/datasets.ts";
import { openSet, tallies } from "./retrieval/recall.ts";
import { startEmbeddingServer } from "./support/start-embedding-server.ts";
import { printTable } from "./support/table.ts";

interface Backend {
  name: string;
  slot: string;
  /** With vectors of 768 from a server on this machine. */
  hybrid: boolean;
}

interface Figures {
  indexMs: number;
  unchangedMs: number;
  p50: number;
  p95: number;
  found: number;
  megabytes: number;
  disk: number;
  /** Of each question the places that were found, best first. */
  places: string[][];
}

const timeoutMs = 30 * 60_000;

/**
 * The same notes, questions and searches with each backend: memory-core, memory-lancedb, and memory-qmd where the
 * command of qmd is given. Recall on public data where the folder that holds it is given.
 */
export async function benchBackends(options: {
  files: number;
  qmd: string | undefined;
  data: string | undefined;
}): Promise<void> {
  const { files, qmd, data } = options;
  const backends: Backend[] = [
    { name: "memory-core", slot: "memory-core", hybrid: false },
    { name: "memory-lancedb", slot: "memory-lancedb", hybrid: false },
    ...(qmd === undefined ? [] : [{ name: "memory-qmd", slot: "memory-qmd", hybrid: false }]),
    { name: "memory-core, hybrid", slot: "memory-core", hybrid: true },
    { name: "memory-lancedb, hybrid", slot: "memory-lancedb", hybrid: true },
  ];
  const server = await startEmbeddingServer();
  const columns: string[][] = [];
  let first: string[][] | undefined;
  try {
    for (const backend of backends) {
      const settings = settingsOf(backend, qmd);
      const figures = await measureBackend(backend, settings, files, `${server.url}/v1`);
      const recall = backend.hybrid ? ["", ""] : await recallOf(settings, data);
      first ??= figures.places;
      columns.push([...Object.values(shown(figures)), ...sameAs(first, figures.places), ...recall]);
      console.error(`${backend.name}: ${JSON.stringify({ ...figures, places: undefined })} ${recall.join(" ")}`);
    }
  } finally {
    await server.close();
  }
  await reportFallback(files);
  const labels = [...Object.keys(rows), ...agreement, "LoCoMo recall@6", "CMRC recall@6"];
  printTable(
    `${files} generated notes of 4 kB, each backend in a process of its own, as a library`,
    ["", ...backends.map(({ name }) => name)],
    labels.map((label, row) => [label, ...columns.map((column) => column[row] ?? "")]),
  );
}

const rows: Readonly<Record<string, (figures: Figures) => string>> = {
  "first index": ({ indexMs }) => `${(indexMs / 1000).toFixed(1)} s`,
  "sync, nothing changed": ({ unchangedMs }) => `${unchangedMs.toFixed(0)} ms`,
  "search p50": ({ p50 }) => `${p50.toFixed(1)} ms`,
  "search p95": ({ p95 }) => `${p95.toFixed(1)} ms`,
  "right note first": ({ found }) => found.toFixed(3),
  "peak memory, with its processes": ({ megabytes }) => `${megabytes.toFixed(0)} MB`,
  "index on disk": ({ disk }) => `${disk.toFixed(1)} MB`,
};

const agreement = ["the first backend's best place first", "all six of its places, in its order", "of its six places"];

/** Of how many questions the same places were found as by the first backend. */
function sameAs(first: readonly string[][], places: readonly string[][]): string[] {
  const all = first.length;
  const best = first.filter((each, index) => each[0] === places[index]?.[0]).length;
  const whole = first.filter((each, index) => each.join() === places[index]?.join()).length;
  const shared = first.flatMap((each, index) => each.filter((place) => places[index]?.includes(place))).length;
  return [`${best} of ${all}`, `${whole} of ${all}`, `${shared} of ${first.flat().length}`];
}

function shown(figures: Figures): Record<string, string> {
  return Object.fromEntries(Object.entries(rows).map(([label, show]) => [label, show(figures)]));
}

function settingsOf({ slot }: Backend, qmd: string | undefined): Record<string, unknown> {
  return {
    plugins: { slots: { memory: slot }, entries: { [slot]: slot === "memory-core" ? {} : { fallback: "none" } } },
    ...(slot === "memory-qmd" && { memory: { qmd: { command: qmd } } }),
  };
}

async function measureBackend(
  { name, hybrid }: Backend,
  settings: Record<string, unknown>,
  files: number,
  baseUrl: string,
): Promise<Figures> {
  console.error(`measuring ${name} …`);
  const provider = hybrid
    ? { provider: "openai", model: "bench-embed", remote: { baseUrl, apiKey: "sk-bench" } }
    : { provider: "none" };
  const config = { ...settings, agents: { defaults: { memorySearch: { ...provider, sync: { watch: false } } } } };
  let figures: Figures | undefined;
  await withNotes(files, ({ folder }) => {
    figures = runTask<Figures>("backends", folder, [JSON.stringify(config)], files);
  });
  if (figures === undefined) throw new Error(`${name} gave no figures`);
  return figures;
}

/** What it costs that a primary gives no answer. */
async function reportFallback(files: number): Promise<void> {
  await withNotes(files, ({ folder }) => {
    const { over, next, plain } = runTask<{ over: number; next: number; plain: number }>("fallback", folder, [], files);
    printTable(
      "a primary that gives no answer, with memory-core as its spare",
      ["", "measured", "aimed at"],
      [
        ["first search, beyond the deadline of the primary", `${over.toFixed(0)} ms`, "50 ms"],
        ["search while it is left alone", `${next.toFixed(1)} ms`, ""],
        ["search with memory-core alone", `${plain.toFixed(1)} ms`, ""],
      ],
    );
  });
}

/** Runs a program of this folder in a process of its own, with a home of its own, and gives the figures that it prints. */
function runTask<Result>(task: string, folder: string, args: readonly string[], files: number): Result {
  const home = path.join(folder, "home");
  mkdirSync(home);
  const program = path.join(import.meta.dirname, "tasks", `${task}-task.ts`);
  const run = spawnSync(process.execPath, ["--conditions=@memslot/source", program, folder, ...args], {
    encoding: "utf8",
    timeout: timeoutMs,
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      MEMSLOT_HOME: path.join(home, ".memslot"),
      MEMSLOT_BENCH_FILES: String(files),
    },
  });
  if (run.status !== 0) throw new Error(`${task} ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
  return JSON.parse(run.stdout) as Result;
}

async function recallOf(settings: Record<string, unknown>, data: string | undefined): Promise<string[]> {
  if (data === undefined) return ["", ""];
  const recall = async (dataSet: DataSet | undefined): Promise<string> => {
    if (dataSet === undefined) return "";
    const all = (await tallies(dataSet, (set) => openSet(set, settings))).get("all");
    return all ? (all.recall6 / all.questions).toFixed(3) : "";
  };
  return [
    await recall(loadLocomo(path.join(data, "locomo-dev"))),
    await recall(loadCmrc(path.join(data, "cmrc2018-dev"))),
  ];
}
