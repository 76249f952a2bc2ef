// Runs every test and ends with one plain line, `N passed, N failed`, read from vitest's JSON report. With CI=true, up to
// three failed files run once more by themselves: what passes then is reported as `UNSTABLE`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const report = path.join(root, ".test-report.json");
const listedSlowest = 20;
const mostRunAgain = 3;
rmSync(report, { force: true });
// As for the workers: see vitest.config.ts.
const flags = ["--wasm-wrapper-tiering-budget=2000000000"];
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
// Temporary folders in memory where there is room: tests that write take a quarter less time.
const memory = "/dev/shm";
const temporary = mkdtempSync(path.join(isUsable(memory) ? memory : os.tmpdir(), "memslot-tests-"));
chmodSync(temporary, 0o1777); // Some tests run processes of another user.
process.once("exit", () => {
  for (const loop of loops) loop.kill();
  rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
});
// MEMSLOT_TEST_LOAD=1: two busy loops for each core. A test that fails then goes by the pace of the machine.
const untilParentEnds = "const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e7; i++);";
const loops = Array.from({ length: process.env.MEMSLOT_TEST_LOAD === "1" ? 2 * os.availableParallelism() : 0 }, () =>
  spawn(process.execPath, ["--eval", untilParentEnds], { stdio: "ignore" }),
);
const errorsFile = path.join(temporary, "errors.json");
const env = {
  // Every worker thread and child process of a test starts from the sources: only the first has to compile them.
  NODE_COMPILE_CACHE: path.join(root, "node_modules", ".cache", "compile"),
  ...process.env,
  MEMSLOT_TEST_ERRORS: errorsFile,
  TMPDIR: temporary,
  ...(process.platform === "win32" && { TEMP: temporary, TMP: temporary }),
};
const ownReporter = path.join(root, "scripts/unhandled-errors.mjs");
const [code, endedBy] = await run(["json", ownReporter], [`--outputFile.json=${report}`, ...process.argv.slice(2)]);
let summary;
try {
  summary = JSON.parse(readFileSync(report, "utf8"));
} catch (error) {
  console.error(`no test report was written: ${error.message}`);
  process.exit(code || 1);
}
// A file that cannot be loaded or set up has no failed test; it is a failure all the same.
const brokenFiles = summary.testResults.filter(
  ({ status, assertionResults }) =>
    status === "failed" && !assertionResults.some((result) => result.status === "failed"),
).length;
// Where the time goes. Several files run at once, so that these add up to more than the whole took.
const slowest = summary.testResults.map(({ name, startTime, endTime }) => ({
  name,
  seconds: (endTime - startTime) / 1000,
}));
for (const { name, seconds } of slowest.toSorted((left, right) => right.seconds - left.seconds).slice(0, listedSlowest))
  console.log(`${seconds.toFixed(0).padStart(5)} s  ${path.relative(root, name)}`);
// Failures come last, so that the end of the output shows them.
for (const { name, status, assertionResults } of summary.testResults)
  if (status === "failed") {
    const failures = assertionResults.filter((result) => result.status === "failed");
    console.log(`FAILED: ${path.relative(root, name)}`);
    for (const { fullName, failureMessages } of failures)
      console.log(`  ${fullName}\n${failureMessages.join("\n").split("\n", 12).join("\n")}`);
  }
const unhandled = existsSync(errorsFile) ? JSON.parse(readFileSync(errorsFile, "utf8")) : [];
for (const { file, text } of unhandled) console.log(`FAILED: outside of a test${file ? `, in ${file}` : ""}: ${text}`);
if (endedBy !== null) console.log(`FAILED: vitest was ended by ${endedBy}`);
const skipped = summary.numPendingTests + summary.numTodoTests;
let passed = summary.numPassedTests;
let failed = Math.max(summary.numFailedTests + brokenFiles, code === 0 ? 0 : 1);
const failedFiles = new Set([
  ...summary.testResults.filter(({ status }) => status === "failed").map(({ name }) => path.relative(root, name)),
  ...unhandled.map(({ file }) => file),
]);
if (failed > 0 && (await passAgain(failedFiles))) {
  console.log(`UNSTABLE: failed beside other files and passed by themselves: ${[...failedFiles].join(", ")}`);
  [failed, passed] = [0, passed + summary.numFailedTests];
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed > 0 ? code || 1 : 0);

/** Runs vitest and returns its exit code and the signal that ended it. */
async function run(reporters, args) {
  const all = [...flags, vitest, "run", ...["default", ...reporters].map((name) => `--reporter=${name}`), ...args];
  const child = spawn(process.execPath, all, { cwd: root, stdio: "inherit", env });
  const passOn = (signal) => child.kill(signal);
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, passOn);
  return await once(child, "exit");
}

/** Whether the failed files are few, are known, and pass by themselves. */
async function passAgain(files) {
  const areKnown = files.size > 0 && files.size <= mostRunAgain && !files.has(undefined);
  if (!process.env.CI || endedBy !== null || !areKnown) return false;
  console.log(`running again: ${[...files].join(", ")}`);
  const [again] = await run(
    [],
    [...process.argv.slice(2).filter((arg) => arg.startsWith("-")), "--maxWorkers=1", ...files],
  );
  return again === 0;
}

/** Whether a folder in memory has 4 GiB for tests, and runs the programs that they write there. */
function isUsable(folder) {
  if (!existsSync(folder) || statfsSync(folder).bavail * statfsSync(folder).bsize < 2 ** 32) return false;
  const probe = mkdtempSync(path.join(folder, "memslot-probe-"));
  const program = path.join(probe, "program");
  writeFileSync(program, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(probe, { recursive: true });
  return status === 0;
}
