export { download } from "./download/download.ts";
export { type ModelAddress, parseModelAddress } from "./download/model-address.ts";
export { findLlama } from "./find-llama.ts";
export { readGguf } from "./gguf-file.ts";
export { isFile } from "./local-model.ts";
export { configSchema, ModelRunner, readOptions, type RunnerTimes } from "./model-runner.ts";
export { createSharedRun } from "./shared-run.ts";
