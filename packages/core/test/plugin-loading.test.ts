import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { type FoundPlugins, MemoryError, discoverPlugins } from "@memslot/core";
import { config } from "./support/fakes.ts";
import { type PluginFiles, embeddingEntry, folderOf, memoryEntry, pluginFiles } from "./support/plugin-folders.ts";

const removals: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

async function fresh(files: Record<string, unknown>): Promise<string> {
  const { folder, remove } = await folderOf(files);
  removals.push(remove);
  return folder;
}

async function discovered(
  own: PluginFiles,
  more: Record<string, unknown> = {},
): Promise<FoundPlugins & { folder: string }> {
  const folder = await fresh({ ...pluginFiles("one", own), ...more });
  return { folder, ...(await discoverPlugins({ config: config({ plugins: { load: { paths: [folder] } } }) })) };
}

async function loadError(
  own: PluginFiles,
  more: Record<string, unknown> = {},
): Promise<{ error: MemoryError; folder: string }> {
  const { known, folder } = await discovered(own, more);
  const error = await known[0]?.load().catch((caught: unknown) => caught);
  if (!MemoryError.is(error, "PLUGIN")) throw new Error(`expected a PLUGIN error, got ${String(error)}`);
  return { error, folder };
}

describe("a manifest", () => {
  const schema = { type: "object" };

  test("gives id, kind, schema, name and description", async () => {
    const manifest = {
      id: "one",
      kind: "memory",
      configSchema: schema,
      name: "One",
      description: "First",
      uiHints: {},
    };
    const { known } = await discovered({ manifest });
    expect(known[0]).toMatchObject({
      id: "one",
      kind: "memory",
      configSchema: schema,
      name: "One",
      description: "First",
      packageName: "pkg-one",
    });
  });

  test("may begin with a byte order mark", async () => {
    const { known } = await discovered({
      manifest: `\uFEFF${JSON.stringify({ id: "one", kind: "memory", configSchema: schema })}`,
    });
    expect(known).toHaveLength(1);
  });

  const wrong: [string, unknown, string][] = [
    ["is no JSON", '{ "id": "one", ', "cannot be read"],
    ["is empty", "", "cannot be read"],
    ["is a list", [], "it must hold an object, not an empty list"],
    ["has no id", { kind: "memory", configSchema: schema }, '"id" must be a non-empty string'],
    ["has an empty id", { id: "", kind: "memory", configSchema: schema }, '"id" must be a non-empty string'],
    ["has an id with spaces", { id: " one", kind: "memory", configSchema: schema }, '"id" must be a non-empty string'],
    ["has a number as id", { id: 1, kind: "memory", configSchema: schema }, '"id" must be a non-empty string'],
    ["has the id none", { id: "None", kind: "memory", configSchema: schema }, '"id" may not be "None"'],
    ["has the id auto", { id: "auto", kind: "embedding", configSchema: schema }, '"id" may not be "auto"'],
    ["has no kind", { id: "one", configSchema: schema }, '"kind" is missing'],
    [
      "has an unknown kind",
      { id: "one", kind: "context-engine", configSchema: schema },
      '"kind" must be "memory", "embedding" or "rerank", not "context-engine"',
    ],
    ["has no configSchema", { id: "one", kind: "memory" }, '"configSchema" is missing'],
    [
      "has a configSchema that is no object",
      { id: "one", kind: "memory", configSchema: true },
      '"configSchema" must be a JSON Schema object, not true',
    ],
    [
      "has a name that is no text",
      { id: "one", kind: "memory", configSchema: schema, name: 1 },
      '"name" must be a string',
    ],
    [
      "has a description that is no text",
      { id: "one", kind: "memory", configSchema: schema, description: 1 },
      '"description" must be a string',
    ],
    ["has the id builtin", { id: "builtin", kind: "memory", configSchema: schema }, '"id" may not be "builtin"'],
    ["has the id keyword", { id: "keyword", kind: "memory", configSchema: schema }, '"id" may not be "keyword"'],
    [
      "brings tools",
      { id: "one", kind: "memory", configSchema: schema, tools: [{ name: "recall" }] },
      '"tools" must not be there: a plugin brings no tools in this contract; remove the field',
    ],
    [
      "brings a tool with the name of one of the host",
      { id: "one", kind: "memory", configSchema: schema, tools: ["memory_search"] },
      '"tools" must not be there: a plugin brings no tools in this contract, and "memory_search" is a tool of the host',
    ],
    [
      "brings commands",
      { id: "one", kind: "memory", configSchema: schema, commands: {} },
      '"commands" must not be there',
    ],
  ];

  test.each(wrong)("that %s is refused, naming the plugin, the file and the field", async (_name, manifest, words) => {
    const { known, broken, folder } = await discovered({ manifest });
    expect(known).toEqual([]);
    expect(broken).toHaveLength(1);
    const message = broken[0]?.error.message ?? "";
    expect(broken[0]?.error.code).toBe("PLUGIN");
    expect(message).toContain(words);
    expect(message).toContain(join(folder, "memslot.plugin.json"));
    const id = (manifest as { id?: unknown }).id;
    expect(message).toContain(typeof id === "string" && id !== "" ? `plugin "${id}"` : `plugin ${folder}`);
  });

  test.each([
    ["missing", null],
    ["no JSON", "{"],
    ["a list", []],
  ])("beside a package.json that is %s is refused, naming that file", async (_name, packageJson) => {
    const { known, broken, folder } = await discovered({ packageJson });
    expect(known).toEqual([]);
    expect(broken[0]).toMatchObject({ id: "one", error: { code: "PLUGIN" } });
    expect(broken[0]?.error.message).toContain(join(folder, "package.json"));
    expect(broken[0]?.error.message).toMatch(/ENOENT|JSON|must hold an object/);
  });
});

describe("the entry of a plugin", () => {
  const exportsOf = (exported: unknown): PluginFiles => ({
    packageJson: { name: "pkg-one", type: "module", exports: exported },
  });

  test.each([
    ["exports as text", exportsOf("./index.js")],
    ["exports with the main entry", exportsOf({ ".": "./index.js", "./other": "./other.js" })],
    ["exports by condition", exportsOf({ types: "./index.d.ts", require: "./index.cjs", import: "./index.js" })],
    [
      "nested conditions",
      exportsOf({ ".": { browser: "./web.js", node: { require: "./index.cjs", default: "./index.js" } } }),
    ],
    ["a list of targets", exportsOf({ ".": [{ deno: "./deno.js" }, "./index.js"] })],
    ["main", { packageJson: { name: "pkg-one", type: "module", main: "./index.js" } }],
    ["main without an ending", { packageJson: { name: "pkg-one", type: "module", main: "index" } }],
    ["nothing but an index.js", { packageJson: { name: "pkg-one", type: "module" } }],
    ["no package name", { packageJson: { type: "module", exports: "./index.js" } }],
  ])("is found by %s", async (_name, own) => {
    const { known } = await discovered(own as PluginFiles);
    await expect(known[0]?.load()).resolves.toMatchObject({ id: "one", kind: "memory" });
  });

  test.each([
    ["is missing", {}, { packageJson: { name: "pkg-one", exports: "./gone.js" } }, "cannot be found"],
    [
      "is not exported for import",
      {},
      { packageJson: { name: "pkg-one", exports: { require: "./index.js" } } },
      "has no main entry that can be imported",
    ],
    [
      "is switched off",
      {},
      { packageJson: { name: "pkg-one", exports: { ".": null } } },
      "has no main entry that can be imported",
    ],
    [
      "lies outside the package",
      {},
      { packageJson: { name: "pkg-one", exports: "./../index.js" } },
      "leads out of the package",
    ],
    ["has no relative path", {}, { packageJson: { name: "pkg-one", exports: "index.js" } }, "leads out of the package"],
  ])("that %s is refused, naming the plugin and the folder", async (_name, more, own, words) => {
    const { error, folder } = await loadError(own, more);
    expect(error.message).toContain(words);
    expect(error.message).toContain('plugin "one"');
    expect(error.message).toContain(folder);
  });

  test("that throws is refused with the cause and the file", async () => {
    const { error, folder } = await loadError({ entry: 'throw new Error("no licence");' });
    expect(error.message).toContain("no licence");
    expect(error.message).toContain(join(folder, "index.js"));
    expect(error.cause).toMatchObject({ message: "no licence" });
  });

  test("that has a syntax error is refused with the cause and the file", async () => {
    const { error, folder } = await loadError({ entry: "export default {" });
    expect(error.message).toContain(join(folder, "index.js"));
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("that imports what is not installed is refused with the cause and the file", async () => {
    const { error, folder } = await loadError({ entry: 'import "a-package-nobody-has"; export default {};' });
    expect(error.message).toContain("a-package-nobody-has");
    expect(error.message).toContain(join(folder, "index.js"));
  });

  test.each([
    ["no default export", "export const plugin = {};", "has no default export"],
    ["a default export that is no object", "export default 5;", "it must be an object, not 5"],
    ["another id than the manifest", memoryEntry("two"), '"id" is "two", and the manifest says "one"'],
    ["another kind than the manifest", embeddingEntry("one"), '"kind" is "embedding", and the manifest says "memory"'],
    ["no kind", 'export default { id: "one", contract: 1, open() {} };', '"kind" must be'],
    ["no id", 'export default { kind: "memory", contract: 1, open() {} };', '"id" must be'],
    ["no contract", 'export default { kind: "memory", id: "one", open() {} };', '"contract" is undefined'],
    ["a newer contract", 'export default { kind: "memory", id: "one", contract: 2, open() {} };', "update memslot"],
    [
      "an older contract",
      'export default { kind: "memory", id: "one", contract: 0, open() {} };',
      "a version of the plugin that is made for it",
    ],
    [
      "an open that is no function",
      'export default { kind: "memory", id: "one", contract: 1, open: true };',
      '"open" must be a function, not true',
    ],
    [
      "tools",
      memoryEntry("one", "tools: { memory_get: {} },"),
      '"tools" must not be there: a plugin brings no tools in this contract, and "memory_get" is a tool of the host',
    ],
  ])("with %s is refused, naming the plugin, the file and the field", async (_name, entry, words) => {
    const { error, folder } = await loadError({ entry });
    expect(error.message).toContain(words);
    expect(error.message).toContain('plugin "one"');
    expect(error.message).toContain(join(folder, "index.js"));
  });

  test("does not run before the plugin is loaded", async () => {
    const { known, broken } = await discovered({ entry: 'throw new Error("ran");' });
    expect(known).toHaveLength(1);
    expect(broken).toEqual([]);
  });
});

describe("under plain Node", () => {
  const core = new URL("../src/index.ts", import.meta.url).href;
  const run = promisify(execFile);

  /** Runs a script beside an application whose dependency is linked into its node_modules, as pnpm does. */
  async function inApplication(script: string): Promise<string> {
    const root = await fresh({
      "app/package.json": { name: "app", type: "module", dependencies: { "pkg-one": "1" } },
      "app/main.js": `import { discoverPlugins, parseConfig } from ${JSON.stringify(core)};\n${script}`,
      ...pluginFiles(
        "one",
        {
          packageJson: {
            name: "pkg-one",
            type: "module",
            exports: { "@memslot/source": "./src.ts", default: "./index.js" },
          },
        },
        "plugin",
      ),
      "plugin/src.ts": `const open: unknown = () => {};\n${'export default { kind: "memory", contract: 1, id: "one", open, from: "source" };'}`,
    });
    await mkdir(join(root, "app/node_modules"));
    await symlink(join(root, "plugin"), join(root, "app/node_modules/pkg-one"));
    const { stdout } = await run(process.execPath, ["--conditions=@memslot/source", join(root, "app/main.js")]);
    return stdout.trim();
  }

  test("a dependency is loaded from its sources beside a core that runs from its own, as the same module that its application imports", async () => {
    const output = await inApplication(`
      const { known } = await discoverPlugins({ config: parseConfig({}), host: import.meta.url });
      const plugin = await known[0].load();
      const { default: imported } = await import("pkg-one");
      console.log(plugin.from, plugin === imported);
    `);
    expect(output).toBe("source true");
  });

  test("looking for plugins loads neither the schema checker nor the plugin", async () => {
    const output = await inApplication(`
      import { createRequire } from "node:module";
      const { known } = await discoverPlugins({ config: parseConfig({}), host: import.meta.url });
      const require = createRequire(import.meta.url);
      console.log(known.length, Object.keys(require.cache).filter((file) => file.includes("ajv")).length);
    `);
    expect(output).toBe("1 0");
  });
});
