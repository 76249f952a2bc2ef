// Of a file that is handed on whole (`*`), all that it exports is public.
export { childEnvironment, networkVariables } from "./child-environment.ts";
export * from "./model-prefixes.ts";
export * from "./request.ts";
