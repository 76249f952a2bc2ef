import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { offeredPlugins } from "@memslot/core";
import { withOfferedPeers } from "./support/command-peers.ts";
import { extensions, root } from "./support/pack-all.ts";
import { withOwnSchema } from "./support/plugin-manifest.ts";

const commandFile = path.join(root, "apps/memslot/package.json");

describe("an extension of this repository", () => {
  test("is offered by the command, or comes with it (pnpm generate makes it so)", () => {
    const text = readFileSync(commandFile, "utf8");
    expect(text).toBe(withOfferedPeers(text));
  });

  test.each(extensions)("has one schema: $name (pnpm generate makes it so)", async ({ place }) => {
    const text = readFileSync(path.join(root, place, "memslot.plugin.json"), "utf8");
    expect(JSON.parse(text)).toEqual(JSON.parse(await withOwnSchema(text, place)));
  });

  test("is what its name says: that is all that is known of one that is not installed", () => {
    const offered = new Map(offeredPlugins(commandFile).map((plugin) => [plugin.packageName, plugin]));
    const { dependencies } = JSON.parse(readFileSync(commandFile, "utf8")) as { dependencies: Record<string, string> };
    for (const { place, name } of extensions) {
      const manifest = JSON.parse(readFileSync(path.join(root, place, "memslot.plugin.json"), "utf8")) as object;
      const { id, kind } = offered.get(name) ?? { id: name.replace("@memslot/", ""), kind: "memory" };
      expect(manifest).toMatchObject({ id, kind });
      expect(offered.has(name)).toBe(!(name in dependencies));
    }
  });
});
