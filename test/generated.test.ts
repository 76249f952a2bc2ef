import { readFileSync } from "node:fs";
import path from "node:path";
import { offeredPlugins } from "@memslot/core/host";
import { expect, test } from "vitest";
import { generatedFiles } from "./support/generated-files.ts";
import { extensions, root } from "./support/repository.ts";

const commandFile = "apps/memslot/package.json";
const read = (name: string): string => readFileSync(path.join(root, name), "utf8");

test.each(Object.entries(generatedFiles))("%s is up to date (pnpm generate writes it)", async (name, make) => {
  const [now, made] = [read(name), await make(read(name))];
  if (name.endsWith(".json")) expect(JSON.parse(now)).toEqual(JSON.parse(made));
  else expect(now).toBe(made);
});

test("the name of an extension says its id and kind: no more is known of one that is not installed", () => {
  const offered = new Map(offeredPlugins(path.join(root, commandFile)).map((plugin) => [plugin.packageName, plugin]));
  const { dependencies } = JSON.parse(read(commandFile)) as { dependencies: Record<string, string> };
  for (const { place, name } of extensions) {
    const { id, kind } = offered.get(name) ?? { id: name.replace("@memslot/", ""), kind: "memory" };
    expect(JSON.parse(read(`${place}/memslot.plugin.json`))).toMatchObject({ id, kind });
    expect(offered.has(name)).toBe(!(name in dependencies));
  }
});
