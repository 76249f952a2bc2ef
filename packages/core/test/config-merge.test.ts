import { describe, expect, test } from "vitest";
import { type MemslotConfig, parseConfig } from "@memslot/core";
import { withKey } from "./support/config-home.ts";

function parse(config: unknown): MemslotConfig {
  return parseConfig(config, { baseDir: "/base", stateDir: "/state", env: { HOME: "/home/u" } });
}

/** Every field of the settings with its default, written out: what is missing in the table of keys shows here. */
const defaultSettings = {
  enabled: true,
  provider: "auto",
  model: undefined,
  fallback: "none",
  inputType: undefined,
  queryInputType: undefined,
  documentInputType: undefined,
  outputDimensionality: undefined,
  sources: ["memory", "journal"],
  extraPaths: [],
  notes: "auto",
  experimental: { sessionMemory: false },
  clients: {
    scope: "project",
    keep: false,
    folders: {
      "claude-code": ["/home/u/.claude"],
      codex: ["/home/u/.codex"],
      gemini: ["/home/u/.gemini"],
      opencode: ["/home/u/.local/share/opencode"],
      cursor: [
        "/home/u/.cursor",
        { linux: "/home/u/.config", darwin: "/home/u/Library/Application Support" }[process.platform as "linux"] +
          "/Cursor/User",
      ],
    },
  },
  remote: {
    baseUrl: undefined,
    apiKey: undefined,
    headers: {},
    nonBatchConcurrency: 4,
    batch: { enabled: false, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMinutes: 60 },
  },
  local: { modelPath: undefined, modelCacheDir: undefined },
  store: {
    path: "/state/memory/main.sqlite",
    vector: { enabled: true, engine: "auto", extensionPath: undefined, memoryMB: 1024 },
  },
  chunking: { tokens: 400, overlap: 80 },
  sync: {
    onSessionStart: true,
    onSearch: true,
    watch: true,
    watchDebounceMs: 1500,
    watchMaxFiles: 30_000,
    embeddingBatchTimeoutSeconds: undefined,
    intervalMinutes: 0,
    sessions: { deltaBytes: 100_000, deltaMessages: 50, postCompactionForce: true },
  },
  query: {
    maxResults: undefined,
    maxTokens: 1000,
    minScore: 0.35,
    hybrid: { enabled: true, vectorWeight: 0.7, textWeight: 0.3, candidateMultiplier: 4 },
    rerank: {
      provider: "none",
      model: undefined,
      baseUrl: undefined,
      apiKey: undefined,
      modelPath: undefined,
      candidates: 30,
      timeoutMs: 1500,
    },
  },
  budget: { tokensPerDay: undefined },
  cache: { enabled: true, maxEntries: 50_000 },
} satisfies MemslotConfig["agents"][number]["memorySearch"];

describe("defaults", () => {
  test("every setting of an agent is there", () => {
    const { memorySearch, compaction } = parse({}).agent("main");
    expect({
      ...memorySearch,
      remote: { ...memorySearch.remote, headers: { ...memorySearch.remote.headers } },
    }).toStrictEqual(defaultSettings);
    expect(compaction).toStrictEqual({
      reserveTokensFloor: 20_000,
      memoryFlush: {
        enabled: true,
        softThresholdTokens: 4000,
        forceFlushTranscriptBytes: 2_097_152,
        journalDays: 30,
        prompt: undefined,
        systemPrompt: undefined,
      },
    });
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

  test.each(["Mars/Olympus", 5])("a time zone that nobody knows is an error: %j", (userTimezone) => {
    expect(() => parse({ agents: { defaults: { userTimezone } } })).toThrow(
      /agents\.defaults\.userTimezone must be the name of a time zone, such as Europe\/Amsterdam or UTC/,
    );
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
    const { memorySearch, compaction, workspaceDir } = config.agent("work");
    expect(workspaceDir).toBe("/base/work");
    expect(memorySearch.provider).toBe("openai");
    expect(memorySearch.sources).toEqual(["memory", "journal"]);
    expect(memorySearch.extraPaths).toEqual([]);
    expect(memorySearch.remote.headers).toEqual({ "X-One": "1", "x-two": "two", "X-Three": "3", "X-Four": "four" });
    expect(memorySearch.query).toMatchObject({
      maxResults: 9,
      maxTokens: 1000,
      minScore: 0.1,
      hybrid: { enabled: true, vectorWeight: 0.5, textWeight: 0.5, candidateMultiplier: 4 },
    });
    expect(compaction.reserveTokensFloor).toBe(5);
    expect(compaction.memoryFlush.softThresholdTokens).toBe(1);
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
  test("memory.search stands for agents.defaults.memorySearch", () => {
    const config = parse(withKey("memory.search", { provider: "none", query: { maxResults: 3 } }));
    expect(config.notices).toEqual([]);
    expect(config.agent("main").memorySearch.provider).toBe("none");
    expect(config.agent("main").memorySearch.query.maxResults).toBe(3);
  });

  test("agents.entries stands for agents.list", () => {
    const config = parse({
      agents: {
        entries: {
          main: {},
          work: {
            default: true,
            name: "Work",
            workspace: "work",
            memory: { search: { query: { maxResults: 3 } } },
            compaction: { reserveTokensFloor: 7 },
          },
        },
      },
    });
    expect(config.notices).toEqual([]);
    expect(config.agents.map(({ id }) => id)).toEqual(["work", "main"]);
    const work = config.agent("work");
    expect([work.workspaceDir, work.memorySearch.query.maxResults]).toEqual(["/base/work", 3]);
    expect(work.compaction.reserveTokensFloor).toBe(7);
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
    const work = config.agent("work");
    expect([work.workspaceDir, work.memorySearch.query.maxResults, work.memorySearch.query.minScore]).toEqual([
      "/base/listed",
      3,
      0.2,
    ]);
  });

  test("memory.backend chooses the plugin only where the slot does not", () => {
    const slotOf = (config: unknown): string | undefined => parse(config).plugins.slots.memory;
    expect(slotOf(withKey("memory.backend", "qmd"))).toBe("memory-qmd");
    expect(slotOf(withKey("memory.backend", "builtin"))).toBe("memory-core");
    const both = { memory: { backend: "qmd" }, plugins: { slots: { memory: "memory-lancedb" } } };
    expect(slotOf(both)).toBe("memory-lancedb");
    expect(parse(both).notices).toEqual([
      "the given configuration: memory.backend is ignored, because plugins.slots.memory is given too",
    ]);
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
    expect(Object.isFrozen(given)).toBe(false);
    expect(Object.isFrozen((given["plugins"] as { entries: { mine: { config: object } } }).entries.mine.config)).toBe(
      false,
    );
    expect(() => Object.assign(config.agent("main").memorySearch.query, { maxResults: 1 })).toThrow(TypeError);
  });
});
