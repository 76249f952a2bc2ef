import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { type FoundPlugins, defineMemoryPlugin, discoverPlugins } from "@memslot/core";
import { config, fakeManager } from "./support/fakes.ts";
import { embeddingFiles, folderOf, pluginFiles } from "./support/plugin-folders.ts";

const removals: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

async function fresh(files: Record<string, unknown>): Promise<string> {
  const { folder, remove } = await folderOf(files);
  removals.push(remove);
  return folder;
}

function ids({ known }: FoundPlugins): string[] {
  return known.map(({ id }) => id);
}

function fromPaths(...paths: string[]): Promise<FoundPlugins> {
  return discoverPlugins({ config: config({ plugins: { load: { paths } } }) });
}

describe("plugins that the application hands in", () => {
  const plugin = defineMemoryPlugin({ id: "mine", open: async () => fakeManager() });

  test("are known without a manifest", async () => {
    const found = await discoverPlugins({ config: config(), plugins: [plugin] });
    expect(found).toMatchObject({ known: [{ id: "mine", kind: "memory" }], broken: [] });
    await expect(found.known[0]?.load()).resolves.toBe(plugin);
  });

  test.each([
    ["kind", { ...plugin, kind: undefined }],
    ["id", { ...plugin, id: " " }],
    ["contract", { ...plugin, contract: 2 }],
    ["open", { ...plugin, open: undefined }],
  ])("are listed as broken with a wrong %s", async (field, wrong) => {
    const found = await discoverPlugins({ config: config(), plugins: [wrong as typeof plugin] });
    expect(found.known).toEqual([]);
    expect(found.broken[0]?.error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining(`"${field}"`) });
    expect(found.broken[0]?.error.message).toContain('the "plugins" option, number 1');
  });
});

describe("built-in plugins", () => {
  test("are those among the dependencies, optional dependencies and installed peers of the host's package", async () => {
    const app = await fresh({
      "package.json": {
        name: "app",
        dependencies: { "pkg-one": "1", plain: "1", missing: "1" },
        optionalDependencies: { "pkg-two": "1", gone: "1" },
        peerDependencies: { "pkg-three": "1", "pkg-peer-that-is-not-there": "1" },
        devDependencies: { "pkg-stray": "1" },
      },
      "dist/package.json": { type: "module" },
      "dist/deep/index.js": "",
      "node_modules/plain/package.json": { name: "plain" },
      "node_modules/pkg-stray/package.json": { name: "pkg-stray" },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
      ...embeddingFiles("two", undefined, "node_modules/pkg-two"),
      ...pluginFiles("three", {}, "node_modules/pkg-three"),
      ...pluginFiles("stray", {}, "node_modules/pkg-stray"),
    });
    const found = await discoverPlugins({
      config: config(),
      host: pathToFileURL(join(app, "dist/deep/index.js")).href,
    });
    expect(ids(found)).toEqual(["one", "two", "three"]);
    expect(found.known[0]).toMatchObject({ packageName: "pkg-one", place: join(app, "node_modules/pkg-one") });
    expect(found.broken).toEqual([]);
  });

  test("are found from a path as well as from an address, and in a folder above", async () => {
    const root = await fresh({
      "packages/app/package.json": { name: "app", dependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
    });
    expect(ids(await discoverPlugins({ config: config(), host: join(root, "packages/app/src/main.js") }))).toEqual([
      "one",
    ]);
  });

  test("need not list their manifest in their exports", async () => {
    const app = await fresh({
      "package.json": { name: "app", dependencies: { "pkg-one": "1" } },
      ...pluginFiles(
        "one",
        { packageJson: { name: "pkg-one", exports: { ".": "./index.js" } } },
        "node_modules/pkg-one",
      ),
    });
    expect(ids(await discoverPlugins({ config: config(), host: join(app, "index.js") }))).toEqual(["one"]);
  });

  test("are listed as broken when their manifest is wrong", async () => {
    const app = await fresh({
      "package.json": { name: "app", dependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", { manifest: { id: "one", configSchema: {} } }, "node_modules/pkg-one"),
    });
    const found = await discoverPlugins({ config: config(), host: join(app, "index.js") });
    expect(found.known).toEqual([]);
    expect(found.broken).toMatchObject([{ id: "one", packageName: "pkg-one" }]);
  });

  test("cannot be found when the package.json of the host is no JSON, which is an error", async () => {
    const app = await fresh({ "package.json": "{ broken" });
    await expect(discoverPlugins({ config: config(), host: join(app, "index.js") })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining(join(app, "package.json")),
    });
  });
});

describe("plugins.load.paths", () => {
  test("may name the folder of a plugin", async () => {
    const folder = await fresh(pluginFiles("one"));
    expect(await fromPaths(folder)).toMatchObject({
      known: [{ id: "one", kind: "memory", place: folder }],
      broken: [],
    });
  });

  test("may name a folder of such folders, and pass over what is no plugin", async () => {
    const folder = await fresh({
      ...pluginFiles("b", {}, "two"),
      ...pluginFiles("a", {}, "one"),
      "docs/readme.md": "",
      "notes.txt": "",
    });
    expect(await fromPaths(folder)).toMatchObject({ known: [{ id: "a" }, { id: "b" }], broken: [] });
  });

  test("tell of a package without a manifest in such a folder", async () => {
    const folder = await fresh({ ...pluginFiles("a", {}, "one"), "two/package.json": { name: "two" } });
    const found = await fromPaths(folder);
    expect(ids(found)).toEqual(["a"]);
    expect(found.broken[0]?.error.message).toContain(
      `"two" is no memslot plugin: ${join(folder, "two", "memslot.plugin.json")} is missing`,
    );
  });

  test("tell of a folder that is missing, holds no plugin or is a file", async () => {
    const folder = await fresh({ "empty/readme.md": "", "file.js": "" });
    const found = await fromPaths(join(folder, "nowhere"), join(folder, "empty"), join(folder, "file.js"));
    expect(found.known).toEqual([]);
    expect(found.broken.map(({ error }) => error.message)).toEqual([
      expect.stringContaining(`plugins.load.paths: ${join(folder, "nowhere")} cannot be read`),
      expect.stringContaining(`plugins.load.paths: ${join(folder, "empty")} holds no plugin`),
      expect.stringContaining(`plugins.load.paths: ${join(folder, "file.js")} cannot be read`),
    ]);
  });

  test("that lead to the same folder twice bring one plugin", async () => {
    const folder = await fresh(pluginFiles("one", {}, "plugin"));
    await symlink(join(folder, "plugin"), join(folder, "link"));
    expect(ids(await fromPaths(join(folder, "plugin"), join(folder, "link"), folder))).toEqual(["one"]);
  });
});

describe("plugins named by package", () => {
  test("are found from the folder of the configuration, else from the host", async () => {
    const home = await fresh(pluginFiles("near", {}, "node_modules/@acme/near"));
    const app = await fresh({
      "package.json": { name: "app" },
      ...pluginFiles("far", {}, "node_modules/far-pkg"),
      ...pluginFiles("near-copy", {}, "node_modules/@acme/near"),
    });
    const found = await discoverPlugins({
      config: config({}, { baseDir: home }),
      host: join(app, "index.js"),
      names: ["@acme/near", "far-pkg", "absent"],
    });
    expect(ids(found)).toEqual(["near", "far"]);
  });

  test("are taken in the copy that the configuration sees, in place of the host's own dependency", async () => {
    const home = await fresh(pluginFiles("one", {}, "node_modules/pkg-one"));
    const app = await fresh({
      "package.json": { name: "app", dependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
    });
    const found = await discoverPlugins({
      config: config({}, { baseDir: home }),
      host: join(app, "index.js"),
      names: ["pkg-one"],
    });
    expect(found).toMatchObject({ known: [{ id: "one", place: join(home, "node_modules/pkg-one") }], broken: [] });
  });

  test.each([
    "../plugin",
    "./plugin",
    "/plugin",
    "node_modules/../plugin",
    "file:///plugin",
    ".hidden",
    "",
    "fs",
    "a b",
  ])("are not looked for when the name is %j, which is no package", async (name) => {
    const folder = await fresh({
      ...pluginFiles("x", {}, "plugin"),
      ...pluginFiles("y", {}, "home/plugin"),
      ...pluginFiles("z", {}, "home/node_modules/.hidden"),
    });
    const found = await discoverPlugins({ config: config({}, { baseDir: join(folder, "home") }), names: [name] });
    expect(found).toEqual({ known: [], broken: [], missing: [] });
  });

  test("are known by the name that they are installed under, also when it is an alias", async () => {
    const home = await fresh(
      pluginFiles("one", { packageJson: { name: "real-name", exports: "./index.js" } }, "node_modules/alias"),
    );
    const found = await discoverPlugins({ config: config({}, { baseDir: home }), names: ["alias"] });
    expect(found.known).toMatchObject([{ id: "one", packageName: "alias" }]);
  });

  test("that have no manifest are told of", async () => {
    const home = await fresh({ "node_modules/plain/package.json": { name: "plain" } });
    const found = await discoverPlugins({ config: config({}, { baseDir: home }), names: ["plain"] });
    expect(found.broken.map(({ error }) => error.message)).toEqual([
      expect.stringContaining('"plain" is no memslot plugin'),
    ]);
  });
});

describe("two plugins with one id", () => {
  test("are both refused, naming both places", async () => {
    const folder = await fresh({
      ...pluginFiles("same", {}, "one"),
      ...pluginFiles("same", {}, "two"),
      ...pluginFiles("other", {}, "three"),
    });
    const found = await fromPaths(folder);
    expect(ids(found)).toEqual(["other"]);
    expect(found.broken).toHaveLength(2);
    for (const { id, error } of found.broken) {
      expect(id).toBe("same");
      expect(error).toMatchObject({ code: "PLUGIN" });
      expect(error.message).toContain(join(folder, "one"));
      expect(error.message).toContain(join(folder, "two"));
    }
  });

  test("are refused also when one of them was handed in", async () => {
    const folder = await fresh(pluginFiles("same"));
    const plugin = defineMemoryPlugin({ id: "same", open: async () => fakeManager() });
    const found = await discoverPlugins({
      config: config({ plugins: { load: { paths: [folder] } } }),
      plugins: [plugin],
    });
    expect(found.known).toEqual([]);
    expect(found.broken[0]?.error.message).toContain(`the "plugins" option, number 1 and ${folder}`);
  });
});
