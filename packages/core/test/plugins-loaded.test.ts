import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { type MemoryError } from "@memslot/core";
import { type FoundPlugins, discoverPlugins } from "@memslot/core/host";
import { startChild } from "@memslot/test-tools/child";
import { tempFolder } from "@memslot/test-tools/files";
import { pluginOptions } from "../src/plugins/plugin-options.ts";
import { config, rejected } from "./support/fakes.ts";
import { type PluginFiles, pluginFiles } from "./support/plugin-folders.ts";
/** Manifests and options that are refused, with what must be said, and packages with an entry. */
import data from "./data/plugins.json" with { type: "json" };

async function discovered(own: PluginFiles): Promise<FoundPlugins & { folder: string }> {
  const folder = tempFolder(pluginFiles("one", own));
  return { folder, ...(await discoverPlugins({ config: config({ plugins: { load: { paths: [folder] } } }) })) };
}

describe("a manifest", () => {
  const sound = { id: "one", kind: "memory", configSchema: { type: "object" } };

  test("gives id, kind, schema, name and description, also behind a byte order mark", async () => {
    const manifest = { ...sound, name: "One", description: "First" };
    for (const text of [JSON.stringify({ ...manifest, uiHints: {} }), `\uFEFF${JSON.stringify(manifest)}`])
      expect((await discovered({ manifest: text })).known).toMatchObject([{ ...manifest, packageName: "pkg-one" }]);
  });

  test.each(data.manifests as [unknown, string][])(
    "like %j is refused, naming the plugin, the file and the field: %s",
    async (manifest, words) => {
      const { known, broken, folder } = await discovered({ manifest });
      expect([known, broken]).toMatchObject([[], [{ error: { code: "PLUGIN" } }]]);
      const message = broken[0]?.error.message ?? "";
      expect(message).toContain(words);
      expect(message).toContain(join(folder, "memslot.plugin.json"));
      const id = (manifest as { id?: unknown }).id;
      expect(message).toContain(typeof id === "string" && id !== "" ? `plugin "${id}"` : `plugin ${folder}`);
    },
  );

  test.each(data.wrongPackageJson as [unknown, string][])(
    "beside the package.json %j is refused, naming that file",
    async (packageJson, words) => {
      const { known, broken, folder } = await discovered({ packageJson });
      expect([known, broken]).toMatchObject([[], [{ id: "one", error: { code: "PLUGIN" } }]]);
      expect(broken[0]?.error.message).toContain(join(folder, "package.json"));
      expect(broken[0]?.error.message).toContain(words);
    },
  );
});

describe("the entry of a plugin", () => {
  test.each(data.packages)("is found by the package.json %j", async (packageJson) => {
    const { known } = await discovered({ packageJson });
    await expect(known[0]?.load()).resolves.toMatchObject({ id: "one", kind: "memory" });
  });

  /** Loads it, which must fail with an error that names the plugin. */
  async function loadError(own: PluginFiles): Promise<{ error: MemoryError; folder: string }> {
    const { known, broken, folder } = await discovered(own);
    // Nothing of it runs before it is loaded.
    expect([known.length, broken]).toEqual([1, []]);
    const error = await rejected(known[0]?.load() ?? Promise.resolve());
    expect(error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining('plugin "one"') });
    return { error: error as MemoryError, folder };
  }

  test.each(data.exports as [unknown, string][])(
    "is refused where exports is %j, naming the plugin and the folder: %s",
    async (exports, words) => {
      const { error, folder } = await loadError({ packageJson: { name: "pkg-one", exports } });
      expect(error.message).toContain(words);
      expect(error.message).toContain(folder);
    },
  );

  test.each(data.entries as [string, string, string][])(
    "that %s is refused with the file and the cause",
    async (name, entry, words) => {
      const { error, folder } = await loadError({ entry });
      expect(error.message).toContain(words);
      expect(error.message).toContain(join(folder, "index.js"));
      expect(error.cause instanceof Error).toBe(/throws|syntax|imports/.test(name));
    },
  );
});

test("under plain Node a dependency is loaded from its sources, as the module that its application imports, and late", async () => {
  const [core, host] = ["index.ts", "host.ts"].map((name) => new URL(`../src/${name}`, import.meta.url).href);
  const packageJson = data.sourcePackage;
  const root = tempFolder({
    "app/package.json": { name: "app", type: "module", dependencies: { "pkg-one": "1" } },
    "app/main.js": `import { createRequire } from "node:module";
      import { parseConfig } from ${JSON.stringify(core)};
      import { discoverPlugins } from ${JSON.stringify(host)};
      const { known } = await discoverPlugins({ config: parseConfig({}), host: import.meta.url });
      const checkers = Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes("ajv"));
      const late = [globalThis.isLoaded, checkers.length];
      const plugin = await known[0].load();
      const { default: imported } = await import("pkg-one");
      console.log(...late, plugin.from, plugin === imported);`,
    "app/node_modules/.keep": "",
    ...pluginFiles("one", { packageJson }, "plugin"),
    "plugin/src.ts": `globalThis.isLoaded = true; const open: unknown = () => {};
      export default { kind: "memory", contract: 1, id: "one", open, from: "source" };`,
  });
  symlinkSync(join(root, "plugin"), join(root, "app/node_modules/pkg-one"));
  // As pnpm does, the dependency is linked into node_modules.
  const child = startChild(pathToFileURL(join(root, "app/main.js")), []);
  await child.ended;
  expect(child.output()).toBe("undefined 0 source true\n");
});

describe("the options of a plugin", () => {
  const schema = data.schema;

  async function options(entry?: object, configSchema: object | undefined = schema): ReturnType<typeof pluginOptions> {
    const { plugins } = config(entry === undefined ? {} : { plugins: { entries: { one: { config: entry } } } });
    const before = JSON.stringify(plugins);
    const plugin = { id: "one", place: "/plugins/one", configSchema: configSchema as Record<string, unknown> };
    const given = await pluginOptions(plugin, plugins);
    expect(JSON.stringify(plugins)).toBe(before);
    return given;
  }

  test.each<[object | undefined, object]>([
    [{ mode: "fast" }, { mode: "fast", table: "notes" }],
    [undefined, { table: "notes" }],
    [{ limits: { "a/b": 2 } }, { limits: { "a/b": 2 }, table: "notes" }],
  ])("are plugins.entries.<id>.config %j with the defaults of the schema", async (entry, wanted) => {
    await expect(options(entry)).resolves.toEqual(wanted);
  });

  test("are frozen all the way down, and unchecked where the plugin has no schema", async () => {
    const given = await options({ list: ["a"] });
    expect([Object.isFrozen(given), Object.isFrozen(given["list"])]).toEqual([true, true]);
    const { plugins } = config({ plugins: { entries: { one: { config: { anything: 1 } } } } });
    const plugin = { id: "one", place: "/plugins/one", configSchema: undefined };
    await expect(pluginOptions(plugin, plugins)).resolves.toEqual({ anything: 1 });
  });

  test.each(data.options as [object, string][])("like %j are refused, naming the key: %s", async (entry, words) => {
    const message = expect.stringContaining(`plugins.entries.one.config.${words}`);
    await expect(options(entry)).rejects.toMatchObject({ code: "CONFIG", message });
  });

  test("are refused with all faults, a long key cut, and no value, which may be a secret", async () => {
    const both = String(await rejected(options({ table: 5, mode: "slow" })));
    for (const key of ["config.table", "config.mode"]) expect(both).toContain(key);
    expect(String(await rejected(options({ ["x".repeat(900_000)]: 1 })))).toContain('…" is not a key of this plugin');
    const secret = String(await rejected(options({ limits: "hunter2" })));
    expect(secret).toContain("config.limits");
    expect(secret).not.toContain("hunter2");
  });

  const draft2020 = "https://json-schema.org/draft/2020-12/schema";
  test.each([
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-04/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    draft2020,
  ])("are checked by a schema of %s", async ($schema) => {
    await expect(options({ table: 5 }, { ...schema, $schema })).rejects.toMatchObject({ code: "CONFIG" });
    await expect(options({ table: "x" }, { ...schema, $schema })).resolves.toMatchObject({ table: "x" });
  });

  test.each(data.schemas as [string, object | null, object, string, string][])(
    "are checked %s",
    async (_name, entry, own, code, words) => {
      await expect(options(entry ?? undefined, own)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(words),
      });
    },
  );
});
