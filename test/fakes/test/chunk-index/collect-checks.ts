import type { TestRunner } from "@memslot/testkit";

export interface CollectedCheck {
  name: string;
  /** `passed`, the reason why it was skipped, or the error. */
  run(): Promise<CheckOutcome>;
}

export type CheckOutcome =
  | { result: "passed" }
  | { result: "skipped"; reason: string }
  | { result: "failed"; error: unknown };

/** A runner that runs nothing by itself: what a suite registers is given back, to be run one by one. */
export function collectChecks(register: (runner: TestRunner) => void): CollectedCheck[] {
  const checks: CollectedCheck[] = [];
  register({
    describe: (_name, body) => body(),
    test: (name, _options, body) => {
      checks.push({
        name,
        async run() {
          let reason: string | undefined;
          try {
            await body({ skip: (given) => (reason = given) });
          } catch (error) {
            return { result: "failed", error };
          }
          return reason === undefined ? { result: "passed" } : { result: "skipped", reason };
        },
      });
    },
  });
  return checks;
}

export async function runByName(checks: readonly CollectedCheck[], name: string): Promise<CheckOutcome> {
  const check = checks.find((candidate) => candidate.name === name);
  if (check === undefined) throw new Error(`there is no check named "${name}"`);
  return check.run();
}
