import type { TestRunner } from "@memslot/testkit";
import { expect } from "vitest";

export type CheckOutcome =
  | { result: "passed" }
  | { result: "skipped"; reason: string }
  | { result: "failed"; error: unknown };

/** The checks that a suite registers, by their ids, to be run one by one. */
export function collectChecks(register: (runner: TestRunner) => void): Map<string, () => Promise<CheckOutcome>> {
  const checks = new Map<string, () => Promise<CheckOutcome>>();
  register({
    describe: (_name, body) => body(),
    test: (name, _options, body) => {
      checks.set(name.split(": ")[0] ?? name, async () => {
        let reason: string | undefined;
        try {
          await body({ skip: (given) => (reason = given) });
        } catch (error) {
          return { result: "failed", error };
        }
        return reason === undefined ? { result: "passed" } : { result: "skipped", reason };
      });
    },
  });
  return checks;
}

export async function runById(register: (runner: TestRunner) => void, id: string): Promise<CheckOutcome> {
  const run = collectChecks(register).get(id);
  if (run === undefined) throw new Error(`there is no check "${id}"`);
  return run();
}

export async function expectFailure(register: (runner: TestRunner) => void, id: string): Promise<void> {
  expect((await runById(register, id)).result).toBe("failed");
}
