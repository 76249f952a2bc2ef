// Prints the shared libraries of the process and the modules that were required after the entry was imported.
import { createRequire } from "node:module";

process.on("worker", () => process.stdout.write("started a thread that loads better-sqlite3\n"));
await import("@memslot/memory-core");
const report = process.report.getReport() as unknown as { sharedObjects: string[] };
const required = Object.keys(createRequire(import.meta.url).cache);
process.stdout.write(`loaded\n${[...report.sharedObjects, ...required].join("\n")}\n`);
