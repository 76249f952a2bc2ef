import type { LanceOptions } from "../options.ts";
import { openPlace } from "../place/open-place.ts";

/** Appends rows to one table, a commit for each: `append-rows.ts OPTIONS PREFIX COUNT`. Prints `open`, waits for a line, and prints `done`. */
const [options = "{}", prefix = "", count = "0"] = process.argv.slice(2);
const place = await openPlace({
  lance: JSON.parse(options) as LanceOptions,
  agentId: "main",
  stateDir: "/nowhere",
  mayCreate: true,
  signal: new AbortController().signal,
});
const table = await place.connection.openTable("rows");
process.stdout.write("open\n");
// Both begin in the same moment.
await new Promise((resolve) => process.stdin.once("data", resolve));
for (let index = 0; index < Number(count); index++)
  await place.within("appending a row", 60_000, undefined, () => table.add([{ name: `${prefix}${index}` }]));
await place.close();
process.stdout.write("done\n");
process.stdin.destroy();
