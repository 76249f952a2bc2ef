import type { LanceOptions } from "../options.ts";
import { openPlace } from "../place/open-place.ts";
import type { LeaseTiming } from "../place/shared/leases.ts";

/** Takes the lease `files` and keeps it until it is ended: `hold-lease.ts OPTIONS TIMING`. Prints `held true`. */
const [options = "{}", timing = "{}"] = process.argv.slice(2);
const place = await openPlace({
  lance: JSON.parse(options) as LanceOptions,
  agentId: "main",
  stateDir: "/nowhere",
  mayCreate: true,
  signal: new AbortController().signal,
  timing: JSON.parse(timing) as LeaseTiming,
});
const isHeld = await place.leases?.acquire("files", "a process");
process.stdout.write(`held ${isHeld}\n`);
process.stdin.resume();
