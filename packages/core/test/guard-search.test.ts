import { describe, expect, test } from "vitest";
import {
  type CreateMemoryOptions,
  type EmbeddingChoice,
  MemoryError,
  type MemoryProviderStatus,
  type MemorySearchManager,
  type MemorySearchOptions,
  type MemorySearchResult,
  type SearchReport,
  createMemory,
  withConditions,
} from "@memslot/core";
import { fakeManager, guarded, report, result, settings } from "./support/fakes.ts";

/** A search of a manager that gives these results, with what the caller sees of it. */
async function searched(
  results: MemorySearchResult[],
  options: MemorySearchOptions = {},
  own: Partial<MemorySearchManager> = {},
  guardOptions: Partial<CreateMemoryOptions> = {},
): Promise<{ results: MemorySearchResult[]; report: SearchReport }> {
  const reports: SearchReport[] = [];
  const memory = guarded({ search: async () => results, ...own }, guardOptions);
  const answer = await memory.search("q", { ...options, onDebug: (given) => reports.push(given) });
  expect(reports).toHaveLength(1);
  return { results: answer, report: reports[0] as SearchReport };
}

describe("results", () => {
  test("come by score, then by path, then by line", async () => {
    const found = [
      result({ path: "b.md", score: 0.5, startLine: 9, endLine: 9 }),
      result({ path: "b.md", score: 0.5, startLine: 2, endLine: 3 }),
      result({ path: "a.md", score: 0.5 }),
      result({ path: "B.md", score: 0.5 }),
      result({ path: "z.md", score: 0.9 }),
      result({ path: "a.md", score: 0.1, endLine: 9 }),
    ];
    const { results } = await searched(found);
    expect(results.map(({ path, startLine }) => `${path}:${startLine}`)).toEqual([
      "z.md:1",
      "B.md:1",
      "a.md:1",
      "b.md:2",
      "b.md:9",
      "a.md:1",
    ]);
  });

  test("are cut to maxResults, and the report counts what was cut", async () => {
    const found = [0.3, 0.9, 0.5].map((score) => result({ score, path: `${score}.md` }));
    const answer = await searched(found, { maxResults: 2 });
    expect(answer.results.map(({ score }) => score)).toEqual([0.9, 0.5]);
    expect(answer.report.dropped).toEqual({ minScore: 0, source: 0, limit: 1 });
  });

  test.each([
    [100, 1],
    [350, 1],
    [400, 2],
    [1000, 5],
    [4000, 9],
  ])("are left out where a budget of %i tokens has no room, and the report counts them", async (maxTokens, count) => {
    // 8 for the place, 172 for the text, 4 for the heading: 184 each.
    const found = Array.from({ length: 9 }, (_, index) =>
      result({
        score: 1 - index / 10,
        path: `${index}.md`,
        snippet: "go to ".repeat(100),
        heading: "heading ".repeat(2).padEnd(20),
      }),
    );
    const answer = await searched(found, { maxResults: 9, maxTokens });
    expect(answer.results.map(({ path }) => path)).toEqual(found.slice(0, count).map(({ path }) => path));
    expect(answer.results.every(({ snippet }) => snippet === found[0]?.snippet)).toBe(true);
    expect(answer.report.dropped.tokens).toBe(count === 9 ? undefined : 9 - count);
  });

  test.each([
    ["no list", "3-4"],
    ["an empty list", []],
    ["one number", [3]],
    ["lines before the first", [[2, 3]]],
    ["lines behind the last", [[3, 10]]],
    ["an end before its beginning", [[5, 4]]],
    [
      "ranges out of their order",
      [
        [6, 7],
        [3, 4],
      ],
    ],
    [
      "ranges that overlap",
      [
        [3, 5],
        [5, 6],
      ],
    ],
    ["halves of lines", [[3, 4.5]]],
  ])("with lines that are %s are refused by name", async (_what, lines) => {
    const wrong = Object.assign(result({ startLine: 3, endLine: 9 }), { lines }) as MemorySearchResult;
    await expect(searched([wrong])).rejects.toThrow(/result 1: "lines" must be pairs of lines/);
    const right = {
      ...result({ startLine: 3, endLine: 9 }),
      lines: [
        [3, 3],
        [5, 9],
      ],
    } as const;
    expect((await searched([right])).results[0]?.lines).toEqual([
      [3, 3],
      [5, 9],
    ]);
  });

  test("of other sources than those asked for are dropped and counted", async () => {
    const answer = await searched([result({ source: "sessions" }), result()], { sources: ["memory"] });
    expect(answer.results.map(({ source }) => source)).toEqual(["memory"]);
    expect(answer.report.dropped.source).toBe(1);
  });

  test("that only the vector leg found are dropped under minScore and counted", async () => {
    const found = [
      result({ path: "words.md", score: 0.1, textScore: 0.3, vectorScore: 0.1 }),
      result({ path: "meaning.md", score: 0.2, textScore: undefined, vectorScore: 0.2 }),
      result({ path: "zero.md", score: 0.2, textScore: 0, vectorScore: 0.2 }),
      result({ path: "near.md", score: 0.35, textScore: undefined, vectorScore: 0.35 }),
    ];
    const answer = await searched(found);
    expect(answer.results.map(({ path }) => path)).toEqual(["near.md", "words.md"]);
    expect(answer.report.dropped.minScore).toBe(2);
  });

  test("of a manager without a vector leg are kept when it gives a score alone", async () => {
    const capabilities = { keyword: true, vector: false, ownsIndex: true };
    const answer = await searched([result({ score: 0.1, textScore: undefined })], {}, { capabilities });
    expect(answer.results).toHaveLength(1);
  });

  test("keep a score that is a little over 1 as it is", async () => {
    const { results } = await searched([result({ score: 1.000_000_1 })]);
    expect(results[0]?.score).toBe(1.000_000_1);
  });

  const malformed: [string, unknown, string][] = [
    ["a score that is NaN", result({ score: Number.NaN }), '"score" must be a number from 0 to 1, not NaN'],
    ["an infinite score", result({ score: Number.POSITIVE_INFINITY }), '"score" must be'],
    ["a score of 1.5", result({ score: 1.5 }), '"score" must be'],
    ["a score below 0", result({ score: -0.5 }), '"score" must be'],
    ["a score that is text", { ...result(), score: "1" }, '"score" must be'],
    ["a startLine of 0", result({ startLine: 0 }), '"startLine" must be'],
    ["a startLine that is no whole number", result({ startLine: 1.5 }), '"startLine" must be'],
    ["an endLine before startLine", result({ startLine: 4, endLine: 3 }), '"endLine" must be'],
    ["no path", result({ path: "" }), '"path" must be'],
    ["no snippet", { ...result(), snippet: undefined }, '"snippet" must be'],
    ["no source", result({ source: "" }), '"source" must be'],
    ["a textScore of NaN", result({ textScore: Number.NaN }), '"textScore" must be'],
    ["a vectorScore of 2", result({ vectorScore: 2 }), '"vectorScore" must be'],
    ["a citation that is no text", { ...result(), citation: 1 }, '"citation" must be'],
    ["null", null, '"result" must be an object'],
  ];

  test.each(malformed)(
    "with %s are refused with the name of the plugin and the field",
    async (_name, broken, words) => {
      const memory = guarded({ search: async () => [result(), broken as MemorySearchResult] });
      const error = await memory.search("q").catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
      expect(String(error)).toContain('memory plugin "fake"');
      expect(String(error)).toContain("result 2");
    },
  );

  test("that are no list are refused", async () => {
    const memory = guarded({ search: async () => undefined as unknown as MemorySearchResult[] });
    await expect(memory.search("q")).rejects.toMatchObject({ code: "PLUGIN" });
  });
});

/** A search that finds one thing and reports this. */
function answerWith(given: SearchReport): MemorySearchManager["search"] {
  return async (_query, { onDebug }) => {
    onDebug(given);
    return [result()];
  };
}

describe("the search report", () => {
  test("is what the manager said, once, with what the guard dropped added", async () => {
    const given = report({
      mode: "keyword",
      confidence: 0.4,
      legs: { keyword: { candidates: 7, kept: 2 } },
      dropped: { minScore: 1, source: 2, limit: 3 },
    });
    const answer = await searched(
      [],
      { maxResults: 1 },
      {
        search: async (_query, { onDebug }) => {
          onDebug(report({ state: "stale" }));
          onDebug(given);
          return [result(), result({ endLine: 3 })];
        },
      },
    );
    expect(answer.report).toEqual({
      ...given,
      reason: undefined,
      legs: { keyword: { candidates: 7, kept: 1 }, vector: undefined },
      dropped: { minScore: 1, source: 2, limit: 4 },
      conditions: [],
      fallback: undefined,
    });
  });

  const gone = { state: "degraded", reason: "keywords answered alone: the provider is down" } as const;
  const behind = { state: "stale", reason: "4000 files have changed and are being indexed", count: 4000 } as const;

  test.each([
    ["in either order", [behind, gone]],
    ["each once", [gone, behind, gone]],
  ])("says all that is the case: the worst as its state, and every reason, %s", async (_, conditions) => {
    const given = conditions.reduce((before, one) => withConditions(before, [one]), report({}));
    const { report: told } = await searched([result()], {}, { search: answerWith(given) });
    expect(told).toMatchObject({ state: "degraded", reason: `${gone.reason}; ${behind.reason}` });
    expect(told.conditions).toHaveLength(2);
    expect(told.conditions).toEqual(expect.arrayContaining([gone, behind]));
  });

  test("of a manager that knows nothing of conditions has its state and reason as the one", async () => {
    const given = report({ state: "stale", reason: behind.reason });
    const { report: told } = await searched([result()], {}, { search: answerWith(given) });
    expect(told).toMatchObject({ state: "stale", reason: behind.reason });
    expect(told.conditions).toEqual([{ state: "stale", reason: behind.reason }]);
  });

  test("names a missing provider beside what the manager has said", async () => {
    const embeddings = { provider: undefined, requested: "openai", reason: "no key for openai", degraded: true };
    for (const state of ["stale", "degraded"] as const) {
      const memory = guarded(
        { search: answerWith(report({ state, reason: "a note cannot be read" })) },
        { embeddings },
      );
      let told: SearchReport | undefined;
      await memory.search("q", { onDebug: (given) => (told = given) });
      expect(told).toMatchObject({ state: "degraded" });
      expect(told?.conditions).toEqual(
        expect.arrayContaining([
          { state, reason: "a note cannot be read" },
          { state: "degraded", reason: "no key for openai" },
        ]),
      );
      expect(told?.reason).toContain("a note cannot be read");
      expect(told?.reason).toContain("no key for openai");
    }
  });

  test("tells a failed sync and a fallback of a manager without a report of its own", async () => {
    const status = (): MemoryProviderStatus => ({
      backend: "fake",
      provider: "none",
      lastSyncError: "disk full",
      fallback: { from: "openai", reason: "quota" },
    });
    const { report: told } = await searched([], {}, { search: async () => [], status });
    expect(told).toMatchObject({ state: "degraded", fallback: { from: "openai" } });
    expect(told.reason).toBe("quota; the last sync failed: disk full");
  });

  test("is made when the manager forgets it", async () => {
    const answer = await searched([
      result({ vectorScore: 0.5 }),
      result({ endLine: 3, textScore: undefined, vectorScore: 0.6 }),
    ]);
    expect(answer.report).toMatchObject({
      backend: "fake",
      state: "ok",
      legs: { keyword: { candidates: 1, kept: 1 }, vector: { candidates: 2, kept: 2 } },
    });
  });

  test("is made when the manager gives something that is none", async () => {
    const answer = await searched(
      [],
      {},
      {
        search: async (_query, { onDebug }) => {
          onDebug({ hits: 3 } as unknown as SearchReport);
          return [];
        },
      },
    );
    expect(answer.report).toMatchObject({ backend: "fake", state: "ok" });
  });

  test.each([
    ["keyword without a provider", {}, { provider: "none" }, "keyword"],
    ["hybrid with a provider", {}, { provider: "openai" }, "hybrid"],
    ["keyword where the manager has no vector leg", { vector: false }, { provider: "openai" }, "keyword"],
    ["vector where the manager has no keyword leg", { keyword: false }, { provider: "openai" }, "vector"],
    ["what the status says", {}, { provider: "openai", custom: { searchMode: "keyword" as const } }, "keyword"],
  ])("that the guard makes has the mode %s", async (_name, capabilities, status, mode) => {
    const own = {
      capabilities: { keyword: true, vector: true, ownsIndex: true, ...capabilities },
      status: () => ({ backend: "fake", ...status }),
    };
    const answer = await searched([], {}, own);
    expect(answer.report.mode).toBe(mode);
  });

  test("that the guard makes tells of no leg that gave nothing", async () => {
    const answer = await searched([result({ vectorScore: undefined })]);
    expect(answer.report.legs).toEqual({ keyword: { candidates: 1, kept: 1 }, vector: undefined });
  });

  test.each([
    [
      "degraded when a spare answers",
      { fallback: { from: "a", to: "b", reason: "a is away" } },
      "degraded",
      "a is away",
    ],
    ["stale when files have changed", { dirty: true }, "stale", "files have changed"],
    ["stale when the last sync failed", { lastSyncError: "disk full" }, "stale", "disk full"],
  ])("that the guard makes is %s", async (_name, status, state, words) => {
    const answer = await searched([result()], {}, { status: () => ({ backend: "fake", provider: "none", ...status }) });
    expect(answer.report.state).toBe(state);
    expect(answer.report.reason).toContain(words);
  });

  test("is degraded whenever the configured embedding provider could not be used", async () => {
    const embeddings: EmbeddingChoice = {
      provider: undefined,
      requested: "openai",
      reason: "no key for openai",
      degraded: true,
    };
    const search: MemorySearchManager["search"] = async (_query, { onDebug }) => {
      onDebug(report());
      return [result()];
    };
    const answer = await searched([], {}, { search }, { embeddings });
    expect(answer.report).toMatchObject({ state: "degraded", reason: "no key for openai" });
  });

  test.each([
    ["nothing matched", [], {}, "nothing in memory matches the query"],
    [
      "all were under minScore",
      [result({ score: 0.1, textScore: undefined })],
      {},
      "1 found, all with a score under 0.35",
    ],
    [
      "all were of another source",
      [result({ source: "sessions" })],
      { sources: ["memory"] },
      "1 found, none in memory",
    ],
  ])("says why there is no result: %s", async (_name, found, options, words) => {
    const answer = await searched(found, options);
    expect(answer.results).toEqual([]);
    expect(answer.report.reason).toContain(words);
  });

  test("says when a source was asked for that is not indexed", async () => {
    const answer = await searched([], { sources: ["memory", "sessions"] });
    expect(answer.report.reason).toContain('"sessions" is not among memorySearch.sources');
    expect(answer.report.reason).not.toContain('"memory"');
    const own = await searched(
      [],
      { sources: ["sessions"] },
      { status: () => ({ backend: "fake", provider: "none", sources: ["sessions"] }) },
    );
    expect(own.report.reason).not.toContain("not among");
  });

  test("of a search that fails says unavailable with the reason, and the error is thrown", async () => {
    const reports: SearchReport[] = [];
    const memory = guarded({
      search: async () => Promise.reject(new MemoryError("UNAVAILABLE", "the store is locked")),
    });
    await expect(memory.search("q", { onDebug: (given) => reports.push(given) })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    expect(reports).toMatchObject([{ state: "unavailable", reason: "the store is locked" }]);
  });

  test("is given once also when the caller's function throws, and its error reaches the caller", async () => {
    let calls = 0;
    const memory = guarded();
    const onDebug = (): void => {
      calls += 1;
      throw new Error("my own mistake");
    };
    await expect(memory.search("q", { onDebug })).rejects.toThrow("my own mistake");
    expect(calls).toBe(1);
  });
});

describe("errors of a manager", () => {
  test("keep their code when they have one", async () => {
    const memory = guarded({ readFile: async () => Promise.reject(new MemoryError("PATH_NOT_ALLOWED", "outside")) });
    await expect(memory.readFile({ relPath: "../x" })).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
      message: "outside",
    });
  });

  test("become PLUGIN errors with the name of the plugin and the cause when they have none", async () => {
    const cause = new TypeError("x is undefined");
    const fail = async (): Promise<never> => Promise.reject(cause);
    const memory = guarded({
      search: fail,
      readFile: fail,
      sync: fail,
      probeEmbeddingAvailability: fail,
      probeVectorAvailability: fail,
    });
    const calls = [
      memory.search("q"),
      memory.readFile({ relPath: "a.md" }),
      memory.sync(),
      memory.probeEmbeddingAvailability(),
      memory.probeVectorAvailability(),
    ];
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({
        code: "PLUGIN",
        cause,
        message: expect.stringContaining('memory plugin "fake" failed in'),
      });
    }
  });

  test("become PLUGIN errors also when they are thrown at once", async () => {
    const memory = guarded({
      search: () => {
        throw new TypeError("at once");
      },
      sync: () => {
        throw new TypeError("at once");
      },
    });
    await expect(memory.search("q")).rejects.toMatchObject({ code: "PLUGIN" });
    await expect(memory.sync()).rejects.toMatchObject({ code: "PLUGIN" });
    await expect(memory.sync()).rejects.toMatchObject({ code: "PLUGIN" });
  });

  test("that say AbortError of themselves are no abort of the caller", async () => {
    const memory = guarded({ search: async () => Promise.reject(new DOMException("gave up", "AbortError")) });
    await expect(memory.search("q")).rejects.toMatchObject({ code: "PLUGIN" });
  });
});

describe("readFile, sync and status", () => {
  test.each([
    ["status", { status: "fine", text: "", path: "a.md" }],
    ["text", { status: "ok", path: "a.md" }],
    ["path", { status: "ok", text: "", path: "" }],
    ["from", { status: "ok", text: "", path: "a.md", from: 0 }],
    ["lines", { status: "ok", text: "", path: "a.md", lines: -1 }],
    ["nextFrom", { status: "ok", text: "", path: "a.md", nextFrom: 0.5 }],
  ])("a read with a malformed %s is refused by name", async (field, given) => {
    const memory = guarded({ readFile: async () => given as never });
    await expect(memory.readFile({ relPath: "a.md" })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining(`"${field}"`),
    });
  });

  test("a read that is well formed is passed on as it is", async () => {
    const given = { status: "ok", text: "a", path: "a.md", truncated: true, from: 3, lines: 0, nextFrom: 3 } as const;
    await expect(guarded({ readFile: async () => given }).readFile({ relPath: "a.md" })).resolves.toEqual(given);
  });

  test("a sync report with a malformed field is refused by name", async () => {
    const memory = guarded({ sync: async () => ({ added: -1, changed: 0, removed: 0, unchanged: 0, failed: [] }) });
    await expect(memory.sync()).rejects.toMatchObject({ code: "PLUGIN", message: expect.stringContaining('"added"') });
  });

  test("a manager without an index syncs to nothing", async () => {
    await expect(guarded({ sync: undefined as never }).sync()).resolves.toBeUndefined();
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no database");
      },
      "no database",
    ],
    ["gives nothing", () => undefined, "the plugin gave no status"],
  ])("status never throws: a manager that %s gets a minimal one", (_name, status, words) => {
    const given = guarded({ status: status as never }).status();
    expect(given).toMatchObject({
      backend: "fake",
      workspaceDir: "/notes",
      lastSyncError: expect.stringContaining(words),
      custom: { error: words },
    });
  });

  test("status names the plugin, the workspace and what is set where the manager leaves them out", () => {
    const given = guarded({ status: () => ({ files: 1 }) as never }).status();
    expect(given).toEqual({
      files: 1,
      backend: "fake",
      provider: "unknown",
      requestedProvider: "auto",
      workspaceDir: "/notes",
      sources: ["memory", "journal"],
    });
  });

  test("status is the manager's own", () => {
    const status = {
      backend: "fake",
      provider: "none",
      requestedProvider: "local",
      files: 3,
      workspaceDir: "/other",
      sources: ["mail"],
      fallback: { from: "a", reason: "b" },
    };
    expect(guarded({ status: () => status }).status()).toEqual(status);
  });
});

describe("a thing that is no manager", () => {
  test.each(["search", "readFile", "status", "probeEmbeddingAvailability", "probeVectorAvailability", "capabilities"])(
    "is refused without %s, by name",
    (field) => {
      const broken = { ...fakeManager(), [field]: undefined };
      expect(() => guarded(broken)).toThrow(
        expect.objectContaining({ code: "PLUGIN", message: expect.stringContaining(`"${field}"`) }),
      );
    },
  );

  test.each([null, undefined, "manager", () => {}])("is refused when it is %s", (manager) => {
    const options = { agentId: "main", workspaceDir: "/notes", backend: "fake", settings: settings() };
    expect(() => createMemory(manager as never, options)).toThrow('"it" must be an object');
  });

  test.each(["sync", "close"])("is refused when its %s is no function", (field) => {
    expect(() => guarded({ [field]: 5 })).toThrow(`"${field}" must be a function, not 5`);
  });

  test("is refused when a capability is no boolean", () => {
    expect(() => guarded({ capabilities: { keyword: true, vector: true } as never })).toThrow(
      '"capabilities.ownsIndex" must be true or false, not undefined',
    );
  });
});
