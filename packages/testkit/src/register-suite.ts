import assert from "node:assert/strict";

/** The part of a runner's test context that the kit needs. */
export interface TestContext {
  skip(reason: string): unknown;
}

/** The two functions of `vitest` or `node:test`. The kit imports neither. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, options: { timeout: number }, body: (context: TestContext) => Promise<void>): unknown;
}

/** A check that is known to fail. It is reported as skipped with the reason. */
export interface Deviation {
  id: string;
  reason: string;
}

/** What every suite takes beside the implementation. */
export interface SuiteOptions {
  /** Runs only these checks: ids, or the group before the dot (`search` for every `search.…`). */
  only?: readonly string[] | undefined;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

/** One promise of a contract and the code that proves it. */
export interface Check<Lab, Need extends string = string> {
  /** Group and name. Stays the same when the promise is reworded. */
  id: string;
  promise: string;
  /** Optional parts that the implementation must have for the promise to apply. */
  needs?: readonly Need[];
  /** Returns a reason if the promise does not apply to this implementation. */
  run(lab: Lab): Promise<string | void>;
}

// Ends a check that hangs. A backend that starts a process for each search is slow and still correct.
const checkTimeoutMs = 180_000;

/** Registers the chosen checks, and one more that fails if `only` or `deviations` names no check. */
export function registerSuite<C extends Check<never>>(
  runner: TestRunner,
  suite: {
    title: string;
    checks: readonly C[];
    options: SuiteOptions;
    /** Runs one check. Returns a reason if the check does not apply. */
    run(check: C): Promise<string | void>;
  },
): void {
  const { only, deviations = [] } = suite.options;
  const isNamed = ({ id }: C, name: string): boolean => id === name || id.startsWith(`${name}.`);
  const chosen = suite.checks.filter((check) => only?.some((name) => isNamed(check, name)) ?? true);
  runner.describe(suite.title, () => {
    runner.test("suite: only and deviations name checks", { timeout: checkTimeoutMs }, async () => {
      const ids = suite.checks.map(({ id }) => id);
      for (const name of [...(only ?? []), ...deviations.map(({ id }) => id)])
        assert.ok(
          suite.checks.some((check) => isNamed(check, name)),
          `there is no check "${name}". The checks are:\n${ids.join("\n")}`,
        );
      const listed = [ids, deviations.map(({ id }) => id)];
      for (const each of listed) assert.equal(new Set(each).size, each.length, "an id is listed twice");
      for (const { id, reason } of deviations) assert.ok(reason.trim() !== "", `the deviation "${id}" has no reason`);
    });
    for (const check of chosen) {
      runner.test(`${check.id}: ${check.promise}`, { timeout: checkTimeoutMs }, async (context) => {
        const known = deviations.find(({ id }) => id === check.id)?.reason;
        const reason = known ?? (await suite.run(check));
        if (reason !== undefined) context.skip(reason);
      });
    }
  });
}
