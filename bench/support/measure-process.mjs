// Loaded into a measured process by `--import`: leaves what the process used in a file when it ends.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { registerHooks } from "node:module";
import { isMainThread } from "node:worker_threads";

const folder = process.env.MEMSLOT_BENCH_USAGE;
if (folder && isMainThread) {
  let files = 0;
  // Only where it is asked for: a hook costs time of its own.
  if (process.env.MEMSLOT_BENCH_LOADS)
    registerHooks({
      load(url, context, next) {
        if (url.startsWith("file:")) files++;
        return next(url, context);
      },
    });
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const usage = { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakMegabytes: maxRSS / 1024, files };
    writeFileSync(path.join(folder, `${process.pid}.json`), JSON.stringify(usage));
  });
}
