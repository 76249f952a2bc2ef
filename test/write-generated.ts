import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  configTypes,
  languageTable,
  vectorKernel,
  withConfigTable,
  withOfferedPeers,
  withOwnSchema,
  sampledPages,
  withSampleOutput,
} from "./support/generated.ts";
import { agentPages, clientIdsFile, withAgentLists } from "./support/agent-lists.ts";
import { apiReport, reportedPlaces } from "./support/api-report.ts";
import { extensions, root } from "./support/repository.ts";

async function write(name: string, made: (text: string) => string | Promise<string>): Promise<void> {
  const file = path.join(root, name);
  writeFileSync(file, await made(readFileSync(file, "utf8")));
}

await write("docs/configuration.md", withConfigTable);
await write("packages/core/src/contract/config-values.ts", configTypes);
await write("packages/core/src/contract/client-ids.ts", clientIdsFile);
for (const page of Object.keys(agentPages)) await write(page, (text) => withAgentLists(page, text));
await write("apps/memslot/package.json", withOfferedPeers);
await write("extensions/memory-core/src/vectors/kernel/kernel-bytes.ts", vectorKernel);
await write("packages/indexing/src/text/languages/files.ts", () => languageTable("files"));
await write("packages/indexing/src/text/languages/stemmer-modules.ts", () => languageTable("stemmers"));
for (const place of reportedPlaces) writeFileSync(path.join(root, place, "api.md"), apiReport(place));
for (const { place } of extensions) await write(`${place}/memslot.plugin.json`, (text) => withOwnSchema(text, place));
for (const page of sampledPages) await write(page, withSampleOutput);
