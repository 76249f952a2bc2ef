// `*` makes all exports of a file public.
export { childEnvironment, networkVariables } from "./child-environment.ts";
export * from "./answer-limits.ts";
export * from "./batch-jobs.ts";
export * from "./http-client.ts";
export * from "./model-prefixes.ts";
export * from "./request.ts";
