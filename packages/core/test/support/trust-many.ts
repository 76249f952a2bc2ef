import { once } from "node:events";
import { trustConfig } from "@memslot/core/host";

/** A process that trusts files one after the other, once it is told to: the state folder, then the files. */
const [stateDir = "", ...files] = process.argv.slice(2);
process.stdout.write("ready\n");
await once(process.stdin, "data");
process.stdin.destroy();
for (const file of files) await trustConfig(file, { stateDir });
