// Runs `pnpm run <script> [args]` under a fitting Node and pnpm: those on PATH where they fit, else a pair that
// is fetched once from npm into .tools/. Plain JavaScript, because any Node from 18 on has to be able to start it.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const toolsDir = path.join(root, ".tools");
const toolsBin = path.join(toolsDir, "node_modules", ".bin");
const windows = process.platform === "win32";

// What npm adds for the script that it runs would reach the inner package manager as if a person had set it.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_(config|package|lifecycle|command|execpath|node_execpath)/i.test(name),
  ),
);
environment.TURBO_TELEMETRY_DISABLED = "1";
environment.PNPM_CONFIG_UPDATE_NOTIFIER = "false";
// Where the caller is, for `where-called.mjs`. npm goes to the repository for a script of it, and keeps the folder in INIT_CWD.
const byNpm = process.env.npm_package_json === path.join(root, "package.json");
environment.MEMSLOT_CALLED_FROM = (byNpm && process.env.INIT_CWD) || process.cwd();

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const nodeFits = major > 24 || (major === 24 && minor >= 16);
const pnpmVersion = spawnSync("pnpm", ["--version"], { cwd: root, env: environment, encoding: "utf8", shell: windows });
const pnpmFits = pnpmVersion.status === 0 && pnpmVersion.stdout.startsWith("12.");

if (!nodeFits || !pnpmFits) {
  fetchTools();
  const inherited = environment.PATH ?? environment.Path ?? "";
  const folders = nodeFits ? [path.dirname(process.execPath), toolsBin, inherited] : [toolsBin, inherited];
  delete environment.Path;
  environment.PATH = folders.join(path.delimiter);
}
// pnpm would print the command line that it runs; a demo or a script wants its own output alone.
const result = spawnSync("pnpm", ["--silent", "run", ...process.argv.slice(2)], {
  cwd: root,
  env: environment,
  stdio: "inherit",
  shell: windows,
});
if (result.error) console.error(`cannot start pnpm: ${result.error.message}`);
process.exit(result.status ?? 1);

function fetchTools() {
  const marker = path.join(toolsDir, "ready");
  if (existsSync(marker)) return;
  console.error("First run: fetching Node 24 and pnpm 12 from npm into .tools/ (once) …");
  mkdirSync(toolsDir, { recursive: true });
  writeFileSync(path.join(toolsDir, "package.json"), '{ "private": true }\n');
  // The working directory names the place and not --prefix, which would hide npm's own registry, proxy and
  // certificate settings.
  const install = spawnSync(
    "npm",
    ["install", "--no-audit", "--no-fund", "--loglevel=error", "node@24.21.0", "pnpm@12.21.0"],
    {
      cwd: toolsDir,
      env: environment,
      stdio: ["ignore", 2, 2],
      shell: windows,
    },
  );
  if (install.status !== 0) {
    console.error(
      "Could not fetch Node 24 and pnpm 12 from npm: see npm's message above, then run the same command again.",
    );
    process.exit(install.status ?? 1);
  }
  writeFileSync(marker, "");
}
