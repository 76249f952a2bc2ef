import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type VaultQuestion, readVault } from "./retrieval/vault.ts";
import { type Usage, measure } from "./support/measure.ts";
import { installPeer, openclawPeer } from "./support/peers.ts";
import { median, printTable } from "./support/table.ts";

const extension = path.resolve(import.meta.dirname, "../extensions/openclaw");
const commandMs = 10 * 60_000;
const shown = 6;
const starts = 3;

interface Figures {
  first: number;
  among: number;
  searches: Usage[];
  /** Of `memory status`, without counting what is loaded. */
  starts: Usage[];
  files: number;
}

/**
 * Asks a real OpenClaw the same questions about the vault with memory-core and then with memslot in its memory slot, by words
 * alone, each in a process of its own, and prints what was found and what it took.
 */
export async function benchOpenClaw(count: number): Promise<void> {
  if (!existsSync(path.join(extension, "dist/index.js")))
    throw new Error("run `pnpm build` first: the built plugin is measured");
  const program = path.join(installPeer(openclawPeer), "openclaw.mjs");
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-"));
  try {
    const { questions, notes } = readVault();
    const workspace = path.join(folder, "workspace");
    for (const [name, text] of notes) {
      const file = path.join(workspace, "memory", name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    writeFileSync(path.join(workspace, "MEMORY.md"), "# Memory\n\nWhat is known stands below memory/.\n");
    const asked = spread(
      questions.filter(({ evidence, now }) => evidence.length > 0 && now === undefined),
      count,
    );
    const environment = hostIn(folder, workspace);
    const before = askAll(program, environment, asked);
    install(program, environment, folder);
    const after = askAll(program, environment, asked);
    report(asked.length, before, after);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function hostIn(folder: string, workspace: string): NodeJS.ProcessEnv {
  const state = path.join(folder, ".openclaw");
  mkdirSync(state);
  const settings = { agents: { defaults: { workspace } }, memory: { search: { provider: "none" } } };
  writeFileSync(path.join(state, "openclaw.json"), JSON.stringify(settings));
  const npm = { npm_config_userconfig: path.join(os.homedir(), ".npmrc") };
  // npm may need what is set for the network here, such as certificates.
  return { ...process.env, HOME: folder, USERPROFILE: folder, OPENCLAW_STATE_DIR: state, ...npm };
}

function install(program: string, environment: NodeJS.ProcessEnv, folder: string): void {
  const packed = spawnSync("pnpm", ["pack", "--pack-destination", folder], { cwd: extension, encoding: "utf8" });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (packed.status !== 0 || tarball === undefined) throw new Error(`the plugin could not be packed: ${packed.stderr}`);
  const words = ["plugins", "install", path.join(folder, tarball), "--force", "--accept-capabilities"];
  measure([program, ...words], environment, commandMs);
  const key = "plugins.entries.memslot.config.dreaming.enabled";
  measure([program, "config", "set", key, "false"], environment, commandMs);
}

function askAll(program: string, environment: NodeJS.ProcessEnv, asked: readonly VaultQuestion[]): Figures {
  const call = (words: string[], more: NodeJS.ProcessEnv = {}): Usage =>
    measure([program, "memory", ...words], { ...environment, ...more }, commandMs);
  call(["index"]);
  const figures: Figures = { first: 0, among: 0, searches: [], starts: [], files: 0 };
  for (const { query, evidence } of asked) {
    const usage = call(["search", "--query", query, "--json", "--max-results", String(shown)]);
    figures.searches.push(usage);
    const { results } = JSON.parse(usage.stdout) as { results: { path: string }[] };
    const right = new Set(evidence.map((place) => `memory/${place.path}`));
    const isRight = results.map((result) => right.has(result.path.normalize("NFC")));
    if (isRight[0] === true) figures.first++;
    if (isRight.includes(true)) figures.among++;
  }
  for (let round = 0; round < starts; round++) figures.starts.push(call(["status"]));
  figures.files = call(["status"], { MEMSLOT_BENCH_LOADS: "1" }).files;
  return figures;
}

function report(count: number, ...figures: readonly [Figures, Figures]): void {
  const rows: [string, (figure: Figures) => string][] = [
    ["right note first", ({ first }) => `${first} of ${count}`],
    [`right note among ${shown}`, ({ among }) => `${among} of ${count}`],
    ["search, wall", ({ searches }) => seconds(searches)],
    ["search, peak memory", ({ searches }) => megabytes(searches)],
    ["status, wall", ({ starts: runs }) => seconds(runs)],
    ["status, peak memory", ({ starts: runs }) => megabytes(runs)],
    ["status, files loaded", ({ files }) => String(files)],
  ];
  printTable(
    `openclaw ${openclawPeer.version}, keyword mode, fresh processes, medians`,
    ["", "memory-core", "memslot"],
    rows.map(([label, read]) => [label, ...figures.map((figure) => read(figure))]),
  );
}

function seconds(usages: readonly Usage[]): string {
  return `${(median(usages.map(({ wallMs }) => wallMs)) / 1000).toFixed(1)} s`;
}

function megabytes(usages: readonly Usage[]): string {
  return `${median(usages.map(({ peakMegabytes }) => peakMegabytes)).toFixed(0)} MB`;
}

/** So many of a list, evenly over its length. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, items.length / Math.max(1, count));
  return Array.from({ length: Math.min(count, items.length) }, (_, at) => items[Math.floor(at * step)]).filter(
    (item) => item !== undefined,
  );
}
