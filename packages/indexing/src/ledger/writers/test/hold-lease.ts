// Takes a lease and keeps it until it is killed or told "release" on its input. Arguments: index, folder of locks, name.
import { createInterface } from "node:readline";
import type { LeaseName } from "../../../chunk-index.ts";
import { createLeases } from "../leases.ts";
import { fileRows } from "./lease-rows.ts";

const [path = "", locksDir = "", name = "build"] = process.argv.slice(2);
const leases = createLeases({ indexPath: () => path, locksDir, rows: fileRows(path) });
process.stdout.write(leases.acquire(name as LeaseName, "test child") ? "held\n" : "refused\n");
for await (const line of createInterface(process.stdin)) {
  if (line !== "release") continue;
  leases.release(name as LeaseName);
  process.stdout.write("released\n");
}
