// Of a file that is handed on whole (`*`), all that it exports is public.
export { codeOf, unlessMissing } from "./error-code.ts";
export * from "./in-place.ts";
export * from "./notes-layout.ts";
export * from "./process-lock.ts";
export * from "./replace-file.ts";
