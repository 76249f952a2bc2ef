import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";

/** What takes long or hangs on the machine: `npm run test:long`. */
export const longTests: string[] = ["**/*.long.test.ts"];

const config: ViteUserConfig = defineConfig({
  ssr: { resolve: { conditions: ["@memslot/source", "node", "import", "module", "default"] } },
  test: {
    include: ["{packages,extensions,apps}/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...longTests],
    // Worker threads and child processes started by the code under test see the sources too.
    execArgv: ["--conditions=@memslot/source"],
    // Keys of whoever runs the tests are no part of them.
    env: { OPENAI_API_KEY: "", OPENAI_BASE_URL: "", GEMINI_API_KEY: "", HF_TOKEN: "", HF_ENDPOINT: "" },
    // Most tests wait for a process or a disk now and then.
    maxWorkers: "100%",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

export default config;
