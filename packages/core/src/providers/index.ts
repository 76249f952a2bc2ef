// `*` makes all exports of a file public.
export { childEnvironment, networkVariables } from "./child-environment.ts";
export * from "./response-limits.ts";
export * from "./batch-jobs.ts";
export * from "./http-client.ts";
export * from "./model-prefixes.ts";
export * from "./proxy-fetch.ts";
