import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type MemoryError, type MemslotConfig, defineMemoryPlugin, openMemory, trustConfig } from "@memslot/core";
import { type ConfigHome, createConfigHome } from "./support/config-home.ts";
import { fakeManager } from "./support/fakes.ts";
import { memoryEntry, pluginFiles } from "./support/plugin-folders.ts";

let computer: ConfigHome;
let marker: string;

beforeEach(() => {
  computer = createConfigHome();
  marker = join(computer.home, "ran");
});

/** Puts the files of a plugin that leaves a mark when its code runs into a folder. */
function plant(id: string, folder: string): string {
  const entry = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(marker)}, "");\n${memoryEntry(id)}`;
  for (const [name, content] of Object.entries(pluginFiles(id, { entry }))) computer.write(join(folder, name), content);
  return folder;
}

async function open(config: MemslotConfig): Promise<{ backend: string } | MemoryError> {
  const core = defineMemoryPlugin({
    id: "memory-core",
    open: async () => fakeManager({ status: () => ({ backend: "memory-core", provider: "none" }) }),
  });
  try {
    const memory = await openMemory({
      config,
      agentId: "main",
      workspaceDir: computer.project,
      plugins: [core],
      notify: () => {},
    });
    const { backend } = memory.status();
    await memory.close();
    return { backend };
  } catch (error) {
    return error as MemoryError;
  }
}

/** Keys by which a file in a workspace could try to bring the plugin that lies beside it. */
const attempts: [string, Record<string, unknown>][] = [
  ["its folder", { load: { paths: ["./evil"] }, slots: { memory: "evil" } }],
  ["its folder, as a folder of plugins", { load: { paths: ["."] }, slots: { memory: "evil" } }],
  ["its path in the slot", { slots: { memory: "./evil" } }],
  ["its package name", { slots: { memory: "pkg-evil" } }],
  ["its scoped package name", { slots: { memory: "@evil/memory" } }],
  ["its folder as a spare", { load: { paths: ["./evil"] }, entries: { "memory-core": { fallback: "evil" } } }],
  ["its package name as a spare", { entries: { "memory-core": { fallback: "pkg-evil" } } }],
  ["its path as a spare", { entries: { "memory-core": { fallback: "./evil/index.js" } } }],
  ["its scoped package name as a spare", { entries: { "memory-core": { fallback: "@evil/memory" } } }],
];

function plantEverywhere(): void {
  plant("evil", join(computer.project, "evil"));
  plant("evil", join(computer.project, "node_modules/pkg-evil"));
  plant("evil", join(computer.project, "node_modules/@evil/memory"));
  computer.write(join(computer.project, "plugins/package.json"), { dependencies: { "pkg-evil": "1" } });
  plant("evil", join(computer.project, "plugins/node_modules/pkg-evil"));
}

describe("a configuration that lies in a workspace", () => {
  test.each(attempts)("cannot bring a plugin by %s", async (_name, plugins) => {
    plantEverywhere();
    computer.write(join(computer.project, "memslot.json5"), { plugins });
    const config = await computer.load();
    expect(config.trusted).toBe(false);
    const outcome = await open(config);
    expect(existsSync(marker)).toBe(false);
    if ("backend" in outcome) expect(outcome.backend).toBe("memory-core");
    else expect(outcome.code).toBe("CONFIG");
  });

  test("brings it once the user has said so: the cases above would work otherwise", async () => {
    plantEverywhere();
    const file = computer.write(join(computer.project, "memslot.json5"), { plugins: attempts[0]?.[1] });
    await trustConfig(file, computer);
    expect(await open(await computer.load())).toEqual({ backend: "evil" });
    expect(existsSync(marker)).toBe(true);
  });
});

describe("a state folder inside a workspace", () => {
  test("brings no installed plugin", async () => {
    const stateDir = join(computer.project, ".memslot");
    computer.write(join(stateDir, "plugins/package.json"), { dependencies: { "pkg-evil": "1" } });
    plant("evil", join(stateDir, "plugins/node_modules/pkg-evil"));
    computer.write(join(stateDir, "memslot.json5"), { plugins: { slots: { memory: "evil" } } });
    const config = await computer.load({ env: { ...computer.env, MEMSLOT_HOME: stateDir } });
    expect(await open(config)).toMatchObject({
      code: "CONFIG",
      message: expect.stringContaining("lies inside the workspace"),
    });
    expect(existsSync(marker)).toBe(false);
  });

  test("outside of it brings it", async () => {
    computer.write(join(computer.stateDir, "plugins/package.json"), { dependencies: { "pkg-good": "1" } });
    plant("good", join(computer.stateDir, "plugins/node_modules/pkg-good"));
    computer.write(join(computer.stateDir, "memslot.json5"), { plugins: { slots: { memory: "good" } } });
    expect(await open(await computer.load())).toEqual({ backend: "good" });
    expect(existsSync(marker)).toBe(true);
  });
});
