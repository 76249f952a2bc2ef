import { describe, expect, test } from "vitest";
import { clientSources, type MemslotConfig, parseConfig } from "@memslot/core";
import { configKeys } from "../src/config/keys.ts";
import { failure, withKey } from "./support/config-home.ts";
/** What a configuration says of an agent, and the sources that this comes to. */
import sources from "./data/sources.json" with { type: "json" };
/** Configurations in several spellings, and what they come to. */
import settings from "./data/settings.json" with { type: "json" };

function parse(config: unknown): MemslotConfig {
  return parseConfig(config, { baseDir: "/base", stateDir: "/state", env: { HOME: "/home/u" } });
}

const inDefaults = (memorySearch: object): unknown => withKey("agents.defaults.memorySearch", memorySearch);
const inAgent = (memorySearch: object, defaults: object = {}): unknown => ({
  agents: { defaults: { memorySearch: defaults }, list: [{ id: "work", memorySearch }] },
});

describe("defaults", () => {
  const group = "agents.defaults.";
  const keys = configKeys.filter(({ key, same }) => same === undefined && key.startsWith(group));
  /** Defaults that depend on the computer and other keys. */
  const computed: Record<string, unknown> = {
    "memorySearch.sources": ["memory", "journal"],
    "memorySearch.workspaceId": "own",
    "memorySearch.store.path": "/state/memory/main.sqlite",
    "memorySearch.clients.folders": {
      "claude-code": ["/home/u/.claude"],
      codex: ["/home/u/.codex"],
      gemini: ["/home/u/.gemini"],
      opencode: ["/home/u/.local/share/opencode"],
      copilot: ["/home/u/.copilot"],
      qwen: ["/home/u/.qwen"],
      cursor: [
        "/home/u/.cursor",
        `/home/u/${process.platform === "darwin" ? "Library/Application Support" : ".config"}/Cursor/User`,
      ],
    },
  };

  /** The values below the groups of keys, by their keys. */
  function leaves(value: object, path = ""): [string, unknown][] {
    return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
      const key = path === "" ? name : `${path}.${name}`;
      return keys.some((known) => known.key.startsWith(`${group}${key}.`))
        ? leaves(inner as object, key)
        : [[key, inner]];
    });
  }

  test("of an agent are those of the table of keys, each of which is a setting", () => {
    const { memorySearch, compaction } = parse({}).agent("main");
    const wanted = keys
      .map(({ key, default: value }): [string, unknown] => [key.slice(group.length), value])
      .filter(([key]) => key.includes("."));
    const found = Object.fromEntries(leaves({ memorySearch, compaction }));
    expect(found).toEqual({ ...Object.fromEntries(wanted), ...computed });
    // `toEqual` takes a missing key for undefined.
    const names = [...wanted.map(([key]) => key), "memorySearch.clients.folders"];
    expect(Object.keys(found).toSorted()).toEqual(names.toSorted());
  });

  test("the time zone is the machine's unless one is configured, for all or for one agent", () => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    expect(parse({}).agent("main").userTimezone).toBe(timeZone);
    const config = parse(settings.timeZones);
    expect([config.agent("main").userTimezone, config.agent("other").userTimezone]).toEqual([
      "Asia/Shanghai",
      "Europe/Lisbon",
    ]);
  });

  test("everything else is there as well", () => {
    const plugins = { enabled: true, slots: {}, entries: {}, load: { paths: [] }, deny: [], resolveFrom: "/base" };
    expect(parse({})).toMatchObject({ citations: "auto", plugins, providers: {} });
  });
});

const { merged } = settings;
const own = merged[0]?.[1];

test.each(merged as [string, unknown, object][])("%s", (_name, given, wanted) => {
  expect(parse(given)).toMatchObject(wanted);
});

test("the headers of an agent are laid over the defaults by name; other agents and unlisted ones are left alone", () => {
  const config = parse(own);
  expect(config.agent("work")).toBe(config.agents[0]);
  const headers = { "X-One": "1", "x-two": "two", "X-Three": "3", "X-Four": "four" };
  expect(config.agent("work").memorySearch.remote.headers).toEqual(headers);
  const { workspaceDir, memorySearch } = config.agent("unlisted");
  const { extraPaths, query, store } = memorySearch;
  expect([workspaceDir, extraPaths, query.minScore]).toEqual(["/base/notes", ["/base/a", "/base/b"], 0.35]);
  expect(store.path).toBe("/state/memory/unlisted.sqlite");
});

describe("plugins and providers", () => {
  test("memory.qmd reaches memory-qmd, with its own entry laid over it", () => {
    const { config } = parse(settings.qmdConfig).plugins.entries["memory-qmd"] ?? {};
    expect(config).toEqual({ command: "/opt/qmd", searchMode: "query" });
  });
  test("are handed on by name, and only those that are given", () => {
    const config = parse(settings.pluginsConfig);
    expect(config.plugins.enabled).toBe(false);
    expect(config.plugins.slots.memory).toBe("@someone/memory");
    expect(config.plugins.deny).toEqual(["memory-qmd"]);
    expect(config.plugins.entries).toEqual({
      off: { enabled: false, config: {} },
      "@someone/memory": { enabled: undefined, config: { a: 1 } },
    });
    expect(config.providers).toEqual({
      openai: { apiKey: "k", baseUrl: "https://proxy.example/v1" },
      gemini: { apiKey: "g", baseUrl: undefined },
    });
    expect(config.providers["constructor"]).toBeUndefined();
    expect(config.plugins.entries["toString"]).toBeUndefined();
  });
});

describe("freezing", () => {
  test("the configuration is frozen all the way down, and what was given is left alone", () => {
    const given = withKey("plugins.entries.mine.config", { deep: [{ a: 1 }] });
    const config = parse(given);
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      for (const inner of Object.values(value)) visit(inner);
    };
    visit(config);
    visit(config.agent("unlisted"));
    const { config: options } = (given["plugins"] as { entries: { mine: { config: object } } }).entries.mine;
    expect([Object.isFrozen(given), Object.isFrozen(options)]).toEqual([false, false]);
    expect(() => Object.assign(config.agent("main").memorySearch.query, { maxResults: 1 })).toThrow(TypeError);
  });
});

describe("the sources of an agent", () => {
  const onlySwitch = { experimental: { sessionMemory: true } };
  test.each(sources as [string, unknown, string, string[]][])(
    "are, without a notice: %s",
    (_name, content, id, sources) => {
      const config = parse(content);
      expect([config.agent(id).memorySearch.sources, config.notices]).toEqual([sources, []]);
    },
  );

  test.each([
    ["agents.defaults.memorySearch", inDefaults(onlySwitch)],
    ["agents.list[work].memorySearch", inAgent(onlySwitch)],
  ])("are no transcripts where the other switch alone asks for them, and a notice says so: %s", (written, content) => {
    const config = parse(content);
    expect(config.agents[0]?.memorySearch.sources).toEqual(["memory", "journal"]);
    expect(config.notices).toEqual([
      `the given configuration: ${written}.experimental.sessionMemory has no effect by itself; to index transcripts, name "sessions" in memorySearch.sources`,
    ]);
  });

  test.each(settings.unknownSources)("with the unknown name %s are kept, with a notice", (name, hint) => {
    const config = parse(inDefaults({ sources: ["memory", name] }));
    expect(config.agent("main").memorySearch.sources).toEqual(["memory", name, "journal"]);
    const notice = `memorySearch.sources names "${name}", which is none of the sources here (memory, sessions, journal, ${clientSources.join(", ")}), so only a memory plugin that knows it finds something there${hint}`;
    expect(config.notices).toEqual([`the given configuration: agents.defaults.${notice}`]);
    expect(parse(inAgent({ sources: [name] })).notices).toEqual([
      `the given configuration: agents.list[work].${notice}`,
    ]);
  });

  test("of one agent must not be empty either", async () => {
    const message = await failure("CONFIG", () => parse(inAgent({ sources: [] })));
    expect(message).toMatch("agents.list[work].memorySearch.sources must name a source");
  });
});
