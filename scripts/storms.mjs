// Runs one seeded case of each family of storms (kills, damage, crowds, full disks): every long test whose imports reach
// `storm-size.ts`, from which it takes its number of cases. MEMSLOT_TEST_STORMS and MEMSLOT_TEST_SEED choose others.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { importGraph, root } from "./imports.mjs";

const graph = importGraph();
const families = [...graph.keys()].filter((file) => file.endsWith(".long.test.ts") && reaches(file));
if (families.length === 0) throw new Error("no long test imports test/support/storm-size.ts");
const test = path.join(root, "scripts/test.mjs");
const { status } = spawnSync(process.execPath, [test, "--config=vitest.long.config.ts", ...families], {
  cwd: root,
  stdio: "inherit",
  env: { MEMSLOT_TEST_STORMS: "0.0001", ...process.env },
});
process.exit(status ?? 1);

function reaches(start) {
  const seen = new Set([start]);
  for (const file of seen) for (const target of graph.get(file) ?? []) seen.add(target);
  return seen.has("test/support/storm-size.ts");
}
