import { mkdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type MemoryPlugin,
  type MemorySearchManager,
  defineMemoryPlugin,
  isAbort,
  openMemory,
  parseConfig,
} from "@memslot/core";
import type { Files } from "@memslot/test-tools/files";
import { ask, fakeManager, fakeProvider, gate, hang, pass, rejected, settle, stopClock } from "./support/fakes.ts";
import data from "./data/refused.json" with { type: "json" };
import { type MemoryHome, counted, createMemoryHome } from "./support/open.ts";
import { embeddingFiles, pluginFiles } from "./support/plugin-folders.ts";

let home: MemoryHome;

beforeEach(() => {
  home = createMemoryHome();
});

const memoryCore = (open: MemoryPlugin["open"]): MemoryPlugin => defineMemoryPlugin({ id: "memory-core", open });

/** A configuration with the plugins below `plugins`, and this one in the slot. */
const withPlugins = (memory?: string, more: object = {}): Record<string, unknown> => ({
  plugins: { slots: memory === undefined ? {} : { memory }, load: { paths: [join(home.root, "plugins")] }, ...more },
});

describe("openMemory", () => {
  test("opens the plugin of the slot with all that it needs", async () => {
    const { plugin, contexts } = counted();
    const config = home.config({ plugins: { entries: { "memory-core": { config: { size: 1 } } } } });
    const memory = await home.open({ config, plugins: [plugin] });
    const { workspaceDir } = home;
    expect(memory).toMatchObject({ agentId: "main", workspaceDir });
    expect(contexts).toMatchObject([
      {
        agentId: "main",
        workspaceDir,
        stateDir: join(home.root, "state"),
        options: { size: 1 },
        embeddings: { provider: undefined, requested: "auto", degraded: false },
        settings: config.agent("main").memorySearch,
        signal: expect.any(AbortSignal),
      },
    ]);
  });

  test("takes a plain object for a configuration, whose notices it reports", async () => {
    const told: string[] = [];
    const config = { agents: { defaults: { workspace: home.workspaceDir } }, citatoins: 1 };
    const notify = (line: string): void => void told.push(line);
    const memory = await home.open({ config, plugins: [counted().plugin], notify });
    expect(memory.workspaceDir).toBe(home.workspaceDir);
    expect(told.join()).toContain("citatoins");
  });

  const sized = {
    manifest: { id: "mine", kind: "memory", configSchema: { type: "object", properties: { size: { default: 4 } } } },
  };
  test("uses a plugin of plugins.load.paths, with its options", async () => {
    home.write(pluginFiles("mine", sized, "plugins/mine"));
    const config = home.config(withPlugins("mine", { entries: { mine: { config: { mode: "x" } } } }));
    const memory = await home.open({ config });
    expect((await ask(memory)).results).toMatchObject([{ snippet: 'mine q {"mode":"x","size":4}' }]);
    expect(memory.status().backend).toBe("mine");
  });

  test("opens the embedding provider of the settings and gives it to the plugin", async () => {
    home.write(embeddingFiles("vectors", undefined, "plugins/vectors"));
    const { plugin, contexts } = counted();
    await home.open({ config: home.config(withPlugins(), { provider: "vectors" }), plugins: [plugin] });
    expect(contexts).toMatchObject([{ embeddings: { provider: { id: "vectors" }, requested: "vectors" } }]);
  });

  test("closes a provider that it opened after the manager, and never one that was handed in", async () => {
    const events: string[] = [];
    const provider = (id: string) => fakeProvider({ id, close: async () => void events.push(id) });
    const own = { kind: "embedding", contract: 1, id: "vectors", open: async () => provider("opened") } as const;
    const { plugin } = counted("memory-core", { close: async () => void events.push("manager") });
    const config = home.config({}, { provider: "vectors" });
    await (await home.open({ config, plugins: [plugin, own] })).close();
    expect(events).toEqual(["manager", "opened"]);
    const reranker = { id: "mine", model: "m", rerank: async () => [], close: async () => void events.push("mine") };
    await (await home.open({ plugins: [plugin], embeddings: provider("given"), reranker })).close();
    expect(events).toEqual(["manager", "opened", "manager"]);
  });

  test("marks every answer degraded when the configured provider could not be used", async () => {
    const config = home.config({}, { provider: "openai" });
    const memory = await home.open({ config, plugins: [counted().plugin] });
    expect((await ask(memory)).report.state).toBe("degraded");
  });

  test("reports what a plugin notifies once for each text, as a process warning where nobody listens", async () => {
    const told: string[] = [];
    const plugin = memoryCore(async ({ notify }) => {
      notify("no vectors here");
      notify("no vectors here");
      return fakeManager();
    });
    const memory = await home.open({ plugins: [plugin], notify: (line) => told.push(line) });
    expect(told).toEqual(["no vectors here"]);
    await memory.close();
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    await (await openMemory({ config: home.config(), agentId: "main", plugins: [plugin] })).close();
    expect(warn.mock.calls).toEqual([["no vectors here", "MemslotWarning"]]);
  });
});

describe("openMemory refuses", () => {
  test.each(data.options as [object | null, string][])("the options %j: %s", async (options, words) => {
    const opening = options === null ? openMemory(undefined as never) : home.open(options);
    const error = { code: "INVALID_ARGUMENT", message: expect.stringContaining(words) };
    expect(await rejected(opening)).toMatchObject(error);
  });

  const mine = (own: object): Files => pluginFiles("mine", own, "plugins/mine");
  test.each<[string, Files, () => Record<string, unknown>, string, string]>([
    ...(data.configurations as [string, Record<string, unknown>, string][]).map(
      ([name, content, words]): [string, Files, () => Record<string, unknown>, string, string] => [
        name,
        {},
        () => content,
        "CONFIG",
        words,
      ],
    ),
    [
      "an unknown slot, with the plugins that could not be read",
      { "plugins/mine/memslot.plugin.json": "{", "plugins/mine/package.json": "{}" },
      () => withPlugins("mine"),
      "CONFIG",
      "plugins/mine/memslot.plugin.json",
    ],
    [
      "a selected plugin that is broken",
      mine({ manifest: { id: "mine", configSchema: {} } }),
      () => withPlugins("mine"),
      "PLUGIN",
      '"kind" is missing',
    ],
  ])("%s", async (_name, files, content, code, words) => {
    home.write(files);
    const configSchema = { type: "object", properties: { size: { type: "integer" } } };
    const { plugin, contexts } = counted("memory-core", {}, { configSchema });
    const error = await rejected(home.open({ config: home.config(content()), plugins: [plugin] }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(contexts).toEqual([]);
  });

  test("an unknown embedding provider", async () => {
    const config = home.config({}, { provider: "opnai" });
    const error = await rejected(home.open({ config, plugins: [counted().plugin] }));
    expect(error).toMatchObject({ code: "CONFIG", message: expect.stringContaining('Did you mean "openai"?') });
  });

  test("a call without host and plugins, with what to do and the plugins that were found", async () => {
    const plain = await rejected(home.open());
    expect(plain).toMatchObject({ code: "CONFIG" });
    for (const words of ['import openMemory from "memslot"', "plugins: [memoryCore]"])
      expect(String(plain)).toContain(words);
    home.write(mine({}));
    await expect(home.open({ config: home.config(withPlugins("min")) })).rejects.toThrow('Did you mean "mine"?');
    await expect(home.open({ config: home.config(withPlugins()) })).rejects.toThrow('import openMemory from "memslot"');
  });

  const cause = new Error("no sqlite here");
  test.each<[string, MemoryPlugin["open"], string]>([
    ["opens no manager", async () => ({}) as never, '"search" must be a function'],
    ["fails to open", async () => Promise.reject(cause), 'plugin "memory-core" could not be opened: no sqlite here'],
  ])("a plugin that %s", async (_name, open, words) => {
    const error = { code: "PLUGIN", message: expect.stringContaining(words) };
    expect(await rejected(home.open({ plugins: [memoryCore(open)] }))).toMatchObject(error);
  });

  test("a plugin that hangs while it opens, with UNAVAILABLE after 60 s, and closes what opens late", async () => {
    stopClock();
    const [late, reached] = [gate<MemorySearchManager>(), gate()];
    const plugin = memoryCore(() => {
      reached.open();
      return late.opened;
    });
    const opening = rejected(home.open({ plugins: [plugin] }));
    await reached.opened;
    await pass(60_000);
    const message = expect.stringContaining('opening memory plugin "memory-core" did not answer within 60 s');
    expect(await opening).toMatchObject({ code: "UNAVAILABLE", message });
    const manager = fakeManager();
    late.open(manager);
    await settle();
    expect(manager.closed).toBe(1);
  });

  test("to go on after an abort, before and during", async () => {
    const reached = gate();
    const plugin = memoryCore(() => {
      reached.open();
      return hang();
    });
    expect(isAbort(await rejected(home.open({ plugins: [plugin], signal: AbortSignal.abort() })))).toBe(true);
    const controller = new AbortController();
    const during = rejected(home.open({ plugins: [plugin], signal: controller.signal }));
    await reached.opened;
    controller.abort();
    expect(isAbort(await during)).toBe(true);
  });
});

describe("a plugin that is broken and not selected", () => {
  const bad = { manifest: { id: "bad", kind: "memory" } };
  test.each([
    ["is reported in one line and hinders nothing", {}, [expect.stringContaining('plugin "bad"')]],
    ["is not reported when it is denied", { deny: ["bad"] }, []],
  ])("%s", async (_name, more, lines) => {
    home.write({
      ...pluginFiles("bad", bad, "plugins/bad"),
      ...pluginFiles("thrower", { entry: "throw new Error()" }, "plugins/thrower"),
    });
    const told: string[] = [];
    const config = home.config(withPlugins(undefined, more));
    await home.open({ config, plugins: [counted().plugin], notify: (line) => told.push(line) });
    expect(told).toEqual(lines);
  });

  test.each(["openai", "none", "auto"])("is not a package that is called %s, as the provider is", async (provider) => {
    home.write({ [`node_modules/${provider}/package.json`]: { name: provider } });
    const told: string[] = [];
    const config = home.config({}, { provider });
    await home.open({ config, plugins: [counted().plugin], notify: (line) => told.push(line) });
    expect(told).toEqual([]);
  });
});

describe("the workspace", () => {
  test.each([
    ["is missing", "nowhere", /nowhere .*memslot init/],
    ["is a file", "notes/MEMORY.md", /MEMORY\.md is not a folder/],
    ["is a link in a circle", "circle", /cannot be read/],
  ])("that %s is a WORKSPACE error that says so", async (_name, name, words) => {
    symlinkSync("circle", join(home.root, "circle"));
    const { plugin, contexts } = counted();
    const error = await rejected(home.open({ plugins: [plugin], workspaceDir: join(home.root, name) }));
    expect(error).toMatchObject({ code: "WORKSPACE", message: expect.stringMatching(words) });
    expect(contexts).toEqual([]);
  });

  test("that a link leads to is the same workspace, with the same index", async () => {
    const link = join(home.root, "link");
    symlinkSync(home.workspaceDir, link);
    const { plugin, contexts } = counted();
    const linked = home.config({ agents: { defaults: { workspace: link } } });
    const memories = await Promise.all([
      home.open({ plugins: [plugin] }),
      home.open({ plugins: [plugin], workspaceDir: link }),
      home.open({ plugins: [plugin], config: linked }),
    ]);
    expect(new Set(memories.map(({ workspaceDir }) => workspaceDir))).toEqual(new Set([home.workspaceDir]));
    expect(contexts).toHaveLength(1);
    expect(contexts[0]?.settings.store.path).toBe(linked.agent("main").memorySearch.store.path);
  });

  test("in place of the agent's own has an index of its own, the same as with that workspace configured", async () => {
    const other = join(home.root, "other");
    mkdirSync(other);
    const { plugin, contexts } = counted();
    const options = { baseDir: home.root, stateDir: join(home.root, "state"), env: { HOME: home.root } };
    const config = home.config();
    await home.open({ config, plugins: [plugin] });
    await (await home.open({ config, plugins: [plugin], workspaceDir: other })).close();
    await home.open({ config: parseConfig({}, { ...options, workspace: other }), plugins: [plugin] });
    const [own, ...others] = contexts.map(({ settings }) => settings.store.path);
    expect(own).toBe(config.agent("main").memorySearch.store.path);
    expect(others.map((path) => basename(path))).toEqual([
      expect.stringMatching(/^main-[0-9a-f]{8}\.sqlite$/),
      basename(others[0] ?? ""),
    ]);
  });
});
