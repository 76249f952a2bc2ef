import { describe, expect, test } from "vitest";
import { MemoryError, memoryState, resolveMemorySlot } from "@memslot/core";
import { config } from "./support/fakes.ts";

const known = [
  { id: "memory-core", kind: "memory", packageName: "@memslot/memory-core" },
  { id: "memory-other", kind: "memory" },
  { id: "vectors", kind: "embedding" },
] as const;

const missing = ["memory-lancedb", "memory-qmd"].map((id) => ({
  id,
  kind: "memory" as const,
  packageName: `@memslot/${id}`,
}));

function decide(plugins: Record<string, unknown>): ReturnType<typeof resolveMemorySlot<(typeof known)[number]>> {
  return resolveMemorySlot(config({ plugins }), known, missing);
}

function refused(plugins: Record<string, unknown>): MemoryError {
  try {
    decide(plugins);
  } catch (error) {
    if (MemoryError.is(error, "CONFIG")) return error;
    throw error;
  }
  throw new Error("the slot was not refused");
}

describe("resolveMemorySlot", () => {
  test.each([
    ["absent", {}],
    ["empty", { slots: { memory: "" } }],
    ["blank", { slots: { memory: "  " } }],
  ])("chooses memory-core when the slot is %s", (_name, plugins) => {
    expect(decide(plugins)).toMatchObject({ state: "selected", plugin: { id: "memory-core" } });
  });

  test.each(["none", "None", "NONE", " none "])(
    "turns memory off for %j and lists every memory plugin as disabled",
    (slot) => {
      expect(decide({ slots: { memory: slot } })).toEqual({
        state: "off",
        reason: "memory slot disabled",
        disabled: [
          { id: "memory-core", reason: "memory slot disabled" },
          { id: "memory-other", reason: "memory slot disabled" },
        ],
      });
    },
  );

  test("chooses the named memory plugin alone and disables the others with the reason", () => {
    expect(decide({ slots: { memory: " memory-other " } })).toEqual({
      state: "selected",
      plugin: known[1],
      disabled: [{ id: "memory-core", reason: 'memory slot set to "memory-other"' }],
    });
  });

  test("takes the name of a plugin's package for its id", () => {
    expect(decide({ slots: { memory: "@memslot/memory-core" } })).toMatchObject({
      plugin: { id: "memory-core" },
      disabled: [{ id: "memory-other", reason: 'memory slot set to "memory-core"' }],
    });
  });

  test.each([{ config: { size: 1 } }, { enabled: true }])("is not hindered by the entry %j of the plugin", (entry) => {
    expect(decide({ entries: { "memory-core": entry } })).toMatchObject({ plugin: { id: "memory-core" } });
  });

  test("refuses an unknown id with the known ones and the nearest", () => {
    const { message } = refused({ slots: { memory: "memroy-other" } });
    expect(message).toContain('plugins.slots.memory is "memroy-other"');
    expect(message).toContain('Did you mean "memory-other"?');
    expect(message).toContain('"memory-core", "memory-other"');
    expect(message).not.toContain('"vectors"');
  });

  test.each([
    ["memory-lancedb", "@memslot/memory-lancedb"],
    ["@memslot/memory-lancedb", "@memslot/memory-lancedb"],
    ["memory-qmd", "@memslot/memory-qmd"],
  ])("refuses %s, which is not installed, with the commands that add it", (slot, packageName) => {
    const { message } = refused({ slots: { memory: slot } });
    expect(message).toContain(`plugins.slots.memory is "${slot}", which is not installed`);
    expect(message).toContain(`run \`memslot plugins add ${packageName.replace("@memslot/", "")}\``);
    expect(message).toContain(`npm install ${packageName}`);
    expect(message).toContain('"memory-core", "memory-other"');
  });

  test("knows those that are not installed by a name that is nearly right", () => {
    expect(refused({ slots: { memory: "memory-lancdb" } }).message).toContain('Did you mean "memory-lancedb"?');
  });

  test("says which older key has chosen a plugin that is not installed", () => {
    const older = config({ memory: { backend: "qmd" } });
    expect(() => resolveMemorySlot(older, known, missing)).toThrow(
      'memory.backend chooses "memory-qmd", which is not installed; run `memslot plugins add memory-qmd`',
    );
  });

  test("refuses an embedding plugin in the memory slot", () => {
    const { message } = refused({ slots: { memory: "vectors" } });
    expect(message).toContain("embedding plugin");
    expect(message).toContain('"memory-core", "memory-other"');
  });

  test("refuses a slot that plugins.entries switches off, naming both keys", () => {
    const { message } = refused({
      slots: { memory: "memory-other" },
      entries: { "memory-other": { enabled: false } },
    });
    expect(message).toContain('plugins.slots.memory is "memory-other"');
    expect(message).toContain("plugins.entries.memory-other.enabled is false");
  });

  test("refuses a slot that plugins.deny lists, naming both keys", () => {
    const { message } = refused({ slots: { memory: "memory-other" }, deny: ["memory-other"] });
    expect(message).toContain('plugins.slots.memory is "memory-other"');
    expect(message).toContain('plugins.deny lists "memory-other"');
    expect(message).toContain('Known memory plugins: "memory-core";');
  });

  test("refuses a denied default too instead of taking another backend", () => {
    const { message } = refused({ deny: ["memory-core"] });
    expect(message).toContain('plugins.slots.memory is not set, which means "memory-core"');
    expect(message).toContain("plugins.deny");
  });

  test("refuses a package name in the slot that is denied by the plugin's id", () => {
    expect(refused({ slots: { memory: "@memslot/memory-core" }, deny: ["memory-core"] }).message).toContain(
      "plugins.deny",
    );
  });

  test("says of a plugin that is forbidden anyway which key forbids it", () => {
    expect(decide({ deny: ["memory-other"] }).disabled).toEqual([
      { id: "memory-other", reason: 'plugins.deny lists "memory-other"' },
    ]);
    expect(decide({ entries: { "memory-other": { enabled: false } } }).disabled).toEqual([
      { id: "memory-other", reason: "plugins.entries.memory-other.enabled is false" },
    ]);
  });

  test("is not confused by an id that every object has a property of", () => {
    const odd = [{ id: "constructor", kind: "memory" }] as const;
    expect(resolveMemorySlot(config({ plugins: { slots: { memory: "constructor" } } }), odd).state).toBe("selected");
  });

  test("turns memory off when plugins.enabled is false", () => {
    expect(decide({ enabled: false })).toMatchObject({ state: "off", reason: "plugins.enabled is false" });
  });
});

describe("memoryState", () => {
  test("is enabled by default", () => {
    expect(memoryState(config(), "main")).toEqual({ enabled: true });
  });

  test("is off for every agent when the slot is none", () => {
    expect(memoryState(config({ plugins: { slots: { memory: "None" } } }), "main")).toEqual({
      enabled: false,
      reason: 'plugins.slots.memory is "none"',
    });
  });

  test("is off for an agent whose memorySearch is off, and says so", () => {
    const one = config({ agents: { list: [{ id: "main" }, { id: "quiet", memorySearch: { enabled: false } }] } });
    expect(memoryState(one, "main").enabled).toBe(true);
    expect(memoryState(one, "quiet")).toEqual({
      enabled: false,
      reason: 'memorySearch.enabled is false for agent "quiet"',
    });
  });

  test("is off when plugins.enabled is false", () => {
    expect(memoryState(config({ plugins: { enabled: false } }), "main").enabled).toBe(false);
  });
});
