import { expect, test } from "vitest";
import { createPlace } from "./place.ts";

test("duckdb-store keeps every promise of a store, by its own test", { timeout: 600_000 }, async () => {
  const place = createPlace({});
  const flags = ["--test", "--test-reporter=tap"];
  const { stdout, exitCode } = await place.run("duckdb-store/conformance.test.ts", [], {}, flags);
  expect({ exitCode, failed: /^# fail \d+$/mu.exec(stdout)?.[0] }).toEqual({ exitCode: 0, failed: "# fail 0" });
  expect(Number(/^# pass (\d+)$/mu.exec(stdout)?.[1])).toBeGreaterThan(70);
});
