import { availableParallelism } from "node:os";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";

/** Slow tests: `npm run test:long`. */
export const longTests: string[] = ["**/*.long.test.ts"];
/** Tests that replace modules or count threads: each file runs in a process of its own. */
const isolatedTests = ["**/*.isolated.test.ts"];

const config: ViteUserConfig = defineConfig({
  ssr: { resolve: { conditions: ["@memslot/source", "node", "import", "module", "default"] } },
  test: {
    // Worker threads and child processes started by the code under test load the sources too.
    // Each of their threads strips types with WebAssembly. V8 optimizes calls out of WebAssembly after 1,000 of them, and can
    // abort the process when a thread has ended ("Check failed: jit_page.has_value()"): here it never does.
    execArgv: ["--conditions=@memslot/source", "--wasm-wrapper-tiering-budget=2000000000"],
    // The developer's own API keys must not reach a test.
    env: { OPENAI_API_KEY: "", OPENAI_BASE_URL: "", GEMINI_API_KEY: "", HF_TOKEN: "", HF_ENDPOINT: "" },
    // Tests wait for a process or a disk now and then: one worker more than there are cores keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
    // Only ends a test that hangs, also on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["{packages,extensions,apps}/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...longTests, ...isolatedTests],
          isolate: false,
          setupFiles: ["./packages/indexing/test/support/keep-threads.ts"],
        },
      },
      {
        extends: true,
        test: { name: "isolated", include: isolatedTests, exclude: [...configDefaults.exclude, ...longTests] },
      },
    ],
  },
});

export default config;
