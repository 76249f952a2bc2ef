export { findLlama } from "./find-llama.ts";
export { readGguf } from "./gguf-file.ts";
export { isFile, type ModelAddress, parseModelAddress } from "./model-file.ts";
export { configSchema, ModelRunner, readOptions, type RunnerSetup, type RunnerTimes } from "./model-runner.ts";
