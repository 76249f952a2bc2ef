export { codeOf, unlessMissing } from "./error-code.ts";
export * from "./in-place.ts";
export * from "./notes-layout.ts";
export * from "./process-lock.ts";
export * from "./replace-file.ts";
