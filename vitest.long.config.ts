import { defineConfig, mergeConfig, type ViteUserConfig } from "vitest/config";
import usual from "./vitest.config.ts";

/** The storms: hundreds of kills, damages and conversations. Too long for every commit; `npm run test:long` runs them. */
const config: ViteUserConfig = mergeConfig(
  { ...usual, test: { ...usual.test, include: [] } },
  defineConfig({
    test: {
      include: [
        "packages/*/test/**/*.long.ts",
        "extensions/*/test/**/*.long.ts",
        "apps/*/test/**/*.long.ts",
        "test/**/*.long.ts",
      ],
      testTimeout: 60 * 60_000,
      hookTimeout: 60_000,
    },
  }),
);

export default config;
