export { codeOf, unlessMissing } from "./error-code.ts";
export * from "./confined-open.ts";
export * from "./notes-layout.ts";
export * from "./process-lock.ts";
export * from "./replace-file.ts";
