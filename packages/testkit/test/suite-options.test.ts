import { describe, expect, test } from "vitest";
import { type SuiteOptions, type TestRunner, chunkStoreConformance, createInMemoryStore } from "@memslot/testkit";
import { collectChecks, runById } from "./collect-checks.ts";

const known = "files.no-chunks";
const reason = "empty files are not kept, see issue 12";

const suite =
  (options: SuiteOptions) =>
  (runner: TestRunner): void =>
    chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: false, ...options });

describe("deviations", () => {
  test("a listed check is skipped with its reason, without opening a store; others run", async () => {
    const deviations = [{ id: known, reason }];
    const open = async (): Promise<never> => Promise.reject(new Error("it ran"));
    const listed = (runner: TestRunner): void => chunkStoreConformance(runner, { open, reopens: false, deviations });
    expect(await runById(listed, known)).toEqual({ result: "skipped", reason });
    expect(await runById(suite({ deviations }), "suite")).toEqual({ result: "passed" });
    expect(await runById(suite({ deviations }), "files.replace")).toEqual({ result: "passed" });
  });

  test.each<[string, SuiteOptions]>([
    ["an unknown id", { deviations: [{ id: "files.none", reason }] }],
    ["an unknown id in only", { only: ["files", "file"] }],
    ["a missing reason", { deviations: [{ id: known, reason: "  " }] }],
    ["an id that is listed twice", { deviations: [1, 2].map(() => ({ id: known, reason })) }],
  ])("%s fails the run", async (_what, options) => {
    expect((await runById(suite(options), "suite")).result).toBe("failed");
  });
});

test("only runs single checks and groups", () => {
  const ids = [...collectChecks(suite({ only: ["compact", known] })).keys()];
  expect(ids).toEqual(["suite", known, "compact.same-answers", "compact.searches"]);
});

test("removePlace is called for each folder after its store is closed", async () => {
  const events: string[] = [];
  await runById(
    (runner) =>
      chunkStoreConformance(runner, {
        open: async (folder) => ({ ...createInMemoryStore(), close: async () => void events.push(`close ${folder}`) }),
        reopens: false,
        removePlace: async (folder) => void events.push(`remove ${folder}`),
      }),
    known,
  );
  const folder = events[0]?.slice("close ".length);
  expect(events).toEqual([`close ${folder}`, `remove ${folder}`]);
});
