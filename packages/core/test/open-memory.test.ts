import { once } from "node:events";
import { chmod, mkdir, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  type EmbeddingProvider,
  type Memory,
  type MemoryPlugin,
  type MemoryPluginContext,
  type MemorySearchManager,
  type OpenMemoryOptions,
  defineMemoryPlugin,
  isAbort,
  openMemory,
  parseConfig,
} from "@memslot/core";
import { fakeManager, fakeProvider, gate, hang, report, result, settle } from "./support/fakes.ts";
import { embeddingFiles, folderOf, memoryEntry, pluginFiles, writeFiles } from "./support/plugin-folders.ts";

let root = "";
let remove: () => Promise<void>;
const opened: Memory[] = [];

beforeEach(async () => {
  ({ folder: root, remove } = await folderOf({ "notes/MEMORY.md": "# Notes" }));
});

afterEach(async () => {
  vi.useRealTimers();
  await Promise.allSettled(opened.splice(0).map((memory) => memory.close()));
  await remove();
});

/** A memory plugin called memory-core that counts what is opened. */
function core(own: Partial<MemorySearchManager> = {}): { plugin: MemoryPlugin; contexts: MemoryPluginContext[] } {
  const contexts: MemoryPluginContext[] = [];
  const plugin = defineMemoryPlugin({
    id: "memory-core",
    async open(context) {
      contexts.push(context);
      await settle();
      return fakeManager(own);
    },
  });
  return { plugin, contexts };
}

function configWith(content: Record<string, unknown> = {}): ReturnType<typeof parseConfig> {
  const agents = { defaults: { workspace: join(root, "notes") }, ...(content["agents"] as object) };
  return parseConfig({ ...content, agents }, { baseDir: root, stateDir: join(root, "state"), env: { HOME: root } });
}

async function open(options: Partial<OpenMemoryOptions> = {}): Promise<Memory> {
  const memory = await openMemory({ config: configWith(), agentId: "main", notify: () => {}, ...options });
  opened.push(memory);
  return memory;
}

describe("openMemory", () => {
  test("opens the plugin of the slot with all that it needs", async () => {
    const { plugin, contexts } = core();
    const config = configWith({ plugins: { entries: { "memory-core": { config: { size: 1 } } } } });
    const memory = await open({ config, plugins: [plugin] });
    expect(memory).toMatchObject({ agentId: "main", workspaceDir: join(root, "notes") });
    expect(contexts[0]).toMatchObject({
      agentId: "main",
      workspaceDir: join(root, "notes"),
      stateDir: join(root, "state"),
      options: { size: 1 },
      embeddings: { provider: undefined, requested: "auto", degraded: false },
    });
    expect(contexts[0]?.settings).toEqual(config.agent("main").memorySearch);
    expect(contexts[0]?.signal).toBeInstanceOf(AbortSignal);
  });

  test("takes a plain object for a configuration", async () => {
    const { plugin } = core();
    const memory = await open({
      config: { agents: { defaults: { workspace: join(root, "notes") } } },
      plugins: [plugin],
    });
    expect(memory.workspaceDir).toBe(join(root, "notes"));
  });

  test("tells the notices of a configuration that it made itself", async () => {
    const { plugin } = core();
    const told: string[] = [];
    await open({
      config: { agents: { defaults: { workspace: join(root, "notes") } }, citatoins: 1 },
      plugins: [plugin],
      notify: (line) => told.push(line),
    });
    expect(told.join()).toContain("citatoins");
  });

  test("uses a built-in plugin among the dependencies of the host", async () => {
    await writeFiles(root, {
      "app/package.json": { name: "app", dependencies: { "pkg-memory-core": "1" } },
      ...pluginFiles("memory-core", {}, "app/node_modules/pkg-memory-core"),
    });
    const memory = await open({ host: join(root, "app/index.js") });
    await expect(memory.search("hello")).resolves.toMatchObject([{ snippet: "memory-core hello {}" }]);
  });

  test("uses a plugin of plugins.load.paths, with its options", async () => {
    await writeFiles(
      root,
      pluginFiles(
        "mine",
        {
          manifest: {
            id: "mine",
            kind: "memory",
            configSchema: { type: "object", properties: { size: { type: "integer", default: 4 } } },
          },
        },
        "plugins/mine",
      ),
    );
    const config = configWith({
      plugins: {
        slots: { memory: "mine" },
        load: { paths: [join(root, "plugins")] },
        entries: { mine: { config: { mode: "x" } } },
      },
    });
    const memory = await open({ config });
    await expect(memory.search("q")).resolves.toMatchObject([{ snippet: 'mine q {"mode":"x","size":4}' }]);
    expect(memory.status().backend).toBe("mine");
  });

  test("uses a plugin that the slot names by package, seen from the folder of the configuration", async () => {
    await writeFiles(root, pluginFiles("mine", {}, "node_modules/@acme/mine"));
    const memory = await open({ config: configWith({ plugins: { slots: { memory: "@acme/mine" } } }) });
    expect(memory.status().backend).toBe("mine");
  });

  test("opens the embedding provider of the settings and gives it to the plugin", async () => {
    await writeFiles(root, embeddingFiles("vectors", undefined, "plugins/vectors"));
    const { plugin, contexts } = core();
    const config = configWith({
      plugins: { load: { paths: [join(root, "plugins")] } },
      agents: { defaults: { workspace: join(root, "notes"), memorySearch: { provider: "vectors" } } },
    });
    await open({ config, plugins: [plugin] });
    expect(contexts[0]?.embeddings).toMatchObject({ provider: { id: "vectors" }, requested: "vectors" });
  });

  test("closes a provider that it opened after the manager, and never one that was handed in", async () => {
    const events: string[] = [];
    const provider = (id: string): EmbeddingProvider =>
      fakeProvider({
        id,
        close: async () => {
          events.push(id);
        },
      });
    const own = { kind: "embedding", contract: 1, id: "vectors", open: async () => provider("opened") } as const;
    const { plugin } = core({
      close: async () => {
        events.push("manager");
      },
    });
    const config = configWith({
      agents: { defaults: { workspace: join(root, "notes"), memorySearch: { provider: "vectors" } } },
    });
    await (await open({ config, plugins: [plugin, own] })).close();
    expect(events).toEqual(["manager", "opened"]);
    await (await open({ plugins: [plugin], embeddings: provider("given") })).close();
    expect(events).toEqual(["manager", "opened", "manager"]);
  });

  test("marks every answer degraded when the configured provider could not be used", async () => {
    const { plugin } = core({
      search: async (_query, { onDebug }) => {
        onDebug(report());
        return [result()];
      },
    });
    const config = configWith({
      agents: { defaults: { workspace: join(root, "notes"), memorySearch: { provider: "openai" } } },
    });
    const memory = await open({ config, plugins: [plugin] });
    const states: string[] = [];
    await memory.search("q", { onDebug: ({ state }) => states.push(state) });
    expect(states).toEqual(["degraded"]);
  });
});

describe("openMemory refuses", () => {
  test.each([
    ["no agent id", { agentId: undefined }, "agentId must be the id of an agent"],
    ["a blank agent id", { agentId: "  " }, "agentId must be the id of an agent"],
    ["an empty workspace", { workspaceDir: "" }, "workspaceDir must be"],
    ["plugins that are no list", { plugins: {} }, "plugins must be a list"],
    ["a host that is no address of a file", { host: "app" }, "host must be import.meta.url"],
    ["a notify that is no function", { notify: true }, "notify must be a function"],
    ["a config that is text", { config: "memslot.json5" }, "config must be an object"],
    ["a signal that is none", { signal: {} }, "signal must be an AbortSignal"],
  ])("%s", async (_name, options, words) => {
    await expect(open(options as Partial<OpenMemoryOptions>)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(words),
    });
  });

  test("no options at all", async () => {
    await expect(openMemory(undefined as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each([
    ["the slot is none", { plugins: { slots: { memory: "none" } } }, 'plugins.slots.memory is "none"'],
    ["plugins are switched off", { plugins: { enabled: false } }, "plugins.enabled is false"],
    [
      "memory search is off for the agent",
      { agents: { list: [{ id: "main", memorySearch: { enabled: false } }] } },
      "memorySearch.enabled is false",
    ],
  ])("when %s: memory is disabled", async (_name, content, reason) => {
    const { plugin, contexts } = core();
    await expect(open({ config: configWith(content), plugins: [plugin] })).rejects.toMatchObject({
      code: "CONFIG",
      message: expect.stringMatching(new RegExp(`^memory is disabled: .*${reason}`)),
    });
    expect(contexts).toEqual([]);
  });

  test("to know a plugin by itself: without host and plugins it says what to do", async () => {
    const error = await open().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "CONFIG" });
    expect(String(error)).toContain('import openMemory from "memslot"');
    expect(String(error)).toContain("plugins: [memoryCore]");
  });

  test("an unknown slot, with the known ids", async () => {
    const { plugin, contexts } = core();
    const config = configWith({ plugins: { slots: { memory: "memory-cor" } } });
    await expect(open({ config, plugins: [plugin] })).rejects.toMatchObject({
      code: "CONFIG",
      message: expect.stringContaining('Did you mean "memory-core"?'),
    });
    expect(contexts).toEqual([]);
  });

  test("an unknown slot without host and plugins, with the plugins that were found", async () => {
    await writeFiles(root, pluginFiles("mine", {}, "plugins/mine"));
    const paths = [join(root, "plugins")];
    const config = configWith({ plugins: { slots: { memory: "min" }, load: { paths } } });
    await expect(open({ config })).rejects.toThrow('Did you mean "mine"?');
    const byDefault = configWith({ plugins: { load: { paths } } });
    await expect(open({ config: byDefault })).rejects.toThrow('import openMemory from "memslot"');
  });

  test("an unknown slot, with the plugins that could not be read", async () => {
    await writeFiles(root, { "plugins/mine/memslot.plugin.json": "{", "plugins/mine/package.json": "{}" });
    const config = configWith({ plugins: { slots: { memory: "mine" }, load: { paths: [join(root, "plugins")] } } });
    await expect(open({ config, plugins: [core().plugin] })).rejects.toMatchObject({
      code: "CONFIG",
      message: expect.stringContaining(join(root, "plugins/mine/memslot.plugin.json")),
    });
  });

  test("a selected plugin that is broken, by its own reason", async () => {
    await writeFiles(root, pluginFiles("mine", { manifest: { id: "mine", configSchema: {} } }, "plugins/mine"));
    const config = configWith({ plugins: { slots: { memory: "mine" }, load: { paths: [join(root, "plugins")] } } });
    await expect(open({ config, plugins: [core().plugin] })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining('"kind" is missing'),
    });
  });

  test("two plugins with the id of the slot", async () => {
    await writeFiles(root, pluginFiles("memory-core", {}, "plugins/mine"));
    const config = configWith({ plugins: { load: { paths: [join(root, "plugins")] } } });
    await expect(open({ config, plugins: [core().plugin] })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining('two plugins have the id "memory-core"'),
    });
  });

  test("wrong options of the selected plugin", async () => {
    const plugin: MemoryPlugin = {
      ...core().plugin,
      configSchema: { type: "object", properties: { size: { type: "integer" } } },
    };
    const config = configWith({ plugins: { entries: { "memory-core": { config: { size: "big" } } } } });
    await expect(open({ config, plugins: [plugin] })).rejects.toMatchObject({
      code: "CONFIG",
      message: "plugins.entries.memory-core.config.size must be integer",
    });
  });

  test("an embedding provider that nobody knows", async () => {
    const config = configWith({
      agents: { defaults: { workspace: join(root, "notes"), memorySearch: { provider: "opnai" } } },
    });
    await expect(open({ config, plugins: [core().plugin] })).rejects.toMatchObject({
      code: "CONFIG",
      message: expect.stringContaining('Did you mean "openai"?'),
    });
  });

  test("a plugin that opens no manager", async () => {
    const plugin = defineMemoryPlugin({ id: "memory-core", open: async () => ({}) as never });
    await expect(open({ plugins: [plugin] })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining('"search" must be a function'),
    });
  });

  test("what a plugin says when it fails to open, with its code", async () => {
    const cause = new Error("no sqlite here");
    const failing = defineMemoryPlugin({ id: "memory-core", open: async () => Promise.reject(cause) });
    await expect(open({ plugins: [failing] })).rejects.toMatchObject({
      code: "PLUGIN",
      cause,
      message: expect.stringContaining('memory plugin "memory-core" could not be opened: no sqlite here'),
    });
  });

  test("a plugin that hangs while it opens, with UNAVAILABLE, and closes what opens late", async () => {
    const late = gate<MemorySearchManager>();
    const manager = fakeManager();
    const reached = gate();
    const plugin = defineMemoryPlugin({
      id: "memory-core",
      open: () => {
        reached.open();
        return late.opened;
      },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const opening = open({ plugins: [plugin], deadlines: { openMs: 20 } }).catch((error: unknown) => error);
    await reached.opened;
    await vi.advanceTimersByTimeAsync(20);
    expect(await opening).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining('opening memory plugin "memory-core"'),
    });
    late.open(manager);
    await settle();
    expect(manager.closed).toBe(1);
  });

  test("a plugin whose entry hangs while it is loaded, with UNAVAILABLE", async () => {
    const entry = `process.emit("loading mine");\nawait new Promise(() => {});\n${memoryEntry("mine")}`;
    await writeFiles(root, pluginFiles("mine", { entry }, "plugins/mine"));
    const config = configWith({ plugins: { slots: { memory: "mine" }, load: { paths: [join(root, "plugins")] } } });
    const reached = once(process, "loading mine");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const opening = open({ config, deadlines: { openMs: 50 } }).catch((error: unknown) => error);
    await reached;
    await vi.advanceTimersByTimeAsync(50);
    expect(await opening).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining('loading memory plugin "mine"'),
    });
  });

  test("to go on after an abort, before and during", async () => {
    const plugin = defineMemoryPlugin({ id: "memory-core", open: hang });
    const before = await open({ plugins: [plugin], signal: AbortSignal.abort() }).catch((error: unknown) => error);
    expect(isAbort(before)).toBe(true);
    const controller = new AbortController();
    const during = open({ plugins: [plugin], signal: controller.signal }).catch((error: unknown) => error);
    setTimeout(() => controller.abort(), 20);
    expect(isAbort(await during)).toBe(true);
  });
});

describe("a plugin that is broken and not selected", () => {
  test("is told of in one line and hinders nothing", async () => {
    await writeFiles(root, {
      ...pluginFiles("bad", { manifest: { id: "bad", kind: "memory" } }, "plugins/bad"),
      ...pluginFiles("thrower", { entry: "throw new Error()" }, "plugins/thrower"),
    });
    const told: string[] = [];
    const config = configWith({ plugins: { load: { paths: [join(root, "plugins")] } } });
    await open({ config, plugins: [core().plugin], notify: (line) => told.push(line) });
    expect(told).toEqual([expect.stringContaining('plugin "bad"')]);
  });

  test("is not told of when it is denied anyway", async () => {
    await writeFiles(root, pluginFiles("bad", { manifest: { id: "bad", kind: "memory" } }, "plugins/bad"));
    const told: string[] = [];
    const config = configWith({ plugins: { load: { paths: [join(root, "plugins")] }, deny: ["bad"] } });
    await open({ config, plugins: [core().plugin], notify: (line) => told.push(line) });
    expect(told).toEqual([]);
  });

  test.each(["openai", "none", "auto"])(
    "is not what a package happens to be that is called %s, as the provider is",
    async (name) => {
      await writeFiles(root, { [`node_modules/${name}/package.json`]: { name } });
      const told: string[] = [];
      const config = configWith({
        agents: { defaults: { workspace: join(root, "notes"), memorySearch: { provider: name } } },
      });
      await open({ config, plugins: [core().plugin], notify: (line) => told.push(line) });
      expect(told).toEqual([]);
    },
  );
});

describe("the workspace", () => {
  test("that is missing is a WORKSPACE error that names it and memslot init", async () => {
    const { plugin, contexts } = core();
    const error = await open({ plugins: [plugin], workspaceDir: join(root, "nowhere") }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: "WORKSPACE" });
    expect(String(error)).toContain(join(root, "nowhere"));
    expect(String(error)).toContain("memslot init");
    expect(contexts).toEqual([]);
  });

  test("that is a file is a WORKSPACE error", async () => {
    const file = join(root, "notes/MEMORY.md");
    await expect(open({ plugins: [core().plugin], workspaceDir: file })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringMatching(/^the workspace .*MEMORY\.md is no folder/),
    });
  });

  test.skipIf(process.getuid?.() === 0)("that cannot be read is a WORKSPACE error", async () => {
    await mkdir(join(root, "locked"));
    await chmod(join(root, "locked"), 0);
    await expect(open({ plugins: [core().plugin], workspaceDir: join(root, "locked") })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringContaining("cannot be read"),
    });
  });

  test("that is a link in a circle is a WORKSPACE error", async () => {
    await symlink(join(root, "b"), join(root, "a"));
    await symlink(join(root, "a"), join(root, "b"));
    await expect(open({ plugins: [core().plugin], workspaceDir: join(root, "a") })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringContaining("cannot be read"),
    });
  });

  test("is canonical: a link to it is the same workspace", async () => {
    await symlink(join(root, "notes"), join(root, "link"));
    const { plugin, contexts } = core();
    const memories = await Promise.all([
      open({ plugins: [plugin] }),
      open({ plugins: [plugin], workspaceDir: join(root, "link") }),
    ]);
    expect(memories.map(({ workspaceDir }) => workspaceDir)).toEqual([join(root, "notes"), join(root, "notes")]);
    expect(contexts).toHaveLength(1);
  });

  test("of an agent may be a link, and keeps its index", async () => {
    await symlink(join(root, "notes"), join(root, "link"));
    const { plugin, contexts } = core();
    const config = configWith({ agents: { defaults: { workspace: join(root, "link") } } });
    await open({ config, plugins: [plugin] });
    expect(contexts[0]?.workspaceDir).toBe(join(root, "notes"));
    expect(contexts[0]?.settings.store.path).toBe(config.agent("main").memorySearch.store.path);
  });

  test("in place of the agent's own has an index of its own", async () => {
    await mkdir(join(root, "other"));
    const { plugin, contexts } = core();
    const config = configWith();
    await open({ config, plugins: [plugin] });
    await open({ config, plugins: [plugin], workspaceDir: join(root, "other") });
    const [own, other] = contexts.map(({ settings }) => settings.store.path);
    expect(own).toBe(config.agent("main").memorySearch.store.path);
    expect(other).not.toBe(own);
    expect(basename(other ?? "")).toMatch(/^main-[0-9a-f]{8}\.sqlite$/);
  });

  test("in place of the agent's own has the same index as with that workspace in the configuration", async () => {
    await mkdir(join(root, "other"));
    const { plugin, contexts } = core();
    const options = { baseDir: root, stateDir: join(root, "state"), env: { HOME: root } };
    await open({ config: parseConfig({}, { ...options, workspace: join(root, "other") }), plugins: [plugin] });
    await (
      await open({ config: parseConfig({}, options), plugins: [plugin], workspaceDir: join(root, "other") })
    ).close();
    expect(new Set(contexts.map(({ settings }) => settings.store.path)).size).toBe(1);
  });
});

describe("instances", () => {
  test("20 concurrent opens give 20 memories of one plugin.open", async () => {
    const { plugin, contexts } = core();
    const memories = await Promise.all(Array.from({ length: 20 }, () => open({ plugins: [plugin] })));
    expect(contexts).toHaveLength(1);
    expect(new Set(memories).size).toBe(20);
  });

  test("are shared by equal settings from two configurations, and by none that differ", async () => {
    const { plugin, contexts } = core();
    const withKey = (apiKey: string): ReturnType<typeof parseConfig> =>
      configWith({ agents: { defaults: { workspace: join(root, "notes"), memorySearch: { remote: { apiKey } } } } });
    await Promise.all([
      open({ config: withKey("sk-1"), plugins: [plugin] }),
      open({ config: withKey("sk-1"), plugins: [plugin] }),
    ]);
    expect(contexts).toHaveLength(1);
    await open({ config: withKey("sk-2"), plugins: [plugin] });
    expect(contexts).toHaveLength(2);
  });

  test("are not shared by agents, plugins or providers", async () => {
    const { plugin, contexts } = core();
    const another = core();
    await open({ plugins: [plugin] });
    await open({ plugins: [plugin], agentId: "second" });
    await open({ plugins: [plugin], embeddings: fakeProvider() });
    await open({ plugins: [another.plugin] });
    expect(contexts.map(({ agentId }) => agentId)).toEqual(["main", "second", "main"]);
    expect(another.contexts).toHaveLength(1);
  });

  test("that failed to open are tried again", async () => {
    let tries = 0;
    const plugin = defineMemoryPlugin({
      id: "memory-core",
      async open() {
        tries += 1;
        if (tries === 1) throw new Error("busy");
        return fakeManager();
      },
    });
    await expect(open({ plugins: [plugin] })).rejects.toThrow("busy");
    await expect(open({ plugins: [plugin] })).resolves.toBeDefined();
  });
});

describe("notices", () => {
  test("of a plugin come once for each text", async () => {
    const told: string[] = [];
    const plugin = defineMemoryPlugin({
      id: "memory-core",
      async open({ notify }) {
        notify("no vectors here");
        notify("no vectors here");
        return fakeManager();
      },
    });
    await open({ plugins: [plugin], notify: (line) => told.push(line) });
    expect(told).toEqual(["no vectors here"]);
  });

  test("are process warnings when nobody takes them", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      const plugin = defineMemoryPlugin({
        id: "memory-core",
        async open({ notify }) {
          notify("no vectors there");
          return fakeManager();
        },
      });
      opened.push(await openMemory({ config: configWith(), agentId: "main", plugins: [plugin] }));
      expect(warn.mock.calls).toEqual([["no vectors there", "MemslotWarning"]]);
    } finally {
      warn.mockRestore();
    }
  });
});
