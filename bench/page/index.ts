export { makePage } from "./page.ts";
export { type BenchResults, pageFolder, readResults } from "./results.ts";
