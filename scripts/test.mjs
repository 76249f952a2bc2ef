// Runs every test and ends with one plain line, `N passed, N failed`, read from vitest's JSON report.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const report = path.join(root, ".test-report.json");
const listedSlowest = 20;
rmSync(report, { force: true });
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
// Temporary folders in memory where there is room: tests that write take a quarter less time.
const memory = "/dev/shm";
const inMemory = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 2 ** 31;
const temporary = mkdtempSync(path.join(inMemory ? memory : os.tmpdir(), "memslot-tests-"));
chmodSync(temporary, 0o1777); // Some tests run processes of another user.
// MEMSLOT_TEST_LOAD=1: two busy loops for each core. A test that fails then goes by the pace of the machine.
const loops = Array.from({ length: process.env.MEMSLOT_TEST_LOAD === "1" ? 2 * os.availableParallelism() : 0 }, () =>
  spawn(process.execPath, ["--eval", "for (;;);"], { stdio: "ignore" }),
);
const run = spawnSync(
  process.execPath,
  [vitest, "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      // Every worker thread and child process of a test starts from the sources: only the first has to compile them.
      NODE_COMPILE_CACHE: path.join(root, "node_modules", ".cache", "compile"),
      ...process.env,
      TMPDIR: temporary,
    },
  },
);
for (const loop of loops) loop.kill();
rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
let summary;
try {
  summary = JSON.parse(readFileSync(report, "utf8"));
} catch (error) {
  console.error(`no test report was written: ${error.message}`);
  process.exit(run.status || 1);
}
// A file that fails to load holds no counted test; it is a failure all the same.
const brokenFiles = summary.testResults.filter(
  (file) => file.status === "failed" && file.assertionResults.length === 0,
).length;
// Where the time goes. Several files run at once, so that these add up to more than the whole took.
const slowest = summary.testResults.map(({ name, startTime, endTime }) => ({
  name,
  seconds: (endTime - startTime) / 1000,
}));
for (const { name, seconds } of slowest.toSorted((left, right) => right.seconds - left.seconds).slice(0, listedSlowest))
  console.log(`${seconds.toFixed(0).padStart(5)} s  ${path.relative(root, name)}`);
// What failed stands at the end, where whoever sees the last lines alone finds it.
for (const { name, status, assertionResults } of summary.testResults)
  if (status === "failed") {
    const failures = assertionResults.filter((result) => result.status === "failed");
    console.log(`FAILED: ${path.relative(root, name)}${failures.map(({ fullName }) => `\n  ${fullName}`).join("")}`);
  }
const skipped = summary.numPendingTests + summary.numTodoTests;
const failed = summary.numFailedTests + brokenFiles;
console.log(`${summary.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(run.status || (failed > 0 ? 1 : 0));
