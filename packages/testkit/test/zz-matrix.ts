import { memoryConformance } from "@memslot/testkit";
import { collectChecks } from "/work/main/packages/testkit/test/collect-checks.ts";
import { pluginOf, wrongManagers, closeLeaked } from "/work/main/packages/testkit/test/wrong-managers.ts";
const never = new Map<string, string[]>();
process.on("unhandledRejection", (e) => console.log("UNHANDLED", e));
for (const wrong of wrongManagers) {
  const checks = collectChecks((runner) => memoryConformance(runner, { plugin: pluginOf(wrong), patienceMs: 700 }));
  const failed: string[] = [];
  for (const c of checks) { const o = await c.run(); if (!never.has(c.name)) never.set(c.name, []); if (o.result === "failed") { never.get(c.name)!.push(wrong.fault); failed.push(c.name);} }
  console.log(failed.length, wrong.fault);
}
closeLeaked();
console.log("NEVER FAILED:"); for (const [n, f] of never) if (f.length === 0) console.log("  ", n);
