import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { generatedFiles, sampledPages, withSampleOutput } from "./support/generated-files.ts";
import { root } from "./support/repository.ts";

const samples = sampledPages.map((page) => [page, withSampleOutput] as const);
for (const [name, make] of [...Object.entries(generatedFiles), ...samples]) {
  const file = path.join(root, name);
  writeFileSync(file, await make(existsSync(file) ? readFileSync(file, "utf8") : ""));
}
