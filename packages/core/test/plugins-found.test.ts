import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { defineEmbeddingPlugin, defineMemoryPlugin } from "@memslot/core";
import { type FoundPlugins, discoverPlugins, installedPluginsDir, offeredPlugins } from "@memslot/core/host";
import { type Files, tempFolder } from "@memslot/test-tools/files";
import { config, fakeManager } from "./support/fakes.ts";
import { embeddingFiles, pluginFiles } from "./support/plugin-folders.ts";
import data from "./data/plugins.json" with { type: "json" };

const ids = ({ known }: FoundPlugins): string[] => known.map(({ id }) => id);
const messages = ({ broken }: FoundPlugins): string[] => broken.map(({ error }) => error.message);
const handedIn = (id: string) => defineMemoryPlugin({ id, open: async () => fakeManager() });
const nothing = { known: [], broken: [], missing: [] };
const wrongManifest = { manifest: { id: "one", configSchema: {} } };

const fromPaths = (...paths: string[]): Promise<FoundPlugins> =>
  discoverPlugins({ config: config({ plugins: { load: { paths } } }) });

describe("plugins that the application hands in", () => {
  const plugin = handedIn("mine");

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
    expect(found).toMatchObject({ known: [], broken: [{ error: { code: "PLUGIN" } }] });
    expect(messages(found)[0]).toMatch(new RegExp(`the "plugins" option, number 1: "${field}"`));
  });
});

describe("built-in plugins", () => {
  /** What is found from a file of this application. */
  async function ofHost(files: Files, file = "index.js", asAddress = false): Promise<FoundPlugins & { app: string }> {
    const app = tempFolder(files);
    const host = join(app, file);
    return { app, ...(await discoverPlugins({ config: config(), host: asAddress ? pathToFileURL(host).href : host })) };
  }
  const app = { name: "app", dependencies: { "pkg-one": "1" } };

  test("are those among the dependencies, optional dependencies and installed peers of the host's package", async () => {
    const packageJson = data.host;
    const files = {
      "package.json": packageJson,
      "dist/package.json": { type: "module" },
      "dist/deep/index.js": "",
      "node_modules/plain/package.json": { name: "plain" },
      "node_modules/pkg-stray/package.json": { name: "pkg-stray" },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
      ...embeddingFiles("two", undefined, "node_modules/pkg-two"),
      ...pluginFiles("three", {}, "node_modules/pkg-three"),
      ...pluginFiles("stray", {}, "node_modules/pkg-stray"),
    };
    const found = await ofHost(files, "dist/deep/index.js", true);
    expect([ids(found), found.broken]).toEqual([["one", "two", "three"], []]);
    expect(found.known[0]).toMatchObject({ packageName: "pkg-one", place: join(found.app, "node_modules/pkg-one") });
  });

  const exports = { packageJson: { name: "pkg-one", exports: { ".": "./index.js" } } };
  test.each<[string, Files, string, string[]]>([
    [
      "from a path, in a folder above",
      { "packages/app/package.json": app, ...pluginFiles("one", {}, "node_modules/pkg-one") },
      "packages/app/src/main.js",
      ["one"],
    ],
    [
      "without their manifest in their exports",
      { "package.json": app, ...pluginFiles("one", exports, "node_modules/pkg-one") },
      "index.js",
      ["one"],
    ],
    [
      "as broken when their manifest is wrong",
      { "package.json": app, ...pluginFiles("one", wrongManifest, "node_modules/pkg-one") },
      "index.js",
      [],
    ],
  ])("are found %s", async (_name, files, file, known) => {
    const found = await ofHost(files, file);
    expect(ids(found)).toEqual(known);
    expect(found.broken).toMatchObject(known.length > 0 ? [] : [{ id: "one", packageName: "pkg-one" }]);
  });

  test("cannot be found when the package.json of the host is not JSON, which is an error", async () => {
    const message = expect.stringMatching(/package\.json/);
    await expect(ofHost({ "package.json": "{ broken" })).rejects.toMatchObject({ code: "PLUGIN", message });
  });
});

describe("plugins.load.paths", () => {
  test("may name the folder of a plugin, or a folder of such folders, whatever else is in that", async () => {
    const folder = tempFolder({
      ...pluginFiles("b", {}, "two"),
      ...pluginFiles("a", {}, "one"),
      "docs/readme.md": "",
      "notes.txt": "",
    });
    const place = join(folder, "one");
    expect(await fromPaths(place)).toMatchObject({ known: [{ id: "a", kind: "memory", place }], broken: [] });
    expect(await fromPaths(folder)).toMatchObject({ known: [{ id: "a" }, { id: "b" }], broken: [] });
  });

  test("report a package without a manifest, and a folder that is missing, has no plugin or is a file", async () => {
    const folder = tempFolder({
      ...pluginFiles("a", {}, "all/one"),
      "all/two/package.json": { name: "two" },
      "empty/readme.md": "",
      "file.js": "",
    });
    const found = await fromPaths(...["all", "nowhere", "empty", "file.js"].map((name) => join(folder, name)));
    expect(ids(found)).toEqual(["a"]);
    const path = (name: string): string => `plugins.load.paths: ${join(folder, name)}`;
    expect(messages(found)).toEqual([
      expect.stringContaining(
        `"two" is not a memslot plugin: ${join(folder, "all/two/memslot.plugin.json")} is missing`,
      ),
      expect.stringContaining(`${path("nowhere")} cannot be read`),
      expect.stringContaining(`${path("empty")} holds no plugin`),
      expect.stringContaining(`${path("file.js")} cannot be read`),
    ]);
  });

  test("that lead to the same folder twice bring one plugin", async () => {
    const folder = tempFolder(pluginFiles("one", {}, "plugin"));
    symlinkSync(join(folder, "plugin"), join(folder, "link"));
    expect(ids(await fromPaths(join(folder, "plugin"), join(folder, "link"), folder))).toEqual(["one"]);
  });
});

describe("plugins named by package", () => {
  test("are found from the folder of the configuration, else from the host", async () => {
    const home = tempFolder(pluginFiles("near", {}, "node_modules/@acme/near"));
    const app = tempFolder({
      "package.json": { name: "app", dependencies: { "@acme/near": "1" } },
      ...pluginFiles("far", {}, "node_modules/far-pkg"),
      ...pluginFiles("near", {}, "node_modules/@acme/near"),
    });
    const found = await discoverPlugins({
      config: config({}, { baseDir: home }),
      host: join(app, "index.js"),
      names: ["@acme/near", "far-pkg", "absent"],
    });
    expect([ids(found).toSorted(), found.broken]).toEqual([["far", "near"], []]);
    expect(found.known.find(({ id }) => id === "near")?.place).toBe(join(home, "node_modules/@acme/near"));
  });

  test.each(data.notPackages)("are not looked for when the name is %j, which is not a package", async (name) => {
    const folder = tempFolder({
      ...pluginFiles("x", {}, "plugin"),
      ...pluginFiles("y", {}, "home/plugin"),
      ...pluginFiles("z", {}, "home/node_modules/.hidden"),
    });
    const options = { config: config({}, { baseDir: join(folder, "home") }), names: [name] };
    expect(await discoverPlugins(options)).toEqual(nothing);
  });

  test("are known by the name that they are installed under, and reported without a manifest", async () => {
    const packageJson = { name: "real-name", exports: "./index.js" };
    const baseDir = tempFolder({
      ...pluginFiles("one", { packageJson }, "node_modules/alias"),
      "node_modules/plain/package.json": { name: "plain" },
    });
    const found = await discoverPlugins({ config: config({}, { baseDir }), names: ["alias", "plain"] });
    expect(found.known).toMatchObject([{ id: "one", packageName: "alias" }]);
    expect(messages(found)).toEqual([expect.stringContaining('"plain" is not a memslot plugin')]);
  });
});

test("two plugins with one id are both refused, naming both places", async () => {
  const same = ["one", "two"].map((name) => pluginFiles("same", {}, name));
  const folder = tempFolder({ ...same[0], ...same[1], ...pluginFiles("other", {}, "three") });
  const found = await fromPaths(folder);
  expect(ids(found)).toEqual(["other"]);
  expect(found.broken).toMatchObject(data.sameTwice);
  for (const message of messages(found))
    for (const name of ["one", "two"]) expect(message).toContain(join(folder, name));
  const paths = [join(folder, "one")];
  const both = await discoverPlugins({ config: config({ plugins: { load: { paths } } }), plugins: [handedIn("same")] });
  expect(both.known).toEqual([]);
  expect(messages(both)[0]).toContain(`the "plugins" option, number 1 and ${paths[0]}`);
});

describe("plugins that `memslot plugins add` has installed", () => {
  /** A state folder in which these plugins are installed, with these files. */
  function stateDir(names: string[], more: Files = {}): string {
    const dependencies = Object.fromEntries(names.map((id) => [`pkg-${id}`, "1.0.0"]));
    const files = names.map((id) => pluginFiles(id, {}, `plugins/node_modules/pkg-${id}`));
    return tempFolder({
      "plugins/package.json": { private: true, dependencies },
      ...Object.assign({}, ...files),
      ...more,
    });
  }
  const installedIn = (folder: string, more: object = {}): Promise<FoundPlugins> =>
    discoverPlugins({ config: config(), installed: installedPluginsDir(folder), ...more });

  test("are the dependencies of the folder, in their order, and nothing else in it", async () => {
    const state = stateDir(["one", "two"], pluginFiles("stray", {}, "plugins/node_modules/pkg-stray"));
    const found = await installedIn(state);
    expect([ids(found), found.broken]).toEqual([["one", "two"], []]);
    const place = join(state, "plugins/node_modules/pkg-one");
    expect(found.known[0]).toMatchObject({ packageName: "pkg-one", place });
  });

  test("are overridden by a plugin that the application brings, by its dependencies or by hand", async () => {
    const state = stateDir(["one", "two", "three"]);
    const app = tempFolder({
      "package.json": { name: "app", peerDependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", {}, "node_modules/pkg-one"),
    });
    const found = await installedIn(state, { host: join(app, "index.js"), plugins: [handedIn("two")] });
    expect(found.broken).toEqual([]);
    expect(found.known.map(({ id, place }) => [id, place])).toEqual([
      ["two", 'the "plugins" option, number 1'],
      ["one", join(app, "node_modules/pkg-one")],
      ["three", join(state, "plugins/node_modules/pkg-three")],
    ]);
  });

  test("do not hide that the application's own copy is broken", async () => {
    const app = tempFolder({
      "package.json": { name: "app", dependencies: { "pkg-one": "1" } },
      ...pluginFiles("one", wrongManifest, "node_modules/pkg-one"),
    });
    const found = await installedIn(stateDir(["one"]), { host: join(app, "index.js") });
    expect([ids(found), messages(found)]).toEqual([[], [expect.stringContaining('"kind" is missing')]]);
  });

  test("are reported when their files are gone, with the command that restores them; folders above are not searched", async () => {
    const root = tempFolder({
      "state/plugins/package.json": { dependencies: { "pkg-gone": "1", "@memslot/memory-qmd": "1" } },
      ...pluginFiles("one", {}, "node_modules/pkg-gone"),
    });
    const found = await installedIn(join(root, "state"));
    expect(found.known).toEqual([]);
    expect(messages(found)).toEqual([
      expect.stringContaining("run `memslot plugins add pkg-gone` again"),
      expect.stringContaining("run `memslot plugins add @memslot/memory-qmd` again"),
    ]);
    expect(found.broken[1]).toMatchObject({ id: "memory-qmd", packageName: "@memslot/memory-qmd" });
  });

  test.each<[string, Files]>([
    ["where nothing was installed yet", { "memory/main.sqlite": "" }],
    ["where package.json is a list", { "plugins/package.json": [] }],
    ...["../../outside", "..", "/etc", "@scope/../../outside"].map((name): [string, Files] => [
      `by a dependency that is a path: ${name}`,
      { "plugins/package.json": { dependencies: { [name]: "1" } }, ...pluginFiles("outside", {}, "outside") },
    ]),
  ])("are none %s", async (_name, files) => {
    expect(await installedIn(tempFolder(files))).toEqual(nothing);
  });

  test("are none where package.json is not JSON, which is reported", async () => {
    const { known, broken } = await installedIn(tempFolder({ "plugins/package.json": "{ broken" }));
    expect([known, broken]).toMatchObject([[], [{ error: { message: expect.stringContaining("package.json") } }]]);
  });

  test("are never taken from a workspace", async () => {
    const root = stateDir(["one"], { "plugins-of-notes/readme.md": "" });
    const inWorkspace = (workspace: string) => ({ config: config({ agents: { defaults: { workspace } } }) });
    const found = await installedIn(root, inWorkspace(root));
    expect(found.known).toEqual([]);
    expect(messages(found)).toEqual([
      `installed plugins are not used: ${join(root, "plugins")} is inside the workspace ${root}; set MEMSLOT_HOME to a folder outside of it`,
    ]);
    expect(ids(await installedIn(root, inWorkspace(join(root, "plugins-of-notes"))))).toEqual(["one"]);
  });
});

describe("the plugins that an application offers", () => {
  const peers = (...names: string[]): object => ({
    name: "app",
    peerDependencies: Object.fromEntries(names.map((name) => [name, "1"])),
    peerDependenciesMeta: Object.fromEntries(names.map((name) => [name, { optional: true }])),
  });

  test("are its optional peers, by their names, and no peer that is required", () => {
    const names = ["@memslot/memory-far", "@memslot/embeddings-far", "memory-own", "embeddings", "@me/memorandum"];
    const root = tempFolder({
      "app/package.json": peers(...names),
      "other/package.json": { ...peers("memory-far"), peerDependenciesMeta: {} },
    });
    expect(offeredPlugins(join(root, "app/src/main.js"))).toEqual(data.offered);
    expect(offeredPlugins(join(root, "other/main.js"))).toEqual([]);
  });

  test("are missing where they are not installed, also by the id of another package, and not where they are", async () => {
    const root = tempFolder({
      "package.json": peers("memory-here", "memory-far", "memory-broken", "embeddings-far"),
      ...pluginFiles("memory-here", {}, "node_modules/memory-here"),
      "node_modules/memory-broken/package.json": { name: "memory-broken" },
      "node_modules/memory-broken/memslot.plugin.json": "{ broken",
    });
    const far = defineEmbeddingPlugin({ id: "far", open: () => Promise.reject(new Error("not opened here")) });
    const found = await discoverPlugins({ config: config(), host: join(root, "main.js"), plugins: [far] });
    expect([ids(found), found.broken.length]).toEqual([["far", "memory-here"], 1]);
    expect(found.missing).toEqual([{ id: "memory-far", kind: "memory", packageName: "memory-far" }]);
  });
});
