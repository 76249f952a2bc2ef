import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  type FoundPlugins,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
  discoverPlugins,
  installedPluginsDir,
  offeredPlugins,
} from "@memslot/core";
import { config, fakeManager } from "./support/fakes.ts";
import { folderOf, pluginFiles } from "./support/plugin-folders.ts";

const removals: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

async function fresh(files: Record<string, unknown>): Promise<string> {
  const { folder, remove } = await folderOf(files);
  removals.push(remove);
  return folder;
}

/** The files of `<stateDir>/plugins` with these plugins installed. */
function installation(...ids: string[]): Record<string, unknown> {
  const dependencies = Object.fromEntries(ids.map((id) => [`pkg-${id}`, "1.0.0"]));
  const files = ids.map((id) => pluginFiles(id, {}, `plugins/node_modules/pkg-${id}`));
  return Object.assign({ "plugins/package.json": { private: true, dependencies } }, ...files) as Record<
    string,
    unknown
  >;
}

function messages({ broken }: FoundPlugins): string[] {
  return broken.map(({ error }) => error.message);
}

describe("plugins that `memslot plugins add` has installed", () => {
  test("are the dependencies of the folder, in their order, and nothing else in it", async () => {
    const stateDir = await fresh({
      ...installation("one", "two"),
      ...pluginFiles("stray", {}, "plugins/node_modules/pkg-stray"),
    });
    const found = await discoverPlugins({ config: config(), installed: installedPluginsDir(stateDir) });
    expect(found).toMatchObject({
      known: [
        { id: "one", packageName: "pkg-one", place: join(stateDir, "plugins/node_modules/pkg-one") },
        { id: "two", packageName: "pkg-two" },
      ],
      broken: [],
    });
    expect(found.known).toHaveLength(2);
  });

  test("are none where nothing was installed yet", async () => {
    const stateDir = await fresh({ "memory/main.sqlite": "" });
    const found = await discoverPlugins({ config: config(), installed: installedPluginsDir(stateDir) });
    expect(found).toEqual({ known: [], broken: [], missing: [] });
  });

  test("give way to a plugin that the application brings, by its dependencies or by hand", async () => {
    const stateDir = await fresh(installation("one", "two", "three"));
    const app = await fresh({
      "package.json": { name: "app", peerDependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
    });
    const two = defineMemoryPlugin({ id: "two", open: async () => fakeManager() });
    const found = await discoverPlugins({
      config: config(),
      host: join(app, "index.js"),
      plugins: [two],
      installed: installedPluginsDir(stateDir),
    });
    expect(found.broken).toEqual([]);
    expect(found.known.map(({ id, place }) => [id, place])).toEqual([
      ["two", 'the "plugins" option, number 1'],
      ["one", join(app, "node_modules/pkg-one")],
      ["three", join(stateDir, "plugins/node_modules/pkg-three")],
    ]);
  });

  test("do not hide that the application's own copy is broken", async () => {
    const stateDir = await fresh(installation("one"));
    const app = await fresh({
      "package.json": { name: "app", dependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", { manifest: { id: "one", configSchema: {} } }, "node_modules/pkg-one"),
    });
    const found = await discoverPlugins({
      config: config(),
      host: join(app, "index.js"),
      installed: installedPluginsDir(stateDir),
    });
    expect(found.known).toEqual([]);
    expect(messages(found)).toEqual([expect.stringContaining('"kind" is missing')]);
  });

  test("stand beside those of plugins.load.paths, and two with one id are refused as everywhere", async () => {
    const stateDir = await fresh(installation("one", "same"));
    const paths = [await fresh(pluginFiles("two")), await fresh(pluginFiles("same"))];
    const found = await discoverPlugins({
      config: config({ plugins: { load: { paths } } }),
      installed: installedPluginsDir(stateDir),
    });
    expect(found.known.map(({ id }) => id)).toEqual(["one", "two"]);
    expect(messages(found)[0]).toContain('two plugins have the id "same"');
  });

  test("whose files are gone are told of with the command that brings them back", async () => {
    const stateDir = await fresh({
      "plugins/package.json": { dependencies: { "pkg-gone": "1", "@memslot/memory-qmd": "1" } },
    });
    const found = await discoverPlugins({ config: config(), installed: installedPluginsDir(stateDir) });
    expect(found.known).toEqual([]);
    expect(messages(found)).toEqual([
      expect.stringContaining("run `memslot plugins add pkg-gone` again"),
      expect.stringContaining("run `memslot plugins add @memslot/memory-qmd` again"),
    ]);
    expect(found.broken[1]).toMatchObject({ id: "memory-qmd", packageName: "@memslot/memory-qmd" });
  });

  test("are not looked for in folders above", async () => {
    const root = await fresh({
      "state/plugins/package.json": { dependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
    });
    const found = await discoverPlugins({ config: config(), installed: join(root, "state/plugins") });
    expect(found.known).toEqual([]);
  });

  test.each(["../../outside", "..", "/etc", "@scope/../../outside"])(
    "are no paths: %s is passed over",
    async (name) => {
      const stateDir = await fresh({
        "plugins/package.json": { dependencies: { [name]: "1" } },
        ...pluginFiles("outside", {}, "outside"),
      });
      const found = await discoverPlugins({ config: config(), installed: installedPluginsDir(stateDir) });
      expect(found).toEqual({ known: [], broken: [], missing: [] });
    },
  );

  test.each([
    ["is no JSON", "{ broken"],
    ["holds a list", []],
  ])("are none where package.json %s", async (_name, content) => {
    const stateDir = await fresh({ "plugins/package.json": content });
    const found = await discoverPlugins({ config: config(), installed: installedPluginsDir(stateDir) });
    expect(found.known).toEqual([]);
    if (typeof content === "string") expect(messages(found)[0]).toContain(join(stateDir, "plugins/package.json"));
    else expect(found.broken).toEqual([]);
  });

  test("are never taken from a workspace", async () => {
    const root = await fresh({ ...installation("one"), "plugins-of-notes/readme.md": "" });
    const workspace = { agents: { defaults: { workspace: root } } };
    const found = await discoverPlugins({ config: config(workspace), installed: join(root, "plugins") });
    expect(found.known).toEqual([]);
    expect(messages(found)).toEqual([
      `installed plugins are not used: ${join(root, "plugins")} lies inside the workspace ${root}; set MEMSLOT_HOME to a folder outside of it`,
    ]);
    const beside = { agents: { defaults: { workspace: join(root, "plugins-of-notes") } } };
    const other = await discoverPlugins({ config: config(beside), installed: join(root, "plugins") });
    expect(other.known.map(({ id }) => id)).toEqual(["one"]);
  });
});

describe("what an application offers to work with", () => {
  const peers = (...names: string[]): Record<string, unknown> => ({
    name: "app",
    peerDependencies: Object.fromEntries(names.map((name) => [name, "1"])),
    peerDependenciesMeta: Object.fromEntries(names.map((name) => [name, { optional: true }])),
  });

  test("is told by the names of its optional peers", async () => {
    const names = ["@memslot/memory-far", "@memslot/embeddings-far", "memory-own", "embeddings", "@me/memorandum"];
    const root = await fresh({ "package.json": peers(...names) });
    expect(offeredPlugins(join(root, "src/main.js"))).toEqual([
      { id: "memory-far", kind: "memory", packageName: "@memslot/memory-far" },
      { id: "far", kind: "embedding", packageName: "@memslot/embeddings-far" },
      { id: "memory-own", kind: "memory", packageName: "memory-own" },
    ]);
  });

  test("is no peer that has to be there", async () => {
    const root = await fresh({ "package.json": { ...peers("memory-far"), peerDependenciesMeta: {} } });
    expect(offeredPlugins(join(root, "main.js"))).toEqual([]);
  });

  test("is missing where it is not installed, also by the id of another package, and not where it is", async () => {
    const root = await fresh({
      "package.json": peers("memory-here", "memory-far", "memory-broken", "embeddings-far"),
      ...pluginFiles("memory-here", {}, "node_modules/memory-here"),
      "node_modules/memory-broken/package.json": { name: "memory-broken" },
      "node_modules/memory-broken/memslot.plugin.json": "{ broken",
    });
    const far = defineEmbeddingPlugin({ id: "far", open: () => Promise.reject(new Error("not opened here")) });
    const found = await discoverPlugins({ config: config(), host: join(root, "main.js"), plugins: [far] });
    expect(found.known.map(({ id }) => id)).toEqual(["far", "memory-here"]);
    expect(found.broken).toHaveLength(1);
    expect(found.missing).toEqual([{ id: "memory-far", kind: "memory", packageName: "memory-far" }]);
  });
});
