import { availableParallelism } from "node:os";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import { type TestSpecification, BaseSequencer } from "vitest/node";

/** What takes long or hangs on the machine: `npm run test:long`. */
export const longTests: string[] = ["**/*.long.test.ts"];
/** Tests that keep nothing in the process and replace no module: all of them share what is loaded. */
const pure = [
  "packages/core/src/**/*.test.ts",
  "packages/{core,testkit}/test/*.test.ts",
  "packages/indexing/src/{embedding,search,secrets,text}/**/*.test.ts",
];
/** Tests of how the thread of a ledger begins and ends. */
const threads = ["packages/indexing/src/ledger/thread/*.test.ts", "extensions/memory-core/src/thread.test.ts"];
const never = [...configDefaults.exclude, ...longTests];
/** What every quick test begins with, but for those. */
const setupFiles = ["./packages/fakes/src/keep-threads/index.ts"];

/** Vitest goes by the size of a file where it has not seen it run: a suite that stands elsewhere would come last. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      /conformance|composites|wrong-managers|packed|damage|\/long\/|duckdb-store|killed-hooks/u.test(moduleId);
    return [...usual.filter((file) => isLong(file)), ...usual.filter((file) => !isLong(file))];
  }
}

const config: ViteUserConfig = defineConfig({
  ssr: { resolve: { conditions: ["@memslot/source", "node", "import", "module", "default"] } },
  test: {
    // Worker threads and child processes started by the code under test see the sources too.
    execArgv: ["--conditions=@memslot/source"],
    // Keys of whoever runs the tests are no part of them.
    env: { OPENAI_API_KEY: "", OPENAI_BASE_URL: "", GEMINI_API_KEY: "", HF_TOKEN: "", HF_ENDPOINT: "" },
    // Most tests wait for a process or a disk now and then: one more than there are cores keeps these busy.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "pure", include: pure, exclude: never, isolate: false, setupFiles } },
      {
        extends: true,
        test: {
          name: "alone",
          include: ["{packages,extensions,apps}/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...never, ...pure, ...threads],
          setupFiles,
        },
      },
      { extends: true, test: { name: "threads", include: threads, exclude: never } },
    ],
  },
});

export default config;
