import { once } from "node:events";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  type EmbeddingProvider,
  type Memory,
  MemoryError,
  type MemoryErrorCode,
  type MemoryPlugin,
  type OpenMemoryOptions,
  defineEmbeddingPlugin,
  defineMemoryPlugin,
} from "@memslot/core";
import { ask, fakeProvider, gate, hang, pass, rejected, settle, stopClock } from "./support/fakes.ts";
import { type MemoryHome, counted, createMemoryHome } from "./support/open.ts";
import { pluginFiles } from "./support/plugin-folders.ts";
import wrong from "./data/wrong-fallbacks.json" with { type: "json" };
import tables from "./data/fallback-open.json" with { type: "json" };

let home: MemoryHome;

beforeEach(() => {
  home = createMemoryHome();
});

const fail =
  (code: MemoryErrorCode = "UNAVAILABLE", message = "qmd is not installed") =>
  async (): Promise<never> =>
    Promise.reject(new MemoryError(code, message));

/** A plugin that cannot be opened. */
function dead(id: string, code?: MemoryErrorCode, own: Partial<MemoryPlugin> = {}): MemoryPlugin {
  return defineMemoryPlugin({ id, open: fail(code), ...own });
}

interface Slot {
  slot?: string;
  fallback?: string | undefined;
  plugins?: OpenMemoryOptions["plugins"];
  entries?: Record<string, unknown>;
  content?: Record<string, unknown>;
  /** Where the plugin in the slot is. */
  load?: string;
  deny?: string[];
  memorySearch?: Record<string, unknown>;
  told?: string[];
  options?: Partial<OpenMemoryOptions>;
}

function open({ slot = "tool", fallback, plugins, entries = {}, load, ...more }: Slot): Promise<Memory> {
  const entry = fallback === undefined ? {} : { [slot]: { fallback } };
  const about = {
    slots: { memory: slot },
    entries: { ...entry, ...entries },
    deny: more.deny ?? [],
    load: { paths: load === undefined ? [] : [load] },
  };
  const search = { provider: "none", ...more.memorySearch };
  const config = home.config({ plugins: about, ...more.content }, search);
  return home.open({ config, notify: (line) => more.told?.push(line), plugins, ...more.options });
}

async function failure(slot: Slot): Promise<MemoryError> {
  const error = await rejected(open(slot));
  if (!MemoryError.is(error)) throw new Error(`expected a MemoryError, got ${String(error)}`);
  return error;
}

describe("plugins.entries.<id>.fallback", () => {
  test.each(tables.names)(
    "%s opens %s where the plugin in the slot cannot be opened, and says so",
    async (fallback, id) => {
      const told: string[] = [];
      const plugins = [dead("tool"), counted("memory-core").plugin, counted("other").plugin];
      const memory = await open({ fallback, plugins, told });
      const { paths, report } = await ask(memory);
      expect(paths).toEqual([`${id}.md`]);
      const named = { from: "tool", to: id, reason: "qmd is not installed" };
      expect(report).toMatchObject({ state: "degraded", fallback: named });
      expect(memory.status()).toMatchObject({ backend: id, fallback: named, spare: { backend: id, open: true } });
      expect(told).toEqual([
        `"tool" is unavailable: qmd is not installed; "${id}" answers in its place until it is back`,
      ]);
    },
  );

  test.each([["none"], ["None"], [" "], [undefined]])("%j leaves it at the error of the plugin", async (fallback) => {
    const core = counted("memory-core");
    const error = await failure({ fallback, plugins: [dead("tool"), core.plugin] });
    expect(error).toMatchObject({ code: "UNAVAILABLE", message: "qmd is not installed" });
    expect(core.contexts).toEqual([]);
  });

  test("wins over the plugin's own options, which are its default otherwise", async () => {
    const configSchema = { type: "object", properties: { fallback: { type: "string", default: "builtin" } } };
    const plugins = (): OpenMemoryOptions["plugins"] => [
      dead("tool", "UNAVAILABLE", { configSchema }),
      counted("memory-core").plugin,
      counted("other").plugin,
    ];
    expect((await ask(await open({ plugins: plugins() }))).paths).toEqual(["memory-core.md"]);
    const config = { tool: { config: { fallback: "other" } } };
    expect((await ask(await open({ plugins: plugins(), entries: config }))).paths).toEqual(["other.md"]);
    const both = { tool: { config: { fallback: "other" }, fallback: "none" } };
    expect((await failure({ plugins: plugins(), entries: both })).code).toBe("UNAVAILABLE");
  });

  test("of memory-qmd may stand in memory.qmd too, and memory.backend chooses it", async () => {
    const memory = await open({
      content: { memory: { backend: "qmd", qmd: { fallback: "keyword" } }, plugins: {} },
      plugins: [dead("memory-qmd"), counted("memory-core").plugin],
    });
    expect((await ask(memory)).report?.fallback).toMatchObject({ from: "memory-qmd", to: "memory-core" });
    expect(memory.status().backend).toBe("memory-core");
  });

  test("gives the fallback backend its own options, and searches that look for what has changed", async () => {
    const [tool, core] = [counted("tool", { search: fail() }), counted("memory-core")];
    const memory = await open({
      fallback: "builtin",
      plugins: [tool.plugin, core.plugin],
      entries: { tool: { config: { command: "qmd" }, fallback: "builtin" }, "memory-core": { config: { size: 3 } } },
      memorySearch: { sync: { onSearch: false } },
      options: { readOnly: true },
    });
    await memory.search("q");
    expect(tool.contexts[0]?.options).toEqual({ command: "qmd" });
    expect(core.contexts).toMatchObject([{ options: { size: 3 }, readOnly: true }]);
    expect(tool.contexts[0]?.settings.sync.onSearch).toBe(false);
    expect(core.contexts[0]?.settings.sync.onSearch).toBe(true);
  });
});

describe("a fallback backend that cannot be used is an error that names the key", () => {
  const key = "plugins.entries.tool.fallback";
  const tool = counted("tool").plugin;
  const embeddings = defineEmbeddingPlugin({ id: "vectors", open: async () => fakeProvider() });

  test.each(wrong as [string, Slot, string][])("%s", async (_name, slot, words) => {
    const error = await failure({ plugins: [tool, counted("memory-core").plugin, embeddings], ...slot });
    expect(error.code).toBe("CONFIG");
    expect(error.message).toContain(words);
  });

  test("one that the application offers and that is not installed", async () => {
    const peerDependenciesMeta = { "@memslot/memory-lancedb": { optional: true } };
    home.write({ "package.json": { name: "app", peerDependenciesMeta } });
    const options = { host: join(home.root, "main.js") };
    expect((await failure({ plugins: [tool], fallback: "memory-lancedb", options })).message).toContain(
      `${key} is "memory-lancedb", which is not installed; run \`memslot plugins add memory-lancedb\``,
    );
  });

  test("one with wrong options, and one that is broken, by its own reason", async () => {
    const core = counted("memory-core", {}, { configSchema: { type: "object", additionalProperties: false } }).plugin;
    const entries = { tool: { fallback: "builtin" }, "memory-core": { config: { sise: 1 } } };
    expect((await failure({ plugins: [tool, core], entries })).message).toContain(
      "plugins.entries.memory-core.config.sise is not a key",
    );
    home.write(pluginFiles("spare", { manifest: { id: "spare", configSchema: {} } }, "plugins/spare"));
    const broken = await failure({ plugins: [tool], fallback: "spare", load: "plugins" });
    expect(broken).toMatchObject({ code: "PLUGIN", message: expect.stringContaining('plugin "spare"') });
  });

  test("but not where it is only the default of the plugin: then there is none, and a line says why", async () => {
    const told: string[] = [];
    const configSchema = { type: "object", properties: { fallback: { type: "string", default: "builtin" } } };
    const plugins = [counted("tool", {}, { configSchema }).plugin, counted("memory-core").plugin];
    const memory = await open({ plugins, deny: ["memory-core"], told });
    expect((await ask(memory)).paths).toEqual(["tool.md"]);
    expect(memory.status().spare).toBeUndefined();
    expect(told).toEqual([expect.stringMatching(/^"tool" has no fallback: .*plugins\.deny lists "memory-core"/)]);
  });
});

test("keyword opens memory-core without a provider and says why; builtin opens it with the provider", async () => {
  const embedBatch = vi.fn<EmbeddingProvider["embedBatch"]>(async (texts) => texts.map(() => [1]));
  const provider = fakeProvider({ embedQuery: async (text) => (await embedBatch([text]))[0] ?? [], embedBatch });
  const reason = 'plugins.entries.tool.fallback is "keyword": "memory-core" finds words only';
  for (const [fallback, choice] of [
    ["keyword", { provider: undefined, requested: "none", reason, degraded: false }],
    ["builtin", { provider }],
  ] as const) {
    const core = counted("memory-core");
    const memory = await open({ fallback, plugins: [dead("tool"), core.plugin], options: { embeddings: provider } });
    await memory.search("q");
    await memory.sync();
    expect(core.contexts).toMatchObject([{ embeddings: choice }]);
    await memory.close();
  }
  expect(embedBatch).not.toHaveBeenCalled();
});

/** A module that is never loaded to its end, and says when that has begun. */
const hangingEntry = 'process.emit("memslot-test-loading"); await new Promise(() => {}); export default {};';

/** A plugin that never opens, and when its opening has begun. */
function hangingTool(): { tool: MemoryPlugin; started: Promise<void> } {
  const { opened: started, open: start } = gate();
  const openTool = (): Promise<never> => {
    start();
    return hang();
  };
  return { tool: defineMemoryPlugin({ id: "tool", open: openTool }), started };
}

describe("opening", () => {
  test.each(["CONFIG", "WORKSPACE", "BUSY"] as const)(
    "that fails with %s is refused as without a fallback backend",
    async (code) => {
      const core = counted("memory-core");
      const error = await failure({ fallback: "builtin", plugins: [dead("tool", code), core.plugin] });
      expect(error).toMatchObject({ code, message: "qmd is not installed" });
      expect(core.contexts).toEqual([]);
    },
  );

  const thrown = (value: unknown) => async (): Promise<never> => {
    throw value;
  };
  test.each<[string, MemoryPlugin["open"], string]>([
    ["a PLUGIN error", fail("PLUGIN", "no such function"), "no such function"],
    ["an error at once", () => thrown(new RangeError("at once"))(), "at once"],
    ["nothing", thrown(undefined), "undefined"],
    ["an AbortError of its own", thrown(new DOMException("gave up", "AbortError")), "gave up"],
    ["nothing, and gives half a manager", async () => ({ search: async () => [] }) as never, "not a manager"],
  ])("that throws %s is covered by the fallback backend, which says why", async (_what, openTool, reason) => {
    const tool = defineMemoryPlugin({ id: "tool", open: openTool });
    const memory = await open({ fallback: "builtin", plugins: [tool, counted("memory-core").plugin] });
    const { paths, report } = await ask(memory);
    expect(paths).toEqual(["memory-core.md"]);
    expect(report).toMatchObject({ state: "degraded", fallback: { from: "tool", to: "memory-core" } });
    expect(report?.fallback?.reason).toContain(reason);
    expect(report?.reason).toContain(reason);
  });

  test.each([
    ["has a syntax error", "export default {", "cannot be loaded"],
    ["exports nothing", "export const other = 1;", "default"],
    ["is never loaded to its end", hangingEntry, "did not answer within 60 s"],
  ])("a plugin that %s is covered by the fallback backend, which says why", async (_what, entry, reason) => {
    if (entry === hangingEntry) stopClock();
    const loading = once(process, "memslot-test-loading");
    home.write(pluginFiles("tool", { entry }, "tool"));
    const opening = open({
      fallback: "builtin",
      plugins: [counted("memory-core").plugin],
      load: join(home.root, "tool"),
    });
    if (entry === hangingEntry) {
      await loading;
      await pass(60_000);
    }
    const { paths, report } = await ask(await opening);
    expect(paths).toEqual(["memory-core.md"]);
    expect(report).toMatchObject({ state: "degraded", fallback: { from: "tool", to: "memory-core" } });
    expect(report.fallback?.reason).toContain(reason);
  });

  test("that fails for both names both, and can be tried again", async () => {
    let works = false;
    const core = counted("memory-core");
    const flaky: MemoryPlugin = {
      ...core.plugin,
      open: async (context) => (works ? core.plugin.open(context) : Promise.reject(new TypeError("disk full"))),
    };
    const slot = { fallback: "builtin", plugins: [dead("tool"), flaky] };
    const error = await failure(slot);
    expect(error.code).toBe("UNAVAILABLE");
    for (const words of ['"tool"', "qmd is not installed", '"memory-core"', "disk full"])
      expect(error.message).toContain(words);
    works = true;
    expect((await ask(await open(slot))).paths).toEqual(["memory-core.md"]);
  });

  test("that hangs counts as unavailable after half of the time", async () => {
    stopClock();
    const { tool, started } = hangingTool();
    const core = counted("memory-core");
    const opening = open({ fallback: "builtin", plugins: [tool, core.plugin] });
    await started;
    await pass(29_999);
    expect(core.contexts).toEqual([]);
    await pass(1);
    expect((await ask(await opening)).report.fallback?.reason).toContain("did not answer within 30 s");
  });

  test("that is aborted opens no fallback backend", async () => {
    const { tool, started } = hangingTool();
    const core = counted("memory-core");
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const opening = rejected(open({ fallback: "builtin", plugins: [tool, core.plugin], options }));
    await started;
    controller.abort();
    expect(await opening).toMatchObject({ name: "AbortError" });
    await settle();
    expect(core.contexts).toEqual([]);
  });

  test("is shared by callers of the same fallback backend, and by none of another", async () => {
    const core = counted("memory-core");
    const plugins = [dead("tool"), core.plugin];
    await Promise.all([open({ fallback: "builtin", plugins }), open({ fallback: "builtin", plugins })]);
    expect(core.contexts).toHaveLength(1);
    await open({ fallback: "keyword", plugins });
    expect(core.contexts).toHaveLength(2);
    const [tool] = plugins;
    const other = counted("memory-core");
    if (tool) await open({ fallback: "builtin", plugins: [tool, other.plugin] });
    expect(other.contexts).toHaveLength(1);
  });
});
