import assert from "node:assert/strict";

/** What a check is told by the runner. Both vitest and node:test hand it to the test function. */
export interface TestContext {
  skip(reason: string): unknown;
}

/** The two functions of `vitest` or `node:test`. The kit imports neither. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, options: { timeout: number }, body: (context: TestContext) => Promise<void>): unknown;
}

/** A check that is known to fail, by its exact name. It is reported as skipped with the reason. */
export interface Deviation {
  test: string;
  reason: string;
}

/** One sentence of a contract and what proves it. */
export interface Check<Subject> {
  name: string;
  run(subject: Subject): Promise<void>;
}

export interface Suite<C extends { name: string }> {
  title: string;
  checks: readonly C[];
  deviations: readonly Deviation[] | undefined;
  /** Runs one check with all that it needs. Gives a reason when the check does not apply, else undefined. */
  run(check: C): Promise<string | undefined>;
}

// A guard against hanging, not a measure: a backend that starts a process for each search is slow and right.
const checkTimeoutMs = 180_000;

/** Hands the checks of a suite to the runner, and one more that fails on a deviation that names no check. */
export function registerSuite<C extends { name: string }>(runner: TestRunner, suite: Suite<C>): void {
  const deviations = suite.deviations ?? [];
  const reasons = new Map(deviations.map((deviation) => [deviation.test, deviation.reason]));
  runner.describe(suite.title, () => {
    runner.test("deviations: each names a check and gives a reason", { timeout: checkTimeoutMs }, async () => {
      assertDeviations(deviations, suite.checks);
    });
    for (const check of suite.checks) {
      runner.test(check.name, { timeout: checkTimeoutMs }, async (context) => {
        const reason = reasons.get(check.name) ?? (await suite.run(check));
        if (reason !== undefined) context.skip(reason);
      });
    }
  });
}

function assertDeviations(deviations: readonly Deviation[], checks: readonly { name: string }[]): void {
  const names = checks.map((check) => check.name);
  assert.equal(new Set(names).size, names.length, "two checks have the same name");
  for (const { test, reason } of deviations) {
    assert.ok(names.includes(test), `there is no check named "${test}". The checks are:\n${names.join("\n")}`);
    assert.ok(reason.trim() !== "", `the deviation "${test}" gives no reason`);
  }
  const listed = deviations.map((deviation) => deviation.test);
  assert.equal(new Set(listed).size, listed.length, "a deviation is listed twice");
}
