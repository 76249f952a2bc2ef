// Reads a transcript whole, as a sync does, and prints what it has cost. Arguments: state folder, agent id.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FileRecord } from "../../index-row-types.ts";
import { createSessionSource } from "../sessions.ts";
import { never, settingsWith } from "../../../test/support/context.ts";

const [, , stateDir = "", agentId = ""] = process.argv;
const source = createSessionSource({ stateDir, agentId, settings: settingsWith() });
const { files } = await source.scan(never, async () => new Map());
const before = process.resourceUsage().maxRSS;
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const startedMs = performance.now();
let chunks = 0;
let readings = 0;
for (const file of files) {
  let stored: FileRecord | undefined;
  for (let more = true; more; readings++) {
    const reading = await source.read(file, stored, never);
    stored = reading?.record;
    chunks += reading?.changed?.chunks.length ?? 0;
    more = reading?.more === true;
  }
}
const grownBytes = (process.resourceUsage().maxRSS - before) * 1024;
const elapsedMs = performance.now() - startedMs;
const cost = { chunks, readings, grownBytes, elapsedMs, p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 };
process.stdout.write(`${JSON.stringify(cost)}\n`);
