// Loaded into a measured process by `--import`: leaves what the process used in a file when it ends.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { isMainThread } from "node:worker_threads";

const folder = process.env.MEMSLOT_BENCH_USAGE;
if (folder && isMainThread) {
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const usage = { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakMegabytes: maxRSS / 1024 };
    writeFileSync(path.join(folder, `${process.pid}.json`), JSON.stringify(usage));
  });
}
