import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type LoadConfigOptions, type MemoryError, defineMemoryPlugin, openMemory } from "@memslot/core";
import { changeConfigFile, listTrusted, trustConfig } from "@memslot/core/host";
import { type Files, writeFiles } from "@memslot/test-tools/files";
import { type ConfigHome, createConfigHome, failure, withKey } from "./support/config-home.ts";
import { fakeManager } from "./support/fakes.ts";
import { memoryEntry, pluginFiles } from "./support/plugin-folders.ts";

let computer: ConfigHome;
let file: string;
let marker: string;

beforeEach(() => {
  computer = createConfigHome();
  file = join(computer.project, "memslot.json5");
  marker = join(computer.home, "ran");
});

/** A plugin that leaves a mark when its code runs. It imports a file of its own and a package that it depends on. */
function plant(folder: string, id = "mine", fields: Record<string, unknown> = {}): string {
  const entry = `import "./lib/part.js"; import "dep"; import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(marker)}, "");\n${memoryEntry(id)}`;
  const dependencies = { dep: "1" };
  const packageJson = { name: `pkg-${id}`, version: "1.0.0", type: "module", exports: "./index.js", dependencies };
  const files = pluginFiles(id, { entry, packageJson: { ...packageJson, ...fields } });
  writeFiles(folder, { ...files, "lib/part.js": "export {};" });
  return folder;
}

function plantPackage(name: string, folder: string, fields: Record<string, unknown> = {}): void {
  const packageJson = { name, version: "1.0.0", exports: "./index.js", type: "module", ...fields };
  writeFiles(folder, { "package.json": packageJson, "index.js": "export {};" });
}

/** The backend that is opened in the project, or the error. */
async function opened(options: LoadConfigOptions = {}): Promise<string | MemoryError> {
  rmSync(marker, { force: true });
  const core = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });
  try {
    const config = await computer.load(options);
    const about = { config, agentId: "main", workspaceDir: computer.project, plugins: [core], notify: () => {} };
    const memory = await openMemory(about);
    const { backend } = memory.status();
    await memory.close();
    return backend ?? "none";
  } catch (error) {
    return error as MemoryError;
  }
}

/** That the plugin does not run, and what is said about it. */
async function refusal(): Promise<string> {
  const outcome = await opened();
  expect(existsSync(marker)).toBe(false);
  if (typeof outcome === "string") throw new Error(`${outcome} was opened`);
  expect(outcome.code).toBe("CONFIG");
  expect(outcome.message).toContain("run `memslot trust` in the folder of the configuration");
  expect(outcome.message).not.toContain("\n");
  return outcome.message;
}

const local = { plugins: { load: { paths: ["./tools/mine"] }, slots: { memory: "mine" } } };

describe("a plugin folder that a trusted configuration names", () => {
  let folder: string;
  let modules: string;

  beforeEach(async () => {
    folder = plant(join(computer.project, "tools/mine"));
    modules = join(computer.project, "node_modules");
    plantPackage("dep", join(modules, "dep"), { dependencies: { deeper: "1" } });
    plantPackage("deeper", join(modules, "deeper"));
    computer.write(file, local);
    await trustConfig(file, computer);
  });

  const named = { id: "mine", kind: "memory", configSchema: { type: "object" }, name: "x" };
  test.each<[string, () => unknown]>([
    ["its entry is another", () => writeFileSync(join(folder, "index.js"), memoryEntry("mine"))],
    ["a file was renamed", () => symlinkSync("part.js", join(folder, "lib/other.js"))],
    ["a file was added", () => writeFileSync(join(folder, "lib/new.js"), "")],
    ["a file is gone", () => rmSync(join(folder, "lib/part.js"))],
    ["its manifest is another", () => computer.write(join(folder, "memslot.plugin.json"), named)],
    ["a dependency of that is another", () => writeFileSync(join(modules, "deeper/index.js"), "export { };")],
    [
      "a package is found before the one that was",
      () => plantPackage("dep", join(folder, "node_modules/dep"), { version: "2.0.0" }),
    ],
  ])("does not run when %s, until it is trusted again", async (_name, change) => {
    change();
    expect(await refusal()).toContain(`plugin "mine" is not loaded: the code in ${folder} has changed`);
    if (!existsSync(join(folder, "lib/part.js"))) return;
    await trustConfig(file, computer);
    expect(await opened()).toBe("mine");
  });

  test("that was not there when it was trusted does not run", async () => {
    computer.write(file, withKey("plugins", { load: { paths: ["./tools"] }, slots: { memory: "late" } }));
    await trustConfig(file, computer);
    const late = plant(join(computer.project, "tools/late"), "late");
    expect(await refusal()).toContain(`the code in ${late} was not there when the configuration was trusted`);
  });

  test("a link in it counts with what it leads to", async () => {
    const outside = computer.write(join(computer.home, "shared/helper.js"), "export {};");
    symlinkSync(join(computer.home, "shared"), join(folder, "shared"));
    await trustConfig(file, computer);
    expect(await opened()).toBe("mine");
    writeFileSync(outside, "export { };");
    expect(await refusal()).toContain("has changed");
  });

  test("runs with links in a circle, and whatever changes that is no code of it", async () => {
    symlinkSync("..", join(folder, "lib/up"));
    await trustConfig(file, computer);
    plantPackage("tool", join(folder, "node_modules/tool"));
    computer.write(join(folder, ".git/HEAD"), "ref");
    computer.write(join(computer.project, "notes.md"), "A note.");
    expect(await opened()).toBe("mine");
  });

  test("is not vouched for by a change that a command makes in the configuration", async () => {
    writeFileSync(join(folder, "lib/part.js"), "export { };");
    const change = async (text = ""): Promise<string> => text.replace(/\}\s*$/, ', "memory": { "citations": "off" } }');
    await changeConfigFile(file, change, computer);
    const config = await computer.load();
    expect([config.trusted, config.citations]).toEqual([true, "off"]);
    expect(await refusal()).toContain("has changed");
  });

  test("that such a change names for the first time is vouched for with it", async () => {
    plant(join(computer.project, "node_modules/pkg-other"), "other");
    await changeConfigFile(file, async (text = "") => text.replace('"mine"', '"pkg-other"'), computer);
    expect(await opened()).toBe("other");
  });

  test("is in the record with its place, its version and the number of its files", async () => {
    const [record] = await listTrusted(computer);
    expect(record?.code).toEqual([
      { place: folder, version: "1.0.0", sha256: expect.stringMatching(/^[\da-f]{64}$/), files: 8 },
    ]);
  });

  test("is named by the user's own file without a question", async () => {
    rmSync(file);
    const content = withKey("plugins", { ...local.plugins, load: { paths: [folder] } });
    computer.write(join(computer.stateDir, "memslot.json5"), content);
    writeFileSync(join(folder, "lib/part.js"), "export { };");
    expect(await opened()).toBe("mine");
  });

  test("with more than anybody would look through cannot be trusted", async () => {
    writeFileSync(join(folder, "lib/model.bin"), "");
    truncateSync(join(folder, "lib/model.bin"), 257 * 1024 * 1024);
    expect(await failure("CONFIG", () => trustConfig(file, computer))).toMatch("more than 20000 files or 256 MiB");
    expect(await refusal()).toContain("cannot be compared with what was trusted");
  });
});

describe("a package that a trusted configuration names", () => {
  test("a reranker that is named by its package is vouched for as it was", async () => {
    const folder = join(computer.project, "node_modules/pkg-rerank");
    const manifest = { id: "rerank-mine", kind: "rerank", configSchema: { type: "object" } };
    const entry = (score: number): string => `export default { kind: "rerank", contract: 1, id: "rerank-mine",
  async open() { return { id: "rerank-mine", model: "m", rerank: async (_, texts) => texts.map(() => ${score}) }; } };`;
    const packageJson = { name: "pkg-rerank", type: "module", exports: "./index.js" };
    writeFiles(folder, pluginFiles("rerank-mine", { manifest, entry: entry(1), packageJson }));
    computer.write(file, withKey("agents.defaults.memorySearch.query.rerank.provider", "pkg-rerank"));
    await trustConfig(file, computer);
    expect(await opened()).toBe("fake");
    writeFileSync(join(folder, "index.js"), entry(2));
    expect(await refusal()).toMatch(/^plugin "rerank-mine" is not loaded: .* has changed since/);
  });

  test("beside the configuration is compared file by file, as its version can lie", async () => {
    const folder = plant(join(computer.project, "node_modules/pkg-mine"));
    plantPackage("dep", join(computer.project, "node_modules/dep"));
    computer.write(file, withKey("plugins.slots.memory", "pkg-mine"));
    const { code } = await trustConfig(file, computer);
    expect(code).toMatchObject([{ place: folder, version: "1.0.0", sha256: expect.any(String) }]);
    expect(await opened()).toBe("mine");
    writeFileSync(join(folder, "lib/part.js"), "export { };");
    expect(await refusal()).toContain(`the code in ${folder} has changed`);
  });

  test("that memslot plugins add has installed is asked about when it has another version", async () => {
    const folder = join(computer.stateDir, "plugins/node_modules/pkg-mine");
    computer.write(join(computer.stateDir, "plugins/package.json"), { dependencies: { "pkg-mine": "1" } });
    plant(folder);
    plantPackage("dep", join(computer.stateDir, "plugins/node_modules/dep"));
    computer.write(file, withKey("plugins.slots.memory", "pkg-mine"));
    const { code } = await trustConfig(file, computer);
    expect(code).toEqual([{ place: folder, version: "1.0.0" }]);
    expect(await opened()).toBe("mine");
    plant(folder, "mine", { version: "1.1.0" });
    expect(await refusal()).toContain("was 1.0.0 and is 1.1.0 now");
    await trustConfig(file, computer);
    expect(await opened()).toBe("mine");
  });
});

describe("a library or a program that a trusted configuration names", () => {
  const trusted = (content: unknown): ReturnType<typeof trustConfig> =>
    trustConfig(computer.write(file, content), computer);

  test("is set aside when it has changed, in one line that says so", async () => {
    const library = computer.write(join(computer.project, "vec.so"), "one");
    const key = "agents.defaults.memorySearch.store.vector.extensionPath";
    await trusted(withKey(key, "./vec.so"));
    const used = async (): Promise<string | undefined> =>
      (await computer.load()).agent("main").memorySearch.store.vector.extensionPath;
    expect(await used()).toBe(library);
    writeFileSync(library, "two");
    const { notices } = await computer.load();
    expect(await used()).toBeUndefined();
    expect(notices).toEqual([
      `${file}: ${key} is not loaded: the code in ${library} has changed since the configuration was trusted; check it, and if it is yours, run \`memslot trust\` in the folder of the configuration`,
    ]);
  });

  test.each([
    ["memory.qmd", { command: "./bin/qmd" }],
    ["plugins.entries", { "memory-qmd": { config: { command: "./bin/qmd" } } }],
  ])("is set aside where it is the command of %s", async (key, value) => {
    const command = computer.write(join(computer.project, "bin/qmd"), "#!/bin/sh\n");
    await trusted(withKey(key, value));
    expect((await computer.load()).plugins.entries["memory-qmd"]?.config["command"]).toBe("./bin/qmd");
    writeFileSync(command, "#!/bin/sh\nevil\n");
    const config = await computer.load();
    expect(config.plugins.entries["memory-qmd"]?.config["command"]).toBeUndefined();
    expect(config.notices.join()).toContain("memslot trust");
  });

  test("counts with the package that it belongs to", async () => {
    const qmd = join(computer.project, "node_modules/qmd");
    computer.write(join(qmd, "package.json"), { name: "qmd" });
    computer.write(join(qmd, "bin/qmd"), "#!/bin/sh\n");
    const main = computer.write(join(qmd, "dist/main.js"), "export {};");
    mkdirSync(join(computer.project, "bin"));
    symlinkSync(join(qmd, "bin/qmd"), join(computer.project, "bin/qmd"));
    await trusted(withKey("memory.qmd", { command: "./bin/qmd" }));
    expect((await computer.load()).notices).toEqual([]);
    writeFileSync(main, `${readFileSync(main, "utf8")}// evil`);
    expect((await computer.load()).notices).toHaveLength(1);
    rmSync(qmd, { recursive: true });
    expect((await computer.load()).notices.join()).toContain(
      `the code in ${join(computer.project, "bin/qmd")} is not there`,
    );
  });

  test("that is looked up in PATH is no matter of the file, and other keys may name variables that are not set", async () => {
    const { code } = await trusted({
      memory: { qmd: { command: "qmd" } },
      models: { providers: { openai: { apiKey: "${NOT_SET}" } } },
    });
    expect(code).toEqual([]);
  });
});

describe("a plugin that is located in a workspace", () => {
  const evil = (folder: string): string => plant(join(computer.project, folder), "evil");
  const ofProject = (): Files => ({ "plugins/package.json": { dependencies: { "pkg-evil": "1" } } });

  function plantEverywhere(): void {
    for (const name of ["evil", "node_modules/pkg-evil", "node_modules/@evil/memory", "plugins/node_modules/pkg-evil"])
      evil(name);
    plantPackage("dep", join(computer.project, "node_modules/dep"));
    writeFiles(computer.project, ofProject());
  }

  const asFallback = (fallback: string): object => ({ entries: { "memory-core": { fallback } } });
  const inFolder = { load: { paths: ["./evil"] }, slots: { memory: "evil" } };
  test.each<[string, object]>([
    ["its folder", inFolder],
    ["its package name", { slots: { memory: "pkg-evil" } }],
    ["its scoped package name as a fallback backend", asFallback("@evil/memory")],
    ["its path as a fallback backend", asFallback("./evil/index.js")],
  ])("is not brought by a configuration there that nobody has trusted: %s", async (_name, plugins) => {
    plantEverywhere();
    computer.write(file, { plugins });
    expect((await computer.load()).trusted).toBe(false);
    const outcome = await opened();
    expect(existsSync(marker)).toBe(false);
    if (typeof outcome === "string") expect(outcome).toBe("fake");
    else expect(outcome.code).toBe("CONFIG");
  });

  test("is brought once the user has trusted it: the cases above would work otherwise", async () => {
    plantEverywhere();
    await trustConfig(computer.write(file, { plugins: inFolder }), computer);
    expect([await opened(), existsSync(marker)]).toEqual(["evil", true]);
  });

  test.each([true, false])("is not brought as an installed one by a state folder inside of it: %s", async (inside) => {
    const stateDir = inside ? join(computer.project, ".memslot") : computer.stateDir;
    writeFiles(stateDir, ofProject());
    plant(join(stateDir, "plugins/node_modules/pkg-evil"), "evil");
    plantPackage("dep", join(stateDir, "plugins/node_modules/dep"));
    computer.write(join(stateDir, "memslot.json5"), { plugins: { slots: { memory: "evil" } } });
    const outcome = await opened({ env: { ...computer.env, MEMSLOT_HOME: stateDir } });
    const message = expect.stringContaining("is inside the workspace");
    if (inside) expect(outcome).toMatchObject({ code: "CONFIG", message });
    else expect(outcome).toBe("evil");
    expect(existsSync(marker)).toBe(!inside);
  });
});
