import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { insertedNote, insertedTexts } from "@memslot/fakes/inserted";
import { ownTexts } from "@memslot/indexing/host";
import { afterEach, describe, expect, test } from "vitest";
import { type Registered, registerInHost } from "./support/fake-host.ts";
import data from "./data/host.json" with { type: "json" };

let host: Registered | undefined;
afterEach(async () => {
  await host?.end();
  host = undefined;
});

function registered(config: object = {}): Registered {
  host = registerInHost(config);
  return host;
}

async function managerOf({ capability, config }: Registered): Promise<NonNullable<Opened["manager"]>> {
  const { manager, error } = await capability.runtime.getMemorySearchManager({ cfg: config, agentId: "main" });
  if (manager === null) throw new Error(error);
  await manager.sync({ reason: "test" });
  return manager;
}

type Opened = Awaited<ReturnType<Registered["capability"]["runtime"]["getMemorySearchManager"]>>;

test("the manifest names the tools and commands that are registered", () => {
  const manifest = JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../openclaw.plugin.json"), "utf8")) as {
    contracts: { tools: string[] };
    cliCommands: { name: string }[];
    activation: { onCommands: string[] };
  };
  const { commands, tool, config } = registered();
  expect(manifest.cliCommands).toEqual(commands);
  expect(manifest.activation.onCommands).toEqual(commands.map(({ name }) => name));
  for (const name of manifest.contracts.tools) expect(tool(name, { config, agentId: "main" })).toMatchObject({ name });
});

describe("the manager", () => {
  test("takes limits out of range for the nearest ones, and no sources for nothing", async () => {
    const manager = await managerOf(registered());
    expect(await manager.search("door code", { maxResults: 0, minScore: -3 })).toHaveLength(1);
    expect(await manager.search("door code", { maxResults: 9999, minScore: Number.NaN })).toHaveLength(2);
    expect(await manager.search("door code", { sources: [] })).toEqual([]);
    expect(await manager.search("door code", { sources: ["sessions"] })).toEqual([]);
  });

  test("keeps private notes from a group", async () => {
    const manager = await managerOf(registered());
    const found = await manager.search("door code", { sessionKey: "agent:main:telegram:group:-100" });
    expect(found.map((result) => result.path)).toEqual(["handbook/office.md"]);
  });

  test("refuses a path outside in the host's words", async () => {
    const manager = await managerOf(registered());
    await expect(manager.readFile({ relPath: "../secret.md" })).rejects.toMatchObject({
      code: "MEMORY_PATH_NOT_ALLOWED",
    });
    expect((await manager.readFile({ relPath: "MEMORY.md" })).text).toContain("7781");
  });

  test("names the only backend that the host knows, and when a probe was made", async () => {
    const manager = await managerOf(registered());
    await manager.search("door code");
    expect(manager.status()).toMatchObject({ backend: "builtin", files: 2 });
    expect(await manager.probeEmbeddingAvailability()).toMatchObject({ ok: false, checked: true });
  });

  test("is not to be had where settings cannot be used, which says the key", async () => {
    const { capability, config } = registered({ memory: { search: { query: { maxResults: "many" } } } });
    const opened = await capability.runtime.getMemorySearchManager({ cfg: config, agentId: "main" });
    expect(opened).toMatchObject({ manager: null, error: expect.stringContaining("maxResults") as string });
  });
});

test.each(["2026.7.35", "2026.9.6"])(
  "of an excerpt of a conversation that %s keeps as a note, only what was said is found",
  async (version) => {
    const shown = registered();
    const message = (role: string, text: string): string =>
      `${role}: ${version === "2026.9.6" ? JSON.stringify(text) : text}`;
    const said = insertedTexts(ownTexts).flatMap((text) => [
      message("user", text),
      message("assistant", "Noted."),
      // A note of the user that is an excerpt too.
      message(
        "user",
        `${text.replace(insertedNote, text.includes("&gt;") ? "" : `user: ${insertedNote}`)}\nThe marmot sleeps.`,
      ),
    ]);
    const excerpt = [...data.excerpt, ...said, message("user", "The walrus is Waldemar."), ""].join("\n");
    mkdirSync(path.join(shown.workspace, "memory"));
    writeFileSync(path.join(shown.workspace, "memory/2026-11-29-2254.md"), excerpt);
    const manager = await managerOf(shown);
    expect(await manager.search("noise zebra")).toEqual([]);
    for (const text of Object.values(ownTexts))
      expect(JSON.stringify(await manager.search(text))).not.toContain(text.slice(0, 30));
    expect(await manager.search("marmot")).not.toEqual([]);
    const [found] = await manager.search("walrus Waldemar");
    const from = excerpt.split("\n").findIndex((each) => each.includes("Waldemar")) + 1;
    expect((await manager.readFile({ relPath: found?.path ?? "", from, lines: 1 })).text).toContain("walrus");
  },
);

describe("the configuration of the host", () => {
  test.each(data.configurations as [string, object][])("%s is understood", async (_where, config) => {
    const shown = registered(withHandbook(config));
    expect(await (await managerOf(shown)).search("door code")).toHaveLength(1);
  });

  test("a provider that is not in the package still leaves the search by words, which says so", async () => {
    const { tool, config } = registered({ memory: { search: { provider: "local" } } });
    const search = tool("memory_search", { config, agentId: "main", sessionKey: "agent:main:main" });
    const { details } = (await search?.execute("1", { query: "door code" })) ?? {};
    expect(details).toMatchObject({ results: [{ path: "MEMORY.md" }], state: "degraded" });
  });

  test("memory that is off offers no tools", () => {
    const { tool, config } = registered({ memory: { search: { enabled: false } } });
    expect(tool("memory_search", { config, agentId: "main" })).toBeNull();
  });

  test("another one opens another memory, in the same run of the host", async () => {
    const { capability, config, workspace } = registered();
    const ask = async (cfg: object): Promise<number> => {
      const { manager } = await capability.runtime.getMemorySearchManager({ cfg, agentId: "main" });
      // A search does not wait for the first index where that takes long.
      await manager?.sync({ reason: "test" });
      return (await manager?.search("door code"))?.length ?? -1;
    };
    expect(await ask(config)).toBe(2);
    expect(await ask({ memory: { search: { provider: "none" } }, workspace })).toBe(1);
    expect(await ask(structuredClone(config))).toBe(2);
  });

  /** `extraPaths` beside the key that is looked at, so that one result of two is the setting's doing. */
  function withHandbook(config: object): object {
    return JSON.parse(
      JSON.stringify(config).replaceAll('"provider":"none"', '"provider":"none","extraPaths":["handbook"]'),
    ) as object;
  }
});

test("the prompt tells of the tools that are there, and of none that are not", () => {
  const { promptBuilder } = registered().capability;
  const lines = promptBuilder({ availableTools: new Set(["memory_search", "memory_get", "memory_append"]) });
  expect(lines[0]).toBe("## Memory Recall");
  expect(lines.join("\n")).not.toContain("memory_append");
  expect(promptBuilder({ availableTools: new Set(["read"]) })).toEqual([]);
});

test("MEMORY.md is told to be the agent's own", async () => {
  const { runtime } = registered().capability;
  expect(await runtime.classifyWorkspaceMemoryPaths({ relativePaths: ["MEMORY.md"] })).toEqual([
    { relativePath: "MEMORY.md", originClass: "agent" },
  ]);
});

describe("the flush plan", () => {
  const late = Date.UTC(2026, 2, 2, 23, 30);
  const flushOf = (defaults: object, more: object = {}): unknown =>
    registered().capability.flushPlanResolver({ cfg: { agents: { defaults } }, nowMs: late, ...more });

  test("writes to the log of the user's day, and speaks of no tool that is not there", () => {
    const plan = flushOf({ userTimezone: "Asia/Tokyo" }) as { prompt: string; systemPrompt: string };
    expect(plan).toMatchObject(data.flushPlan);
    expect(plan.prompt).toContain("memory/2026-03-03.md");
    expect(`${plan.prompt}${plan.systemPrompt}`).not.toMatch(/memory_append|memory_search/);
    expect(plan.systemPrompt).toContain("NO_REPLY");
  });

  test("keeps to the settings of compaction, and is none where it is off", () => {
    const memoryFlush = { softThresholdTokens: 900, forceFlushTranscriptBytes: 0, model: " a/b " };
    expect(flushOf({ compaction: { reserveTokensFloor: 3000, memoryFlush } })).toMatchObject(data.ownFlushPlan);
    expect(flushOf({ compaction: { memoryFlush: { enabled: false } } })).toBeNull();
  });

  test("leaves room in a small context", () => {
    const plan = flushOf({}, { contextWindowTokens: 16_000 }) as {
      softThresholdTokens: number;
      reserveTokensFloor: number;
    };
    expect(plan.reserveTokensFloor + plan.softThresholdTokens).toBeLessThan(16_000);
    expect(plan.softThresholdTokens).toBeGreaterThan(0);
  });
});
