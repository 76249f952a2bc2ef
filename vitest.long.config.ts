import { configDefaults, defineConfig, mergeConfig, type ViteUserConfig } from "vitest/config";
import usual, { longTests } from "./vitest.config.ts";

/** The other half of the tests: packages as they are published, several processes, faults, kills, storms. */
const config: ViteUserConfig = mergeConfig(
  { ...usual, test: { ...usual.test, include: [], exclude: [] } },
  defineConfig({ test: { include: longTests, exclude: configDefaults.exclude } }),
);

export default config;
