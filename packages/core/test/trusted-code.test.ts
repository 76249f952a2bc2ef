import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  changeConfigFile,
  type MemoryError,
  type TrustRecord,
  defineMemoryPlugin,
  listTrusted,
  openMemory,
  trustConfig,
} from "@memslot/core";
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
  const packageJson = {
    name: `pkg-${id}`,
    version: "1.0.0",
    type: "module",
    exports: "./index.js",
    dependencies: { dep: "1" },
    ...fields,
  };
  for (const [name, content] of Object.entries(pluginFiles(id, { entry, packageJson })))
    computer.write(join(folder, name), content);
  computer.write(join(folder, "lib/part.js"), "export {};");
  return folder;
}

function plantPackage(name: string, folder: string, fields: Record<string, unknown> = {}): void {
  computer.write(join(folder, "package.json"), {
    name,
    version: "1.0.0",
    exports: "./index.js",
    type: "module",
    ...fields,
  });
  computer.write(join(folder, "index.js"), "export {};");
}

async function opened(): Promise<string | MemoryError> {
  rmSync(marker, { force: true });
  const core = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });
  try {
    const config = await computer.load();
    const options = { config, agentId: "main", workspaceDir: computer.project, plugins: [core], notify: () => {} };
    const memory = await openMemory(options);
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

  beforeEach(async () => {
    folder = plant(join(computer.project, "tools/mine"));
    plantPackage("dep", join(computer.project, "node_modules/dep"), { dependencies: { deeper: "1" } });
    plantPackage("deeper", join(computer.project, "node_modules/deeper"));
    computer.write(file, local);
    await trustConfig(file, computer);
  });

  test("runs as long as it is what it was", async () => {
    expect(await opened()).toBe("mine");
    expect(existsSync(marker)).toBe(true);
    expect(await opened()).toBe("mine");
  });

  const changes: [string, () => void][] = [
    ["its entry is another", () => writeFileSync(join(folder, "index.js"), memoryEntry("mine"))],
    ["a file of its own is another", () => writeFileSync(join(folder, "lib/part.js"), "export { };")],
    ["a file was renamed", () => symlinkSync("part.js", join(folder, "lib/other.js"))],
    ["a file was added", () => writeFileSync(join(folder, "lib/new.js"), "")],
    ["a file is gone", () => rmSync(join(folder, "lib/part.js"))],
    [
      "its manifest is another",
      () =>
        computer.write(
          join(folder, "memslot.plugin.json"),
          '{"id": "mine", "kind": "memory", "configSchema": {"type": "object"}, "name": "x"}',
        ),
    ],
    [
      "a package that it depends on is another",
      () => writeFileSync(join(computer.project, "node_modules/dep/index.js"), "export { };"),
    ],
    [
      "a package of that package is another",
      () => writeFileSync(join(computer.project, "node_modules/deeper/index.js"), "export { };"),
    ],
    [
      "a package stands before the one that was found",
      () => plantPackage("dep", join(folder, "node_modules/dep"), { version: "2.0.0" }),
    ],
  ];

  test.each(changes)("does not run when %s, until it is trusted again", async (_name, change) => {
    change();
    const message = await refusal();
    expect(message).toContain(`plugin "mine" is not loaded: the code in ${folder} has changed`);
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

  test("does not ask because of what is no code of it", async () => {
    plantPackage("tool", join(folder, "node_modules/tool"));
    computer.write(join(folder, ".git/HEAD"), "ref");
    computer.write(join(computer.project, "notes.md"), "A note.");
    expect(await opened()).toBe("mine");
  });

  test("with links in a circle is read to an end", async () => {
    symlinkSync("..", join(folder, "lib/up"));
    await trustConfig(file, computer);
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
    computer.write(
      join(computer.stateDir, "memslot.json5"),
      withKey("plugins", { ...local.plugins, load: { paths: [folder] } }),
    );
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
    const files = pluginFiles("rerank-mine", {
      manifest,
      entry: entry(1),
      packageJson: { name: "pkg-rerank", type: "module", exports: "./index.js" },
    });
    for (const [name, content] of Object.entries(files)) computer.write(join(folder, name), content);
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
  const trusted = async (content: unknown): Promise<TrustRecord> => {
    computer.write(file, content);
    return await trustConfig(file, computer);
  };

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
      `${file}: ${key} is not loaded: the code in ${library} has changed since the configuration was trusted; look at it, and if it is yours, run \`memslot trust\` in the folder of the configuration`,
    ]);
  });

  test.each([
    ["memory.qmd", withKey("memory.qmd", { command: "./bin/qmd", limits: { maxResults: 3 } })],
    [
      "plugins.entries.memory-qmd.config",
      { plugins: { entries: { "memory-qmd": { config: { command: "./bin/qmd" } } } } },
    ],
  ])("is set aside where it is the command of %s", async (_key, content) => {
    const command = computer.write(join(computer.project, "bin/qmd"), "#!/bin/sh\n");
    await trusted(content);
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
