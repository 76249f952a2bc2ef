import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import usual, { longTests } from "./vitest.config.ts";

/** The other half of the tests: packages as they are published, several processes, faults, kills, storms. */
const config: ViteUserConfig = defineConfig({
  ...usual,
  test: { ...usual.test, projects: undefined, include: longTests, exclude: configDefaults.exclude },
});

export default config;
