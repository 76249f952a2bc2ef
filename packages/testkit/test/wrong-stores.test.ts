import { describe, expect, test } from "vitest";
import type { ChunkStore, FileChunks } from "@memslot/indexing";
import { chunkStoreConformance, createInMemoryStore, type InMemoryStore, type TestRunner } from "@memslot/testkit";
import { collectChecks, expectFailure } from "./collect-checks.ts";
import { faulty, rowsOf } from "./faulty.ts";
import faults from "./data/wrong-stores.json" with { type: "json" };

/** Opens stores that keep their content and share it: those of one folder are one store. */
function rememberingStores(): (stateDir: string) => Promise<InMemoryStore> {
  const stores = new Map<string, InMemoryStore>();
  return async (stateDir) => {
    const store = stores.get(stateDir) ?? createInMemoryStore();
    stores.set(stateDir, store);
    return { ...store };
  };
}

/** The suite for stores that are made of right ones. */
function suiteOf(change: (right: InMemoryStore) => ChunkStore): (runner: TestRunner) => void {
  const openRight = rememberingStores();
  const open = async (stateDir: string): Promise<ChunkStore> => change(await openRight(stateDir));
  return (runner) => chunkStoreConformance(runner, { open, reopens: true });
}

const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Faults that are more than a wrong call. */
const others: Readonly<Record<string, (right: InMemoryStore) => Partial<ChunkStore>>> = {
  "lifecycle.whole-files": (right) => ({
    async replaceFiles(files) {
      for (const file of files) {
        await right.replaceFiles([{ ...file, chunks: file.chunks.slice(0, 1) }]);
        await nextTurn();
        await right.replaceFiles([file]);
      }
    },
  }),
  "tails.long-chunk": (right) => joinTails(right, ({ endLine }, fromLine) => endLine < fromLine),
  "chunks.one-line-tails": (right) => joinTails(right, ({ startLine }, fromLine) => startLine <= fromLine),
  "tails.other-files": (right) => ({
    async replaceFiles(files) {
      await right.replaceFiles(files);
      for (const { path, source, fromLine } of files)
        if (fromLine !== undefined)
          await right.removeFiles(
            (await right.listFiles()).filter((each) => each.path === path && each.source !== source),
          );
    },
  }),
  "builds.reopen": (right) => ({ close: async () => (await right.build("another")).abandon() }),
  "builds.whole": (right) => ({
    async build(name) {
      const build = await right.build(name);
      const finish = async (): Promise<void> => {
        await right.removeFiles(await right.listFiles());
        for (let turn = 0; turn < 3; turn++) await nextTurn();
        await build.finish();
      };
      return { ...build, finish };
    },
  }),
};

/** Writes whole files only, made of the old chunks that `stays` picks and those of the tail. */
function joinTails(
  right: InMemoryStore,
  stays: (chunk: FileChunks["chunks"][number], fromLine: number) => boolean,
): Pick<InMemoryStore, "replaceFiles"> {
  const kept = new Map<string, FileChunks["chunks"]>();
  return {
    async replaceFiles(files) {
      for (const { fromLine, ...file } of files) {
        const old = fromLine === undefined ? [] : (kept.get(file.path) ?? []).filter((chunk) => stays(chunk, fromLine));
        const chunks = [...old, ...file.chunks];
        kept.set(file.path, chunks);
        await right.replaceFiles([{ ...file, chunks }]);
      }
    },
  };
}

describe("a store with one fault fails the check that is meant for it", () => {
  test.each(rowsOf(faults))("%s: one that %s", async (id, _, wrong) => {
    await expectFailure(
      suiteOf((right) => faulty(right, wrong)),
      id,
    );
  });

  test.each(Object.entries(others))("%s", async (id, spoil) => {
    await expectFailure(
      suiteOf((right) => ({ ...right, ...spoil(right) })),
      id,
    );
  });

  test("every check has a fault that it is meant for, and no fault lets it pass", async () => {
    const suite = collectChecks(suiteOf((right) => faulty(right, {})));
    expect([...suite.keys()].toSorted()).toEqual(["suite", ...Object.keys(faults), ...Object.keys(others)].toSorted());
    for (const [id, run] of suite) expect({ [id]: await run() }).toEqual({ [id]: { result: "passed" } });
  });

  test("a store that forgets fails when it says that it reopens", async () => {
    const open = async (): Promise<ChunkStore> => createInMemoryStore();
    for (const id of ["lifecycle.reopen", "revision.reopen", "builds.reopen"])
      await expectFailure((runner) => chunkStoreConformance(runner, { open, reopens: true }), id);
  });

  test.each(["build", "compact", "revision", "embedded"] as const)(
    "a store without %s skips what needs it with the reason, and nothing else",
    async (part) => {
      const noSpaces = { listFiles: { set: { "answer.*.embedded": null } } };
      const suite = suiteOf((right) => ({ ...faulty(right, part === "embedded" ? noSpaces : {}), [part]: undefined }));
      const skipped: string[] = [];
      for (const [id, run] of collectChecks(suite)) {
        const outcome = await run();
        if (outcome.result !== "skipped") expect({ [id]: outcome }).toEqual({ [id]: { result: "passed" } });
        else skipped.push(`${id}: ${outcome.reason}`);
      }
      expect(skipped).toContainEqual(expect.stringContaining(`: the store has no ${part}`));
      for (const line of skipped)
        expect(line).toMatch(new RegExp(`^(?:builds|compact|revision|embedded)\\..*: the store has no ${part}$`));
    },
  );
});
