import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createMemoryTools, editOptions } from "@memslot/agent-kit";
import { type Memory, openMemory, parseConfig } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { afterEach, beforeEach, expect, test } from "vitest";

let folder = "";
let memory: Memory;
let workspace: string;
let config: ReturnType<typeof parseConfig>;

beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-changed-"));
  workspace = path.join(folder, "notes");
  mkdirSync(path.join(workspace, "memory"), { recursive: true });
  const filler = Array.from({ length: 12 }, (_, index) => `- Filler ${index} about nothing in particular.`).join("\n");
  writeFileSync(
    path.join(workspace, "MEMORY.md"),
    `# Memory\n\n- The boat is insured with Hollandia until May.\n${filler}\n- The walrus is called Otto.\n`,
  );
  config = parseConfig(
    { agents: { defaults: { workspace, memorySearch: { provider: "none", sync: { watch: false } } } } },
    { stateDir: path.join(folder, "state"), env: { HOME: folder } },
  );
  memory = await openMemory({ config, agentId: "main", plugins: [memoryCore], notify: () => undefined });
  await memory.sync({ reason: "test" });
});

afterEach(async () => {
  await memory.close();
  rmSync(folder, { recursive: true, force: true });
});

type Answer = Record<string, unknown>;
async function call(name: string, input: object, sessionKey = "agent:main:main"): Promise<Answer> {
  const edit = editOptions(config, "main");
  const tool = createMemoryTools({ memory, citations: "on", sessionKey, edit }).find((each) => each.name === name);
  return (await (tool ?? expect.fail(`no tool ${name}`)).execute(input)) as Answer;
}

test("a superseded fact is found by its old words with the present one first, and marked as history", async () => {
  const { hash } = await call("memory_get", { path: "MEMORY.md" });
  const old = "- The boat is insured with Hollandia until May.";
  const edited = await call("memory_edit", {
    path: "MEMORY.md",
    hash,
    old,
    new: "The ship has a policy of Zeeland.",
    supersedes: true,
  });
  expect(edited).toMatchObject({ status: "ok" });
  for (const query of ["Hollandia", "boat insured Hollandia May", "Zeeland policy"]) {
    const answer = await call("memory_search", { query });
    const [{ snippet }] = answer["results"] as [{ snippet: string }];
    expect(snippet, query).toContain("policy of Zeeland");
    if (query.includes("Hollandia")) {
      expect(snippet.indexOf("Zeeland")).toBeLessThan(snippet.indexOf("~~The boat is insured with Hollandia"));
      expect(answer["history"]).toMatch(/are history/u);
    }
  }
  expect(await call("memory_search", { query: "walrus" })).not.toHaveProperty("history");
});

test("what was forgotten is found no more, its trash is neither searched nor read, and no group learns of it", async () => {
  const { hash } = await call("memory_get", { path: "MEMORY.md" });
  const reason = "The xylophone of it.";
  const { trash } = await call("memory_forget", {
    path: "MEMORY.md",
    hash,
    old: "- The walrus is called Otto.",
    reason,
  });
  expect(readdirSync(path.join(workspace, "memory/.trash"))).toHaveLength(1);
  expect(readFileSync(path.join(workspace, String(trash)), "utf8")).toContain("Otto");
  await memory.sync({ reason: "test", force: true });
  for (const query of ["walrus Otto", "xylophone"])
    expect(JSON.stringify(await call("memory_search", { query })), query).not.toMatch(/Otto|xylophone of/u);
  expect(await call("memory_get", { path: trash })).toMatchObject({ status: "error", code: "PATH_NOT_ALLOWED" });
  const group = "agent:main:telegram:group:-100";
  const names = createMemoryTools({ memory, citations: "on", sessionKey: group, edit: editOptions(config, "main") });
  expect(names.map(({ name }) => name)).toEqual(["memory_search", "memory_get"]);
  expect(JSON.stringify(await call("memory_get", { path: "MEMORY.md" }, group))).not.toContain("hash");
});
