import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { accessCode, writeCorpus } from "./corpus.ts";
import { measure, type Usage } from "./measure.ts";
import { median, printTable } from "./table.ts";

const root = path.resolve(import.meta.dirname, "..");
const rounds = 5;
const probe = 1234;

/** A program under test: how its commands are called, and where its index stands. */
interface Contestant {
  name: string;
  environment: NodeJS.ProcessEnv;
  index: string[];
  search: string[];
  indexFolder: string;
}

interface Figures {
  first: Usage;
  unchanged: Usage[];
  search: Usage[];
  indexMegabytes: number;
}

/**
 * Times whole commands on generated notes in keyword mode: first index, index with nothing to do, and search in a fresh
 * process. With `openclaw` it is installed into a temporary folder and runs in turn with this project.
 */
export function benchSpeed(options: { files: number; openclaw: boolean }): void {
  if (!existsSync(path.join(root, "apps/memslot/dist/cli.js")))
    throw new Error("run `pnpm build` first: the built command is measured");
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-"));
  try {
    const workspace = path.join(folder, "workspace");
    writeCorpus(path.join(workspace, "memory"), options.files);
    writeFileSync(path.join(workspace, "MEMORY.md"), "# Memory\n\nGenerated notes for measuring.\n");
    const contestants = [memslot(folder, workspace)];
    if (options.openclaw) contestants.push(openclaw(folder, workspace));
    const figures = contestants.map(run);
    report(options.files, contestants, figures);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(contestant: Contestant): Figures {
  console.error(`measuring ${contestant.name} …`);
  const call = (program: string[]): Usage => measure(program, contestant.environment, 15 * 60_000);
  const first = call(contestant.index);
  // Files that were saved a moment ago are looked at once more; the second run is the one with nothing to do.
  call(contestant.index);
  const unchanged = Array.from({ length: rounds }, () => call(contestant.index));
  const search = Array.from({ length: rounds }, () => call(contestant.search));
  if (!search.every((usage) => usage.stdout.includes(accessCode(probe))))
    throw new Error(`${contestant.name} did not find ${accessCode(probe)}`);
  return { first, unchanged, search, indexMegabytes: sizeOf(contestant.indexFolder) / 1e6 };
}

function report(files: number, contestants: readonly Contestant[], figures: readonly Figures[]): void {
  const rows: [string, (figure: Figures) => number, string][] = [
    ["first index, CPU", (figure) => figure.first.cpuMs / 1000, "s"],
    ["first index, wall", (figure) => figure.first.wallMs / 1000, "s"],
    ["first index, peak memory", (figure) => figure.first.peakMegabytes, "MB"],
    ["nothing to index, CPU", (figure) => median(figure.unchanged.map((usage) => usage.cpuMs)) / 1000, "s"],
    ["nothing to index, wall", (figure) => median(figure.unchanged.map((usage) => usage.wallMs)) / 1000, "s"],
    ["search, CPU", (figure) => median(figure.search.map((usage) => usage.cpuMs)) / 1000, "s"],
    ["search, wall", (figure) => median(figure.search.map((usage) => usage.wallMs)) / 1000, "s"],
    ["search, peak memory", (figure) => median(figure.search.map((usage) => usage.peakMegabytes)), "MB"],
    ["index on disk", (figure) => figure.indexMegabytes, "MB"],
  ];
  const [own] = figures;
  printTable(
    `${files} generated notes of 4 kB, keyword mode, fresh processes, median of ${rounds}`,
    ["", ...contestants.map((contestant) => contestant.name), ...(figures.length > 1 ? ["ratio"] : [])],
    rows.map(([label, read, unit]) => [
      label,
      ...figures.map((figure) => `${read(figure).toFixed(unit === "s" ? 2 : 0)} ${unit}`),
      ...figures.slice(1).map((figure) => `${(read(figure) / (own ? read(own) : Number.NaN)).toFixed(1)}x`),
    ]),
  );
}

function memslot(folder: string, workspace: string): Contestant {
  const home = path.join(folder, "memslot-home");
  mkdirSync(home);
  const command = [path.join(root, "apps/memslot/bin/memslot.js"), "memory"];
  return {
    name: "memslot",
    environment: { PATH: process.env.PATH, HOME: home, MEMSLOT_HOME: path.join(home, ".memslot") },
    index: [...command, "index", "--workspace", workspace],
    search: [...command, "search", `access code of project zephyr${probe}`, "--workspace", workspace],
    indexFolder: path.join(home, ".memslot"),
  };
}

function openclaw(folder: string, workspace: string): Contestant {
  const install = path.join(folder, "openclaw");
  const state = path.join(folder, "openclaw-state");
  mkdirSync(install);
  mkdirSync(state);
  writeFileSync(path.join(install, "package.json"), '{ "private": true }');
  console.error("installing openclaw into a temporary folder …");
  const npm = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", "openclaw@2026.9.6"], {
    cwd: install,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (npm.status !== 0) throw new Error("openclaw could not be installed");
  const settings = { agents: { defaults: { workspace } }, memory: { search: { provider: "none" } } };
  writeFileSync(path.join(state, "openclaw.json"), JSON.stringify(settings));
  const command = [path.join(install, "node_modules/openclaw/openclaw.mjs"), "memory"];
  return {
    name: "openclaw 2026.9.6",
    environment: { PATH: process.env.PATH, HOME: state, OPENCLAW_STATE_DIR: state },
    index: [...command, "index"],
    search: [...command, "search", `access code of project zephyr${probe}`],
    indexFolder: path.join(state, "agents"),
  };
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}
