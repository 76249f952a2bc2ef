import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import usual, { longTests } from "./vitest.config.ts";

const { projects: _, ...test } = usual.test ?? {};

/** The other half of the tests: packages as they are published, several processes, faults, kills, storms. */
const config: ViteUserConfig = defineConfig({
  ...usual,
  test: { ...test, maxWorkers: "100%", include: longTests, exclude: configDefaults.exclude },
});

export default config;
