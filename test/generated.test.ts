import { readFileSync } from "node:fs";
import path from "node:path";
import { offeredPlugins } from "@memslot/core/host";
import { describe, expect, test } from "vitest";
import {
  configTypes,
  languageTable,
  vectorKernel,
  withConfigTable,
  withOfferedPeers,
  withOwnSchema,
} from "./support/generated.ts";
import { agentPages, clientIdsFile, withAgentLists } from "./support/agent-lists.ts";
import { apiReport, reportedPlaces } from "./support/api-report.ts";
import { extensions, root } from "./support/repository.ts";

const commandFile = "apps/memslot/package.json";
const read = (name: string): string => readFileSync(path.join(root, name), "utf8");

test.each([
  ["docs/configuration.md", withConfigTable],
  ["packages/core/src/contract/config-values.ts", configTypes],
  ["packages/core/src/contract/client-ids.ts", clientIdsFile],
  [commandFile, withOfferedPeers],
  ["extensions/memory-core/src/vectors/kernel/kernel-bytes.ts", vectorKernel],
  ["packages/indexing/src/text/languages/files.ts", () => languageTable("files")],
  ["packages/indexing/src/text/languages/stemmer-modules.ts", () => languageTable("stemmers")],
])("%s is what its sources come to (pnpm generate makes it so)", async (name, made) => {
  expect(read(name)).toBe(await made(read(name)));
});

test.each(Object.keys(agentPages))("%s lists the agents of the table (pnpm generate writes it)", (page) => {
  expect(read(page)).toBe(withAgentLists(page, read(page)));
});

test.each(reportedPlaces)("%s/api.md shows what the package exports (pnpm generate writes it)", (place) => {
  expect(read(`${place}/api.md`)).toBe(apiReport(place));
});

describe("an extension of this repository", () => {
  test.each(extensions)("has one schema: $name (pnpm generate makes it so)", async ({ place }) => {
    const text = read(`${place}/memslot.plugin.json`);
    expect(JSON.parse(text)).toEqual(JSON.parse(await withOwnSchema(text, place)));
  });

  test("is what its name says: that is all that is known of one that is not installed", () => {
    const offered = new Map(offeredPlugins(path.join(root, commandFile)).map((plugin) => [plugin.packageName, plugin]));
    const { dependencies } = JSON.parse(read(commandFile)) as { dependencies: Record<string, string> };
    for (const { place, name } of extensions) {
      const { id, kind } = offered.get(name) ?? { id: name.replace("@memslot/", ""), kind: "memory" };
      expect(JSON.parse(read(`${place}/memslot.plugin.json`))).toMatchObject({ id, kind });
      expect(offered.has(name)).toBe(!(name in dependencies));
    }
  });
});
