import { isAbsolute, join } from "node:path";
import { describe, expect, test } from "vitest";
import { memoryState, resolveMemorySlot } from "@memslot/core";
import { storePlaceOf } from "../src/open/store-place.ts";
import { config } from "./support/fakes.ts";

const known = [
  { id: "memory-core", kind: "memory", packageName: "@memslot/memory-core" },
  { id: "memory-other", kind: "memory" },
  { id: "vectors", kind: "embedding" },
] as const;

const missing = ["memory-lancedb", "memory-qmd"].map(
  (id) => ({ id, kind: "memory", packageName: `@memslot/${id}` }) as const,
);

function decide(plugins: Record<string, unknown>): ReturnType<typeof resolveMemorySlot<(typeof known)[number]>> {
  return resolveMemorySlot(config({ plugins }), known, missing);
}

const slot = (memory: string): Record<string, unknown> => ({ slots: { memory } });

describe("resolveMemorySlot", () => {
  const off = (reason: string): object => ({
    state: "off",
    reason,
    disabled: ["memory-core", "memory-other"].map((id) => ({ id, reason })),
  });
  const selected = (id: string, ...disabled: object[]): object => ({ state: "selected", plugin: { id }, disabled });
  const other = (reason: string): object => ({ id: "memory-other", reason });
  const notInSlot = expect.stringContaining("memory slot set to");

  test.each<[Record<string, unknown>, object]>([
    [{}, selected("memory-core", other(notInSlot))],
    [slot(""), selected("memory-core", other(notInSlot))],
    [slot("  "), selected("memory-core", other(notInSlot))],
    [{ entries: { "memory-core": { config: { size: 1 } } } }, selected("memory-core", other(notInSlot))],
    [{ entries: { "memory-core": { enabled: true } } }, selected("memory-core", other(notInSlot))],
    [slot("@memslot/memory-core"), selected("memory-core", other('memory slot set to "memory-core"'))],
    [
      slot(" memory-other "),
      selected("memory-other", { id: "memory-core", reason: 'memory slot set to "memory-other"' }),
    ],
    [{ deny: ["memory-other"] }, selected("memory-core", other('plugins.deny lists "memory-other"'))],
    [
      { entries: { "memory-other": { enabled: false } } },
      selected("memory-core", other("plugins.entries.memory-other.enabled is false")),
    ],
    ...["none", "None", "NONE", " none "].map((name): [Record<string, unknown>, object] => [
      slot(name),
      off("memory slot disabled"),
    ]),
    [{ enabled: false }, { state: "off", reason: "plugins.enabled is false" }],
  ])("decides for %j", (plugins, decision) => {
    expect(decide(plugins)).toMatchObject(decision);
  });

  const denied = { ...slot("memory-other"), deny: ["memory-other"] };
  const disabled = { ...slot("memory-other"), entries: { "memory-other": { enabled: false } } };
  const both = '"memory-core", "memory-other"';
  const add = (id: string): string[] => [`run \`memslot plugins add ${id}\``, `npm install @memslot/${id}`, both];
  test.each<[Record<string, unknown>, string[]]>([
    [slot("memroy-other"), ['plugins.slots.memory is "memroy-other"', 'Did you mean "memory-other"?', both]],
    [slot("memory-lancedb"), ['"memory-lancedb", which is not installed', ...add("memory-lancedb")]],
    [slot("@memslot/memory-lancedb"), ['lancedb", which is not installed', ...add("memory-lancedb")]],
    [slot("memory-qmd"), ['plugins.slots.memory is "memory-qmd", which is not installed', ...add("memory-qmd")]],
    [slot("memory-lancdb"), ['Did you mean "memory-lancedb"?']],
    [slot("vectors"), ["embedding plugin", both]],
    [disabled, ['plugins.slots.memory is "memory-other"', "plugins.entries.memory-other.enabled is false"]],
    [
      denied,
      ['plugins.slots.memory is "memory-other"', 'plugins.deny lists "memory-other"', 'plugins: "memory-core";'],
    ],
    [{ deny: ["memory-core"] }, ['plugins.slots.memory is not set, which means "memory-core"', "plugins.deny"]],
    [{ ...slot("@memslot/memory-core"), deny: ["memory-core"] }, ["plugins.deny"]],
  ])("refuses %j by name, with the known plugins", (plugins, words) => {
    for (const part of words) {
      const message = expect.stringContaining(part);
      expect(() => decide(plugins)).toThrow(expect.objectContaining({ code: "CONFIG", message }));
    }
    if (!words.includes("embedding plugin")) expect(() => decide(plugins)).not.toThrow('"vectors"');
  });

  test("names the older key that has chosen a plugin which is not installed", () => {
    const older = config({ memory: { backend: "qmd" } });
    expect(() => resolveMemorySlot(older, known, missing)).toThrow(
      'memory.backend chooses "memory-qmd", which is not installed; run `memslot plugins add memory-qmd`',
    );
  });

  test("is not confused by an id that every object has a property of", () => {
    const odd = [{ id: "constructor", kind: "memory" }] as const;
    expect(resolveMemorySlot(config({ plugins: { slots: { memory: "constructor" } } }), odd).state).toBe("selected");
  });
});

test.each<[Record<string, unknown>, string | undefined]>([
  [{}, undefined],
  [{ plugins: slot("None") }, 'plugins.slots.memory is "none"'],
  [{ plugins: { enabled: false } }, "plugins.enabled is false"],
  [
    { agents: { list: [{ id: "main", memorySearch: { enabled: false } }] } },
    'memorySearch.enabled is false for agent "main"',
  ],
  [{ agents: { list: [{ id: "main" }, { id: "quiet", memorySearch: { enabled: false } }] } }, undefined],
])("memory of an agent with the configuration %j is off because: %s", (content, reason) => {
  const { enabled, reason: told } = { reason: undefined, ...memoryState(config(content), "main") };
  expect([enabled, told]).toEqual([reason === undefined, reason]);
});

const stateDir = join("/", "state");
const usual = { stateDir, pluginId: "memory-lines", agentId: "main", workspaceDir: "/home/anna/notes" };

test("no two agents, workspaces and plugins are given one folder, however alike their names are", () => {
  const ids = ["main", "Main", "MAIN", "main.", "main-", "ma in", "ma/in", "ma\\in", "..", "CON", "x".repeat(90), "主"];
  const workspaces = ["/home/anna/notes", "/home/anna/Notes", "/home/anna", "/home/anna/notes/", "C:\\notes", "/"];
  const places = ids.flatMap((agentId) =>
    workspaces.flatMap((workspaceDir) =>
      ids.map((pluginId) => ({ pluginId, ...storePlaceOf({ stateDir, pluginId, agentId, workspaceDir }) })),
    ),
  );
  // As a file system that makes no difference between capitals takes them.
  expect(new Set(places.map(({ folder }) => folder.toLowerCase())).size).toBe(places.length);
  expect(new Set(places.map(({ name }) => name)).size).toBe(ids.length * workspaces.length);
  for (const { folder, name } of places) {
    expect(name).toMatch(/^[a-z0-9_-]{1,64}$/);
    expect(isAbsolute(folder)).toBe(true);
    expect(folder.slice(0, join(stateDir, "memory").length)).toBe(join(stateDir, "memory"));
    expect(folder.split(/[\\/]/)).not.toContain("..");
  }
});

test("the place is the same each time, and says whose it is", () => {
  expect(storePlaceOf(usual)).toEqual(storePlaceOf({ ...usual }));
  const { folder, name } = storePlaceOf(usual);
  expect(name).toMatch(/^main-[0-9a-f]{16}$/);
  expect(folder).toBe(join(stateDir, "memory", "memory-lines", name));
});
