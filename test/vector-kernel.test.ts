import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/pack-all.ts";
import { vectorKernel } from "./support/vector-kernel.ts";

test("the bytes of the vector kernel are those that its source comes to (pnpm generate makes them so)", async () => {
  const bytes = readFileSync(path.join(root, "extensions/memory-core/src/vectors/kernel/kernel-bytes.ts"), "utf8");
  expect(bytes).toBe(await vectorKernel());
});
