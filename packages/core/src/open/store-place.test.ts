import { isAbsolute, join } from "node:path";
import { expect, test } from "vitest";
import { storePlaceOf } from "./store-place.ts";

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
