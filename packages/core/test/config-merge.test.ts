import { describe, expect, test } from "vitest";
import { type MemslotConfig, parseConfig } from "@memslot/core";
import { configKeys } from "../src/config/keys/keys.ts";
import { failure, withKey } from "./support/config-home.ts";
/** What a configuration says of an agent, and the sources that this comes to. */
import sources from "./data/sources.json" with { type: "json" };

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
    "memorySearch.store.path": "/state/memory/main.sqlite",
    "memorySearch.clients.folders": {
      "claude-code": ["/home/u/.claude"],
      codex: ["/home/u/.codex"],
      gemini: ["/home/u/.gemini"],
      opencode: ["/home/u/.local/share/opencode"],
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
    const config = parse({
      agents: {
        defaults: { userTimezone: "Asia/Shanghai" },
        list: [{ id: "main" }, { id: "other", userTimezone: "Europe/Lisbon" }],
      },
    });
    expect([config.agent("main").userTimezone, config.agent("other").userTimezone]).toEqual([
      "Asia/Shanghai",
      "Europe/Lisbon",
    ]);
  });

  test("everything else is there as well", () => {
    const { citations, plugins, providers } = parse({});
    expect({ citations, plugins, providers }).toEqual({
      citations: "auto",
      plugins: {
        enabled: true,
        slots: { memory: undefined },
        entries: {},
        load: { paths: [] },
        deny: [],
        resolveFrom: "/base",
      },
      providers: {},
    });
  });
});

describe("an agent's own settings", () => {
  const config = parse({
    agents: {
      defaults: {
        workspace: "notes",
        memorySearch: {
          provider: "openai",
          sources: ["memory", "sessions"],
          extraPaths: ["a", "b"],
          remote: { headers: { "X-One": "1", "X-Two": "2", "x-four": "4" } },
          query: { maxResults: 9, hybrid: { textWeight: 0.5 } },
        },
        compaction: { memoryFlush: { softThresholdTokens: 1 } },
      },
      list: [
        { id: "plain", name: "Plain" },
        {
          id: "work",
          default: true,
          workspace: "work",
          memorySearch: {
            sources: ["memory"],
            extraPaths: [],
            remote: { headers: { "x-two": "two", "X-Three": "3", "X-Four": "four" } },
            query: { minScore: 0.1, hybrid: { vectorWeight: 0.5 } },
          },
          compaction: { reserveTokensFloor: 5 },
        },
      ],
    },
  });

  test("the default agent comes first", () => {
    expect(config.agents.map(({ id }) => id)).toEqual(["work", "plain"]);
    expect(config.agent("work")).toBe(config.agents[0]);
  });

  test("are laid over the defaults field by field, lists as a whole, headers by name", () => {
    const work = config.agent("work");
    expect(work).toMatchObject({
      workspaceDir: "/base/work",
      memorySearch: {
        provider: "openai",
        sources: ["memory", "journal"],
        query: {
          maxResults: 9,
          maxTokens: 1000,
          minScore: 0.1,
          hybrid: { enabled: true, vectorWeight: 0.5, textWeight: 0.5, candidateMultiplier: 4 },
        },
      },
      compaction: { reserveTokensFloor: 5, memoryFlush: { softThresholdTokens: 1 } },
    });
    expect(work.memorySearch.extraPaths).toEqual([]);
    const headers = { "X-One": "1", "x-two": "two", "X-Three": "3", "X-Four": "four" };
    expect(work.memorySearch.remote.headers).toEqual(headers);
  });

  test("leave the other agents and unlisted ones alone", () => {
    for (const id of ["plain", "unlisted"]) {
      const { memorySearch, workspaceDir } = config.agent(id);
      expect(workspaceDir).toBe("/base/notes");
      expect(memorySearch.extraPaths).toEqual(["/base/a", "/base/b"]);
      expect(memorySearch.query.minScore).toBe(0.35);
      expect(memorySearch.store.path).toBe(`/state/memory/${id}.sqlite`);
    }
  });

  test("an empty list of agents means main", () => {
    expect(parse(withKey("agents.list", [])).agents.map(({ id }) => id)).toEqual(["main"]);
  });
});

describe("other spellings", () => {
  test("memory.search stands for agents.defaults.memorySearch, and agents.entries for agents.list", () => {
    const work = {
      default: true,
      name: "Work",
      workspace: "work",
      memory: { search: { query: { maxResults: 4 } } },
      compaction: { reserveTokensFloor: 7 },
    };
    const config = parse({
      memory: { search: { provider: "none", query: { maxResults: 3 } } },
      agents: { entries: { main: {}, work } },
    });
    expect(config.notices).toEqual([]);
    expect(config.agents.map(({ id }) => id)).toEqual(["work", "main"]);
    expect(config.agents).toMatchObject([
      {
        workspaceDir: "/base/work",
        memorySearch: { provider: "none", query: { maxResults: 4 } },
        compaction: { reserveTokensFloor: 7 },
      },
      { memorySearch: { provider: "none", query: { maxResults: 3 } } },
    ]);
  });

  test.each([["target first"], ["other spelling first"]])("the target wins with a notice, %s", (order) => {
    const target = { agents: { defaults: { memorySearch: { query: { maxResults: 3 } } } } };
    const other = { memory: { search: { query: { maxResults: 4, minScore: 0.2 } } } };
    const config = parse(order === "target first" ? { ...target, ...other } : { ...other, ...target });
    expect(config.notices).toEqual([
      "the given configuration: memory.search.query.maxResults is ignored, because agents.defaults.memorySearch.query.maxResults is given too",
    ]);
    expect(config.agent("main").memorySearch.query.maxResults).toBe(3);
    expect(config.agent("main").memorySearch.query.minScore).toBe(0.2);
  });

  test("a listed agent wins over its entry, field by field", () => {
    const config = parse({
      agents: {
        entries: { work: { workspace: "entry", memory: { search: { query: { maxResults: 4, minScore: 0.2 } } } } },
        list: [{ id: "work", workspace: "listed", memorySearch: { query: { maxResults: 3 } } }],
      },
    });
    expect(config.notices).toEqual([
      "the given configuration: agents.entries.work.workspace is ignored, because agents.list[work].workspace is given too",
      "the given configuration: agents.entries.work.memory.search.query.maxResults is ignored, because agents.list[work].memorySearch.query.maxResults is given too",
    ]);
    expect(config.agent("work")).toMatchObject({
      workspaceDir: "/base/listed",
      memorySearch: { query: { maxResults: 3, minScore: 0.2 } },
    });
  });

  test("memory.backend chooses the plugin only where the slot does not", () => {
    const lancedb = { slots: { memory: "memory-lancedb" } };
    for (const [config, slot, notices] of [
      [withKey("memory.backend", "qmd"), "memory-qmd", []],
      [withKey("memory.backend", "builtin"), "memory-core", []],
      [
        { memory: { backend: "qmd" }, plugins: lancedb },
        "memory-lancedb",
        ["the given configuration: memory.backend is ignored, because plugins.slots.memory is given too"],
      ],
    ] as const) {
      const parsed = parse(config);
      expect([parsed.plugins.slots.memory, parsed.notices]).toEqual([slot, notices]);
    }
  });

  test("memory.qmd reaches memory-qmd, with its own entry laid over it", () => {
    const config = parse({
      memory: { qmd: { command: "/opt/qmd", searchMode: "search" } },
      plugins: { entries: { "memory-qmd": { config: { searchMode: "query" } } } },
    });
    expect(config.plugins.entries["memory-qmd"]).toEqual({
      enabled: undefined,
      config: { command: "/opt/qmd", searchMode: "query" },
    });
  });
});

describe("plugins and providers", () => {
  test("are handed on by name, and only those that are given", () => {
    const config = parse({
      plugins: {
        enabled: false,
        slots: { memory: "@someone/memory" },
        entries: { off: { enabled: false }, "@someone/memory": { config: { a: 1 } } },
        deny: ["memory-qmd"],
      },
      models: { providers: { openai: { apiKey: "k", baseUrl: "https://proxy.example/v1" }, gemini: { apiKey: "g" } } },
    });
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

  test.each([
    ["Sessions", '; did you mean "sessions"?'],
    ["memry", '; did you mean "memory"?'],
    ["mail", ""],
  ])("with the unknown name %s are kept, with a notice", (name, hint) => {
    const config = parse(inDefaults({ sources: ["memory", name] }));
    expect(config.agent("main").memorySearch.sources).toEqual(["memory", name, "journal"]);
    const notice = `memorySearch.sources names "${name}", which is none of the sources here (memory, sessions, journal, claude-code, codex, gemini, opencode, cursor), so only a memory plugin that knows it finds something there${hint}`;
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
