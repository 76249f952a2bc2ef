// Runs a program of this repository in the folder of the caller of `scripts/run.mjs`: pnpm runs every script
// in the repository, and a path that was written, or the project that is at hand, is meant from where the caller is.
// It changes the folder in the process itself: a flag of Node for it would be inherited by each thread and child.
import path from "node:path";
import { pathToFileURL } from "node:url";

// What the program sees is itself and its own arguments.
const [node, , program, ...args] = process.argv;
const file = path.resolve(program);
process.argv = [node, file, ...args];
process.chdir(process.env.MEMSLOT_CALLED_FROM ?? process.cwd());
delete process.env.MEMSLOT_CALLED_FROM;
await import(pathToFileURL(file).href);
