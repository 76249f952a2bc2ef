import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  ssr: { resolve: { conditions: ["@memslot/source", "node", "import", "module", "default"] } },
  test: {
    include: [
      "packages/*/test/**/*.test.ts",
      "extensions/*/test/**/*.test.ts",
      "apps/*/test/**/*.test.ts",
      "test/**/*.test.ts",
    ],
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
