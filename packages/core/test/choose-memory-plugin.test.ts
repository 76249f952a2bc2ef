import { isAbsolute, join } from "node:path";
import { describe, expect, test } from "vitest";
import { memoryState, resolveMemorySlot } from "@memslot/core/host";
import { storePlaceOf } from "../src/open/check-workspace.ts";
import { config } from "./support/fakes.ts";
import data from "./data/slots.json" with { type: "json" };

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

describe("resolveMemorySlot", () => {
  test.each(data.decided as [Record<string, unknown>, object][])("decides for %j", (plugins, decision) => {
    expect(decide(plugins)).toMatchObject(decision);
  });

  test.each(data.refused as [Record<string, unknown>, string[]][])(
    "refuses %j by name, with the known plugins",
    (plugins, words) => {
      for (const part of words) {
        const message = expect.stringContaining(part);
        expect(() => decide(plugins)).toThrow(expect.objectContaining({ code: "CONFIG", message }));
      }
      if (!words.includes("embedding plugin")) expect(() => decide(plugins)).not.toThrow('"vectors"');
    },
  );

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

test.each(data.off as [Record<string, unknown>, string | null][])(
  "memory of an agent with the configuration %j is off because: %s",
  (content, reason) => {
    const { enabled, reason: told } = { reason: null, ...memoryState(config(content), "main") };
    expect([enabled, told]).toEqual([reason === null, reason]);
  },
);

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

test("in a shared place the name follows from the agent and the workspace id, not from the path of a system", () => {
  const paths = ["/home/alice/notes", "/home/bob/notes", "/Users/bob/notes", "C:\\Users\\bob\\notes", "D:/notes"];
  const named = (agentId: string, workspaceId?: string): string[] =>
    paths.map(
      (workspaceDir) => storePlaceOf({ ...usual, agentId, workspaceDir, settings: { workspaceId } }).sharedName,
    );
  const [own = ""] = named("main", "own");
  expect(own).toMatch(/^main-[0-9a-f]{16}$/);
  const names = ["own", "Own", "team/notes", "C:\\notes"].flatMap((id) => [...new Set(named("main", id))]);
  expect(new Set([...names, ...named("Main", "own")]).size, "one for each agent and id").toBe(5);
  // Without an id each path has an index of its own, and nothing changes in a place of this machine.
  expect(new Set(named("main")).size).toBe(paths.length);
  for (const workspaceId of [undefined, "own"]) {
    const { sharedName: _sharedName, ...place } = storePlaceOf({ ...usual, settings: { workspaceId } });
    expect(storePlaceOf(usual)).toEqual({ ...place, sharedName: place.name });
  }
});

test("the place is the same each time, and says whose it is", () => {
  expect(storePlaceOf(usual)).toEqual(storePlaceOf({ ...usual }));
  const { folder, name } = storePlaceOf(usual);
  expect(name).toMatch(/^main-[0-9a-f]{16}$/);
  expect(folder).toBe(join(stateDir, "memory", "memory-lines", name));
});
