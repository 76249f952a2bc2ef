import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";

/** What takes long or hangs on the machine: `npm run test:long`. */
export const longTests: string[] = ["**/*.long.test.ts"];
/** Tests that keep nothing in the process and replace no module: all of them share what is loaded. */
const pure = [
  "packages/core/src/**/*.test.ts",
  "packages/{core,testkit}/test/*.test.ts",
  "packages/indexing/src/{embedding,search,secrets,text}/**/*.test.ts",
];
const never = [...configDefaults.exclude, ...longTests];

const config: ViteUserConfig = defineConfig({
  ssr: { resolve: { conditions: ["@memslot/source", "node", "import", "module", "default"] } },
  test: {
    // Worker threads and child processes started by the code under test see the sources too.
    execArgv: ["--conditions=@memslot/source"],
    // Keys of whoever runs the tests are no part of them.
    env: { OPENAI_API_KEY: "", OPENAI_BASE_URL: "", GEMINI_API_KEY: "", HF_TOKEN: "", HF_ENDPOINT: "" },
    // Most tests wait for a process or a disk now and then.
    maxWorkers: "100%",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "pure", include: pure, exclude: never, isolate: false } },
      {
        extends: true,
        test: {
          name: "alone",
          include: ["{packages,extensions,apps}/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...never, ...pure],
        },
      },
    ],
  },
});

export default config;
