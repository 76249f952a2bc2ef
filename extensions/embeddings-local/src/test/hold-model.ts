import { ModelProcess } from "../model-process.ts";

/**
 * A host with a process that loads a model by the module in its first argument, and is then killed. Prints the id of
 * that process.
 */
const [llama = ""] = process.argv.slice(2);
const hour = 3_600_000;
const child = new ModelProcess(
  { llama, modelPath: "none.gguf", contexts: 1, contextSize: 64, threads: 1 },
  { loadMs: hour, silenceMs: hour },
);
process.stdout.write(`model process ${child.pid}\n`);
