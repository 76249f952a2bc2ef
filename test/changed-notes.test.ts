import { readdirSync, readFileSync } from "node:fs";
import { createMemoryTools, editOptions } from "@memslot/agent-kit";
import { type Memory, parseConfig } from "memslot";
import { beforeEach, expect, test } from "vitest";
import { type House, useHouse } from "./support/temp-workspace.ts";

let house: House;
let memory: Memory;

beforeEach(async () => {
  const filler = Array.from({ length: 12 }, (_, index) => `- Filler ${index} about nothing in particular.`).join("\n");
  house = useHouse({
    "MEMORY.md": `# Memory\n\n- The boat is insured with Hollandia until May.\n${filler}\n- The walrus is called Otto.\n`,
    "memory/otter.md": "An otter sleeps.\n",
  });
  memory = await house.open({ memorySearch: { sync: { watch: false } } });
  await memory.sync({ reason: "test" });
});

type Answer = Record<string, unknown>;
function toolsOf(sessionKey: string): ReturnType<typeof createMemoryTools> {
  const raw = { agents: { defaults: { workspace: house.notes } } };
  const edit = editOptions(parseConfig(raw, { stateDir: house.stateDir, env: {} }), "main");
  return createMemoryTools({ memory, citations: "on", sessionKey, edit });
}

async function call(name: string, input: object, sessionKey = "agent:main:main"): Promise<Answer> {
  const tool = toolsOf(sessionKey).find((each) => each.name === name);
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
  expect(await call("memory_search", { query: "otter" })).not.toHaveProperty("history");
});

test("a struck line comes with the line that supersedes it, however far away that is", async () => {
  const filler = Array.from({ length: 12 }, (_, index) => `- Filler ${index} about nothing in particular.`).join("\n");
  house.write({
    "memory/ship.md": `# Ship\n\n- A policy of Zeeland. ^b1\n${filler}\n- ~~Insured with Skagerrak.~~ [[#^b1]]\n`,
  });
  const [result] = await memory.search("Skagerrak");
  expect(result?.snippet).toContain("~~Insured with Skagerrak.~~");
  expect(result?.snippet).toContain("A policy of Zeeland.");
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
  expect(readdirSync(house.at("memory/.trash"))).toHaveLength(1);
  expect(readFileSync(house.at(String(trash)), "utf8")).toContain("Otto");
  await memory.sync({ reason: "test", force: true });
  for (const query of ["walrus Otto", "xylophone"])
    expect(JSON.stringify(await call("memory_search", { query })), query).not.toMatch(/Otto|xylophone of/u);
  expect(await call("memory_get", { path: trash })).toMatchObject({ status: "error", code: "PATH_NOT_ALLOWED" });
  const group = "agent:main:telegram:group:-100";
  expect(toolsOf(group).map(({ name }) => name)).toEqual(["memory_search", "memory_get"]);
  expect(JSON.stringify(await call("memory_get", { path: "MEMORY.md" }, group))).not.toContain("hash");
});
