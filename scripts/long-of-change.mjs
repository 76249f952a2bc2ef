// Runs the long tests that a change could break: the packages as they are published (with publint and are-the-types-wrong),
// files whose imports reach a changed file, the nearest first, and a tenth of all long tests, chosen by the commit's hash. No file begins after MEMSLOT_CI_MINUTES (8) minutes, and the names of
// those that did not run are printed. Storms run a fiftieth of their cases. The last line is `N passed, N failed`.
//
// The change is what differs from MEMSLOT_CI_BASE; without it, from the newest commit that is over four hours older than
// the last one.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { importGraph, listFiles, root } from "./imports.mjs";

const graceMs = 120_000;
const againMs = 300_000;
const minutes = Number(process.env.MEMSLOT_CI_MINUTES || 8);
if (!(minutes > 0)) throw new Error("MEMSLOT_CI_MINUTES is not a number over 0");
const endsAt = performance.now() + minutes * 60_000;
const base = findBase();
const changed = [
  ...names("diff", "--name-only", "-z", base),
  ...names("ls-files", "--others", "--exclude-standard", "-z"),
];
const graph = importGraph();
/** A manifest or a type that only an installed package misses is reached by no import. */
const always = ["test/tarballs.long.test.ts"];
const long = listFiles().filter((file) => file.endsWith(".long.test.ts"));

const affected = long
  .filter((file) => !always.includes(file))
  .map((file) => ({ file, weight: reach(file, new Set(changed)) }))
  .filter(({ weight }) => weight > 0)
  .toSorted((left, right) => right.weight - left.weight)
  .map(({ file }) => file);
const digit = Number.parseInt(git("rev-parse", "HEAD").slice(0, 8), 16) % 10;
const tenth = long.filter((file, index) => index % 10 === digit && !always.includes(file) && !affected.includes(file));
console.log(
  `${changed.length} files differ from ${base.slice(0, 10)}: they reach ${affected.length} of ${long.length} long test files. ` +
    `${tenth.length} more come along.`,
);

// One of the tenth after each three: a change that reaches everything must not keep them out.
const queue = [...always];
for (let rest = [...tenth], next = [...affected]; rest.length + next.length > 0;)
  queue.push(...next.splice(0, 3), ...rest.splice(0, 1));

const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-long-"));
chmodSync(folder, 0o1777); // Some tests run processes of another user.
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    for (const child of running) end(child);
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  });
let passedTests = 0;
const notRun = [];
const failed = [];
await Promise.all(Array.from({ length: Math.max(2, os.availableParallelism()) }, work));
// Tests that ran side by side may have disturbed each other: up to two failed files run once more alone.
for (const file of failed.splice(0, 2)) {
  const isPassed = await runFile(file, path.join(folder, "again.json"), againMs);
  if (isPassed) console.log(`UNSTABLE: ${file} failed beside another file and passed alone`);
  else failed.push(file);
}
rmSync(folder, { recursive: true, force: true });
for (const file of notRun) console.log(`not run: ${file}`);
// Passed tests and failed files.
console.log(`${passedTests} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

async function work(_, slot) {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const leftMs = endsAt - performance.now();
    const isPassed = leftMs > 0 ? await runFile(file, path.join(folder, `${slot}.json`), leftMs + graceMs) : undefined;
    if (isPassed === undefined) notRun.push(file);
    if (isPassed === false) failed.push(file);
  }
}

/** Runs one file and counts its passed tests. Returns whether it passed; undefined if it was ended after `limitMs`. */
async function runFile(file, report, limitMs) {
  const args = ["run", "--config=vitest.long.config.ts", "--maxWorkers=1", "--reporter=dot", "--reporter=json"];
  const program = path.join(root, "node_modules/vitest/vitest.mjs");
  const child = spawn(process.execPath, [program, ...args, `--outputFile.json=${report}`, file], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, which ends with all its processes.
    detached: process.platform !== "win32",
    env: { MEMSLOT_TEST_STORMS: "0.02", ...process.env, TMPDIR: folder },
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const started = performance.now();
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    end(child);
  }, limitMs);
  const code = await new Promise((resolve) => child.once("exit", (status) => resolve(status)));
  clearTimeout(late);
  running.delete(child);
  const seconds = `${((performance.now() - started) / 1000).toFixed(0)} s`;
  if (isLate) {
    console.log(`ended after ${seconds}, the time is over: ${file}`);
    return undefined;
  }
  if (code !== 0) {
    console.log(`FAILED: ${file} (${seconds})\n${output}`);
    return false;
  }
  const passed = JSON.parse(readFileSync(report, "utf8")).numPassedTests;
  passedTests += passed;
  console.log(`ok: ${file} (${passed} passed, ${seconds})`);
  return true;
}

function end(child) {
  if (process.platform === "win32") child.kill("SIGKILL");
  else process.kill(-child.pid, "SIGKILL");
}

/** Sum over the changed files that a file imports, directly or not: 1 for itself, half for each import on the way. */
function reach(start, wanted) {
  const distance = new Map([[start, 0]]);
  let sum = 0;
  for (const [file, steps] of distance) {
    if (wanted.has(file)) sum += 0.5 ** steps;
    for (const target of graph.get(file) ?? []) if (!distance.has(target)) distance.set(target, steps + 1);
  }
  return sum;
}

/** The commit to compare with. A forced push or a new branch may name one that is not in the history. */
function findBase() {
  const named = process.env.MEMSLOT_CI_BASE;
  if (named && runGit("rev-parse", "--verify", "--quiet", `${named}^{commit}`).status === 0) return named;
  if (named) console.log(`MEMSLOT_CI_BASE is not in the history: ${named}`);
  const last = Number(git("log", "-1", "--format=%ct"));
  const older = git("rev-list", "-1", `--before=${last - 4 * 3600}`, "HEAD");
  if (older === "" && git("rev-parse", "--is-shallow-repository") === "true")
    throw new Error("the clone is shallow: run `git fetch --unshallow` or set MEMSLOT_CI_BASE");
  return older || git("rev-list", "--max-parents=0", "HEAD").split("\n").at(-1);
}

function names(...args) {
  return git(...args)
    .split("\0")
    .filter((name) => name !== "");
}

function git(...args) {
  const { stdout, status, stderr } = runGit(...args);
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

function runGit(...args) {
  return spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
}
