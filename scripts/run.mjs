// Runs `pnpm run <script> [args]` with a suitable Node and pnpm: those on PATH where they fit, else a pair that is
// fetched once from npm into .tools/. Plain JavaScript, because every Node from 18 on must be able to start it.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const toolsDir = path.join(root, ".tools");
const toolsBin = path.join(toolsDir, "node_modules", ".bin");
const windows = process.platform === "win32";
const [script, ...args] = process.argv.slice(2);

// npm's settings for its own script would reach the inner package manager as if the user had set them.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_(config|package|lifecycle|command|execpath|node_execpath)/i.test(name),
  ),
);
environment.TURBO_TELEMETRY_DISABLED = "1";
environment.PNPM_CONFIG_UPDATE_NOTIFIER = "false";
environment.NPM_CONFIG_UPDATE_NOTIFIER = "false";
// The caller's folder, for `where-called.mjs`. npm changes to the repository before its script; INIT_CWD has the folder.
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
installPackages();
// Else each thread would strip the types of some hundreds of files and compile them at every start. A user who can write
// into this folder can change the program as well.
environment.NODE_COMPILE_CACHE ??= path.join(root, "node_modules", ".cache", "compile");
// pnpm would print the command line that it runs; only the script's own output is wanted.
const result = spawnSync("pnpm", ["--silent", "run", script, ...args], {
  cwd: root,
  env: environment,
  stdio: "inherit",
  shell: windows,
});
if (result.error) console.error(`cannot start pnpm: ${result.error.message}`);
process.exit(result.status ?? 1);

/** Installs on the first run. Later, pnpm itself installs before a script if the lockfile has changed. */
function installPackages() {
  if (existsSync(path.join(root, "node_modules", "vitest"))) return;
  // The demo over its sample notes needs neither a model's client, another backend, nor the tools of development.
  const keys = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "MEMSLOT_CHAT_MODEL"];
  const needsMore = args.some((arg) => /^--(?:tour|backend|model|workspace)/.test(arg));
  const isSmall = script === "demo" && !needsMore && !keys.some((name) => environment[name]);
  const small = ["memslot-workspace", "@memslot/demo-agent...", "!@memslot/memory-lancedb", "!@memslot/memory-qmd"];
  const filters = [...small, "!@memslot/embeddings-*", "!@memslot/rerank-*"].map((name) => `--filter-prod=${name}`);
  if (isSmall) environment.PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN = "false";
  const ready = path.join(root, "node_modules", ".demo-ready");
  const lockfile = path.join(root, "pnpm-lock.yaml");
  if (isSmall && existsSync(ready) && statSync(ready).mtimeMs >= statSync(lockfile).mtimeMs) return;
  console.error(
    isSmall
      ? "First run: installing what the demo needs, about 70 MB (once) …"
      : "First run: installing all packages, about 1 GB, a minute or more (once) …",
  );
  const install = ["install", "--frozen-lockfile", ...(isSmall ? ["--prod", ...filters] : [])];
  run(
    "pnpm",
    install,
    root,
    "Could not install the packages: see pnpm's message above, then run the same command again.",
  );
  if (isSmall) writeFileSync(ready, "");
}

function fetchTools() {
  const marker = path.join(toolsDir, "ready");
  if (existsSync(marker)) return;
  console.error("First run: fetching Node 24 and pnpm 12 from npm into .tools/, about 85 MB (once) …");
  mkdirSync(toolsDir, { recursive: true });
  writeFileSync(path.join(toolsDir, "package.json"), '{ "private": true }\n');
  // The working directory names the folder and not --prefix, which would hide npm's own registry, proxy and
  // certificate settings.
  run(
    "npm",
    ["install", "--no-audit", "--no-fund", "--loglevel=error", "node@24.21.0", "pnpm@12.21.0"],
    toolsDir,
    "Could not fetch Node 24 and pnpm 12 from npm: see npm's message above, then run the same command again.",
  );
  writeFileSync(marker, "");
}

/** Runs a program with its output on stderr. Ends this process with `message` if the program fails. */
function run(program, programArgs, cwd, message) {
  const { status } = spawnSync(program, programArgs, {
    cwd,
    env: environment,
    stdio: ["ignore", 2, 2],
    shell: windows,
  });
  if (status === 0) return;
  console.error(message);
  process.exit(status ?? 1);
}
