import { describe, expect, test } from "vitest";
import type { ManagerSearchOptions, MemorySearchManager, MemorySearchOptions, SearchReport } from "@memslot/core";
import { guarded, report, result, settings } from "./support/fakes.ts";

const wrongSearches: [string, unknown, unknown, string][] = [
  ["a query that is a number", 7, {}, "query must be a string, not 7"],
  ["a query that is missing", undefined, {}, "query must be a string, not undefined"],
  ["a query that is a list", ["a"], {}, "query must be a string, not a list"],
  ["options that are null", "q", null, "options must be an object, not null"],
  ["options that are a list", "q", [], "options must be an object, not an empty list"],
  ["maxResults 0", "q", { maxResults: 0 }, "maxResults must be a whole number from 1 to 200, not 0"],
  ["maxResults 201", "q", { maxResults: 201 }, "maxResults must be a whole number from 1 to 200, not 201"],
  ["maxResults 1.5", "q", { maxResults: 1.5 }, "not 1.5"],
  ["maxResults as text", "q", { maxResults: "5" }, 'maxResults must be a whole number from 1 to 200, not "5"'],
  ["maxResults NaN", "q", { maxResults: Number.NaN }, "not NaN"],
  ["maxTokens 99", "q", { maxTokens: 99 }, "maxTokens must be a whole number from 100 to 4000, not 99"],
  ["maxTokens 4001", "q", { maxTokens: 4001 }, "maxTokens must be a whole number from 100 to 4000, not 4001"],
  ["maxTokens 500.5", "q", { maxTokens: 500.5 }, "not 500.5"],
  ["maxTokens as text", "q", { maxTokens: "500" }, 'maxTokens must be a whole number from 100 to 4000, not "500"'],
  ["minScore -0.1", "q", { minScore: -0.1 }, "minScore must be a number from 0 to 1, not -0.1"],
  ["minScore 1.1", "q", { minScore: 1.1 }, "not 1.1"],
  ["minScore NaN", "q", { minScore: Number.NaN }, "not NaN"],
  ["minScore as text", "q", { minScore: "0.5" }, 'not "0.5"'],
  ["since as a number", "q", { since: 2024 }, "since must be a day or a time, such as 2026-03-05, 2026-03, 2026,"],
  [
    "a blank until",
    "q",
    { until: " " },
    'until must be a day or a time, such as 2026-03-05, 2026-03, 2026, "yesterday"',
  ],
  ["a since without end", "q", { since: "x".repeat(201) }, "since must be a day or a time"],
  ["an order of its own", "q", { order: "best" }, 'order must be one of relevance, newest, oldest, not "best"'],
  ["no sources", "q", { sources: [] }, "sources must be a list of at least one source, not an empty list"],
  ["sources as text", "q", { sources: "memory" }, 'sources must be a list of at least one source, not "memory"'],
  ["a blank source", "q", { sources: ["memory", " "] }, "sources must be a list of non-empty strings"],
  [
    "an unknown source",
    "q",
    { sources: ["wiki"] },
    'the known sources (memory, sessions, journal, claude-code, codex, gemini, opencode, cursor), not "wiki"',
  ],
  ["a signal that is none", "q", { signal: {} }, "signal must be an AbortSignal, not an object"],
  ["an onDebug that is no function", "q", { onDebug: 1 }, "onDebug must be a function, not 1"],
  [
    "a sessionKey that is no string",
    "q",
    { sessionKey: 1 },
    "sessionKey must be the key of a session, as the host names it, not 1",
  ],
  ["a blank sessionKey", "q", { sessionKey: " " }, 'as the host names it, not " "'],
];

describe("search", () => {
  test.each(wrongSearches)(
    "refuses %s, naming the argument and what was given",
    async (_name, query, options, words) => {
      let calls = 0;
      const memory = guarded({
        search: async () => {
          calls += 1;
          return [];
        },
      });
      const search = memory.search(query as string, options as MemorySearchOptions);
      await expect(search).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(words) });
      expect(calls).toBe(0);
    },
  );

  test("keeps the order of a manager that says which it is, and sorts every other answer by score", async () => {
    const found = [result({ path: "b.md", score: 0.2 }), result({ path: "a.md", score: 0.9 })];
    const pathsOf = async (filters: SearchReport["filters"]): Promise<string[]> => {
      const search: MemorySearchManager["search"] = async (_query, { onDebug }) => {
        onDebug(report({ filters }));
        return found;
      };
      return (await guarded({ search }).search("q", { order: "newest" })).map(({ path }) => path);
    };
    expect(await pathsOf({ words: "q", order: "newest" })).toEqual(["b.md", "a.md"]);
    expect(await pathsOf({ words: "q", order: "relevance" })).toEqual(["a.md", "b.md"]);
    expect(await pathsOf(undefined)).toEqual(["a.md", "b.md"]);
  });

  test("says so where the plugin has not filtered by days, or not kept the order", async () => {
    const told = async (options: MemorySearchOptions, filters?: SearchReport["filters"]): Promise<SearchReport> => {
      let given: SearchReport | undefined;
      const search: MemorySearchManager["search"] = async (_query, { onDebug }) => {
        onDebug(report({ filters }));
        return [];
      };
      await guarded({ search }).search("q", { ...options, onDebug: (seen) => (given = seen) });
      if (given === undefined) throw new Error("no report");
      return given;
    };
    expect(await told({ since: "2024", order: "oldest" })).toMatchObject({
      state: "degraded",
      reason: expect.stringMatching(/does not know since and order/u),
    });
    expect((await told({ until: "2024" })).reason).toMatch(/does not know until/u);
    expect((await told({ since: "2024" }, { words: "q", since: "2024-01-01", order: "relevance" })).state).toBe("ok");
    expect((await told({ order: "relevance" })).state).toBe("ok");
  });

  test("accepts the ends of every range", async () => {
    const memory = guarded();
    await expect(memory.search("q", { maxResults: 1, minScore: 0 })).resolves.toEqual([]);
    await expect(memory.search("q", { maxResults: 200, minScore: 1 })).resolves.toEqual([]);
  });

  test("knows the sources of the settings and of the manager besides memory and sessions", async () => {
    const memory = guarded(
      { status: () => ({ backend: "fake", provider: "none", sources: ["wiki"] }) },
      { settings: { ...settings(), sources: ["memory", "mail"] } },
    );
    await expect(memory.search("q", { sources: ["wiki", "mail", "sessions"] })).resolves.toEqual([]);
    await expect(memory.search("q", { sources: ["web"] })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("gives the manager every option, from the settings where the caller gave none", async () => {
    const seen: ManagerSearchOptions[] = [];
    const memory = guarded(
      {
        search: async (_query, options) => {
          seen.push(options);
          return [];
        },
      },
      { settings: { ...settings({ query: { maxResults: 9, minScore: 0.2 } }), sources: ["memory", "mail"] } },
    );
    await memory.search("q");
    await memory.search("q", { maxResults: 3, minScore: 0.2, sources: ["mail", "mail"], sessionKey: "s" });
    expect(seen[0]).toMatchObject({ maxResults: 9, minScore: 0.2, strict: false, sources: ["memory", "mail"] });
    expect(seen[0]).toHaveProperty("sessionKey", undefined);
    expect(seen[1]).toMatchObject({ maxResults: 3, minScore: 0.2, strict: true, sources: ["mail"], sessionKey: "s" });
  });

  test("each result that is asked for by number has its room; who is led by the budget has that", async () => {
    const seen: number[] = [];
    const memory = guarded(
      {
        search: async (_query, { maxTokens }) => {
          seen.push(maxTokens);
          return [];
        },
      },
      { settings: settings({ query: { maxTokens: 900 } }) },
    );
    for (const options of [
      {},
      { maxResults: 3 },
      { maxResults: 6 },
      { maxResults: 10 },
      { maxResults: 200 },
      { maxResults: 10, maxTokens: 500 },
      { maxResults: 10, defaultMaxResults: 12 },
      { defaultMaxResults: 12 },
    ])
      await memory.search("q", options);
    expect(seen).toEqual([900, 900, 900, 1500, 4000, 500, 900, 900]);
  });

  test.each(["", " ", "\n\t", "\u3000"])(
    "answers the blank query %j with nothing and a report, without asking the manager",
    async (query) => {
      let calls = 0;
      const reports: SearchReport[] = [];
      const memory = guarded({
        search: async () => {
          calls += 1;
          return [];
        },
      });
      await expect(memory.search(query, { onDebug: (report) => reports.push(report) })).resolves.toEqual([]);
      expect(calls).toBe(0);
      expect(reports).toMatchObject([{ backend: "fake", reason: "the query is blank" }]);
    },
  );

  test("cuts a query of more than 10 000 characters by code point and says so in the report", async () => {
    const queries: string[] = [];
    const reports: SearchReport[] = [];
    const memory = guarded({
      search: async (query) => {
        queries.push(query);
        return [];
      },
    });
    const onDebug = (report: SearchReport): number => reports.push(report);
    await memory.search("😀".repeat(10_000), { onDebug });
    await memory.search(`a${"😀".repeat(10_000)}`, { onDebug });
    await memory.search("b".repeat(10_001), { onDebug });
    expect(queries.map((query) => [...query].length)).toEqual([10_000, 10_000, 10_000]);
    expect(queries[1]).toBe(`a${"😀".repeat(9_999)}`);
    expect(reports[0]?.reason).not.toContain("cut");
    expect(reports[1]?.reason).toContain("the query was cut to its first 10000 characters");
    expect(reports[2]?.reason).toContain("the query was cut to its first 10000 characters");
  });
});

describe("readFile", () => {
  const wrongReads: [string, unknown, string][] = [
    ["no path", {}, "relPath must be the path of a memory file, not undefined"],
    ["an empty path", { relPath: "" }, 'relPath must be the path of a memory file, not ""'],
    ["a blank path", { relPath: "  " }, "relPath must be"],
    ["a path with NUL", { relPath: "a\0.md" }, "relPath must be a path without NUL characters"],
    ["a path that is a number", { relPath: 5 }, "not 5"],
    ["from 0", { relPath: "a.md", from: 0 }, "from must be a line number, 1 or more, not 0"],
    ["from 1.5", { relPath: "a.md", from: 1.5 }, "not 1.5"],
    ["from as text", { relPath: "a.md", from: "1" }, 'not "1"'],
    ["lines 0", { relPath: "a.md", lines: 0 }, "lines must be a number of lines, 1 or more, not 0"],
    ["lines NaN", { relPath: "a.md", lines: Number.NaN }, "not NaN"],
    ["a blank sessionKey", { relPath: "a.md", sessionKey: "" }, 'as the host names it, not ""'],
    ["params that are text", "a.md", 'params must be an object, not "a.md"'],
    ["no params", undefined, "params must be an object, not undefined"],
  ];

  test.each(wrongReads)("refuses %s, naming the argument and what was given", async (_name, params, words) => {
    const read = guarded().readFile(params as { relPath: string });
    await expect(read).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(words) });
  });

  test("reads 120 lines from line 1 unless told otherwise", async () => {
    const seen: unknown[] = [];
    const memory = guarded({
      readFile: async ({ relPath, from, lines }) => {
        seen.push({ relPath, from, lines });
        return { status: "ok", text: "", path: relPath };
      },
    });
    await memory.readFile({ relPath: "a.md" });
    await memory.readFile({ relPath: "a.md", from: 7, lines: 2 });
    expect(seen).toEqual([
      { relPath: "a.md", from: 1, lines: 120 },
      { relPath: "a.md", from: 7, lines: 2 },
    ]);
  });
});

describe("sync and the probes", () => {
  test.each([
    ["force", { force: "yes" }],
    ["reason", { reason: "" }],
    ["progress", { progress: true }],
    ["signal", { signal: 1 }],
    ["wait", { wait: "no" }],
    ["sessions", { sessions: "s1" }],
    ["sessions", { sessions: [{ sessionKey: "agent:main:main" }] }],
    ["sessions", { sessions: [{ sessionId: " " }] }],
    ["params", 5],
  ])("sync refuses a wrong %s", async (name, params) => {
    await expect(guarded().sync(params as object)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(`${name} must be`),
    });
  });

  test("check refuses a wrong fix, and both kinds of upkeep refuse a signal that is none", async () => {
    const wrong = { signal: "stop", fix: "yes" } as unknown as { signal: AbortSignal; fix: boolean };
    const { signal, fix } = wrong;
    const memory = guarded({ check: async () => ({ ok: true, findings: [] }) });
    await expect(memory.check({ fix })).rejects.toThrow('fix must be true or false, not "yes"');
    await expect(memory.check({ signal })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(memory.compact({ signal })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("the probes refuse a signal that is none", async () => {
    const wrong = { signal: "stop" } as unknown as { signal: AbortSignal };
    await expect(guarded().probeEmbeddingAvailability(wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(guarded().probeVectorAvailability(wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
