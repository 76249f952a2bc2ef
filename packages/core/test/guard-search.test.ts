import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import {
  healthOf,
  type HealthState,
  type MemoryProviderStatus,
  type MemorySearchManager,
  type MemorySearchOptions,
  type MemorySearchResult,
  type SearchReport,
  withFallback,
} from "@memslot/core";
import { withConditions } from "@memslot/core/host";
import { tempFolder } from "@memslot/test-tools/files";
import {
  type Answer,
  ask,
  fakeManager,
  guarded,
  rejected,
  report,
  result,
  searchOf,
  settings,
} from "./support/fakes.ts";
/** Paths of results: inside the notes, with the way that they are given, and outside of them. */
import places from "./data/places.json" with { type: "json" };
import data from "./data/results.json" with { type: "json" };
import verdicts from "./data/health.json" with { type: "json" };

/** What the guard answers with when the manager finds this. */
const answer = (found: MemorySearchResult[], options?: MemorySearchOptions): Promise<Answer> =>
  ask(guarded(searchOf(found)), options);

/** Results with these fields; a textScore of null is none. */
const resultsOf = (found: object[]): MemorySearchResult[] =>
  found.map(
    (own) =>
      ({ ...result(own), ...("textScore" in own && { textScore: own.textScore ?? undefined }) }) as MemorySearchResult,
  );

describe("results", () => {
  test("come by score, then by path, then by line, unless the manager reports an order of its own", async () => {
    const found = [
      result({ path: "b.md", startLine: 9, endLine: 9 }),
      result({ path: "b.md", startLine: 2, endLine: 3 }),
      result({ path: "a.md" }),
      result({ path: "B.md" }),
      result({ path: "z.md", score: 0.9 }),
      result({ path: "a.md", score: 0.1, endLine: 9 }),
    ];
    const sorted = ["z.md:1", "B.md:1", "a.md:1", "b.md:2", "b.md:9", "a.md:1"];
    for (const [filters, places] of [
      [undefined, sorted],
      [{ words: "q", order: "relevance" }, sorted],
      [{ words: "q", order: "newest" }, found.map(({ path, startLine }) => `${path}:${startLine}`)],
    ] as const) {
      const { results } = await ask(guarded(searchOf(found, { filters })), { order: "newest" });
      expect(results.map(({ path, startLine }) => `${path}:${startLine}`)).toEqual(places);
    }
  });

  test.each(data.tokenBudgets as [number, number][])(
    "that exceed a token budget of %i are left out whole: %i are kept",
    async (maxTokens, count) => {
      // 8 for the place, 172 for the text, 4 for the heading: 184 each.
      const text = { snippet: "go to ".repeat(100), heading: "heading heading".padEnd(20) };
      const found = Array.from({ length: 9 }, (_, index) =>
        result({ score: 1 - index / 10, path: `${index}.md`, ...text }),
      );
      const { results, report: told } = await answer(found, { maxResults: 9, maxTokens });
      expect(results).toEqual(found.slice(0, count));
      expect(told.dropped.tokens).toBe(count === 9 ? undefined : 9 - count);
    },
  );

  test.each(data.dropped as [string, object[], MemorySearchOptions, string[], object][])(
    "%s are dropped and counted",
    async (_name, found, options, paths, dropped) => {
      const given = await answer(resultsOf(found), options);
      expect(given.paths).toEqual(paths);
      expect(given.results.map(({ score }) => score)).toEqual(
        given.results
          .map(({ score }) => score)
          .toSorted()
          .toReversed(),
      );
      expect(given.report.dropped).toEqual({ minScore: 0, source: 0, limit: 0, ...dropped });
    },
  );

  test("with a score alone are kept for a manager without vector search", async () => {
    const capabilities = { keyword: true, vector: false, ownsIndex: true };
    const { search } = searchOf([result({ score: 0.1, textScore: undefined })]);
    expect((await ask(guarded({ search, capabilities }))).paths).toHaveLength(1);
  });

  test.each<[unknown, string]>([
    [result({ score: Number.NaN }), '"score" must be a number from 0 to 1, not NaN'],
    [result({ score: Number.POSITIVE_INFINITY }), '"score" must be'],
    [result({ textScore: Number.NaN }), '"textScore" must be'],
    [{ ...result(), snippet: undefined }, '"snippet" must be'],
    ...(data.broken as [object | null, string][]).map(
      ([own, words]) => [own && result(own), words] as [unknown, string],
    ),
  ])("like %j are refused with the plugin, the number of the result and the field", async (broken, words) => {
    const error = await rejected(answer([result(), broken as MemorySearchResult]));
    expect(error).toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
    expect(String(error)).toContain('memory plugin "fake"');
    expect(String(error)).toContain("result 2");
  });

  test("keep the lines that matched, and are refused where they are no list", async () => {
    // Rounding may put a score a little over 1.
    const right = result({ score: 1.000_000_1, endLine: 9, lines: data.lines as [number, number][] });
    expect((await answer([right])).results).toEqual([right]);
    const none = (async () => undefined) as unknown as MemorySearchManager["search"];
    expect(await rejected(guarded({ search: none }).search("q"))).toMatchObject({ code: "PLUGIN" });
  });
});

describe.each([false, true])("the place of a result (behind a fallback backend: %s)", (behindFallback) => {
  let root = "";
  beforeAll(() => {
    root = tempFolder({ "notes/MEMORY.md": "# Notes", "shared/a.md": "# Shared" });
    mkdirSync(join(root, "real"));
    symlinkSync(join(root, "real"), join(root, "link"));
  });

  async function placed(found: MemorySearchResult[], sessionKey?: string): Promise<Answer> {
    const manager = fakeManager({
      ...searchOf(found),
      status: () => ({ backend: "fake", provider: "none" }),
    });
    const dead = { name: "dead", open: async () => Promise.reject(new Error("never")), failure: new Error("broken") };
    const standby = { name: "fake", manager, open: async () => manager };
    const memory = guarded(behindFallback ? withFallback(dead, standby) : manager, {
      workspaceDir: join(root, "notes"),
      settings: settings({ extraPaths: [join(root, "shared"), { path: join(root, "link"), pattern: "*.md" }] }),
    });
    return ask(memory, { minScore: 0, maxResults: 50, sessionKey });
  }

  test.each(places.inside as [string, string][])("%s is given as %s", async (given, wanted) => {
    const { paths, report: told } = await placed([result({ path: given.replace("<root>", root) })]);
    expect(paths).toEqual([wanted]);
    expect(told.dropped).toEqual({ minScore: 0, source: 0, limit: 0 });
  });

  test.each(places.outside)("%s is outside the notes, so the result is dropped and counted", async (given) => {
    const bad = result({ path: given.replace("<root>", root), score: 0.9 });
    const both = await placed([bad, result()]);
    expect([both.paths, both.report.dropped.outside]).toEqual([["MEMORY.md"], 1]);
    const alone = await placed([bad]);
    expect(alone.results).toEqual([]);
    expect(alone.report.reason).toContain("1 found, all outside the workspace and extraPaths");
  });

  test("tells whether it is a private note, however it is spelt", async () => {
    const paths = [`${root}/notes/MEMORY.md`, "./memory//a.md", "../notes/USER.md", "../shared/a.md"];
    const given = await placed(
      paths.map((path) => result({ path })),
      "agent:main:telegram:group:1",
    );
    expect([given.paths, given.report.dropped.audience]).toEqual([["../shared/a.md"], 3]);
  });
});

test("a text that is too long ends with the last line that fits, and never within a character", async () => {
  const first = async (own: Partial<MemorySearchResult>): Promise<MemorySearchResult | undefined> =>
    (await answer([result(own)])).results[0];
  const whole = Array.from({ length: 100 }, (_, index) => `line ${index} ${"x".repeat(40)}`);
  const cut = await first({ startLine: 11, endLine: 110, snippet: whole.join("\n") });
  const kept = cut?.snippet.split("\n") ?? [];
  expect(cut?.snippet.length).toBeLessThanOrEqual(700);
  expect(kept).toEqual(whole.slice(0, kept.length));
  expect(kept.length).toBeGreaterThan(10);
  expect([cut?.startLine, cut?.endLine]).toEqual([11, 10 + kept.length]);

  const emoji = await first({ endLine: 1, snippet: `x${"🙂".repeat(2500)}` });
  expect([emoji?.snippet.length, emoji?.snippet.isWellFormed()]).toEqual([699, true]);
  const parts = await first({ endLine: 90, snippet: `${"y".repeat(600)}\n…\n${"z".repeat(600)}` });
  expect([parts?.snippet, parts?.endLine]).toEqual([`${"y".repeat(600)}\n…`, 90]);
  expect((await first({ snippet: "f".repeat(700) }))?.snippet).toHaveLength(700);
});

describe("the report of the manager", () => {
  test("is its last one, with what the guard dropped added", async () => {
    const given = report(data.lastReport as Partial<SearchReport>);
    const search: MemorySearchManager["search"] = async (_query, { onDebug }) => {
      onDebug(report({ state: "stale" }));
      onDebug(given);
      return [result(), result({ endLine: 3 })];
    };
    expect((await ask(guarded({ search }), { maxResults: 1 })).report).toEqual({
      ...given,
      reason: undefined,
      legs: { keyword: { candidates: 7, kept: 1 }, vector: undefined },
      dropped: { minScore: 1, source: 2, limit: 4 },
      conditions: [],
      fallback: undefined,
    });
  });

  const told = async (given: Partial<SearchReport>, embeddings?: object): Promise<SearchReport> =>
    (await ask(guarded(searchOf([result()], given), embeddings))).report;
  const gone = { state: "degraded", reason: "keyword search only: the provider is down" } as const;
  const behind = { state: "stale", reason: "4000 files have changed and are being indexed", count: 4000 } as const;

  test.each([
    ["in either order", [behind, gone]],
    ["each once", [gone, behind, gone]],
  ])("has all conditions, %s: the worst as its state, and every reason", async (_, conditions) => {
    const given = await told(conditions.reduce((before, one) => withConditions(before, [one]), report()));
    expect(given).toMatchObject({ state: "degraded", reason: `${gone.reason}; ${behind.reason}` });
    expect(given.conditions).toHaveLength(2);
    expect(given.conditions).toEqual(expect.arrayContaining([gone, behind]));
  });

  test("is degraded where the configured provider could not be used, beside what the manager reported", async () => {
    const embeddings = { provider: undefined, requested: "openai", reason: "no key for openai", degraded: true };
    const own = { state: "stale", reason: "a note cannot be read" } as const;
    const given = await told(own, { embeddings });
    expect(given).toMatchObject({ state: "degraded", reason: `no key for openai; ${own.reason}` });
    expect(given.conditions).toEqual(expect.arrayContaining([own, { state: "degraded", reason: "no key for openai" }]));
  });

  const filtered = { words: "q", since: "2024-01-01", order: "relevance" } as const;
  test.each<[MemorySearchOptions, SearchReport["filters"], SearchReport["state"], string | undefined]>([
    [{ since: "2024", order: "oldest" }, undefined, "degraded", "does not know since and order"],
    [{ until: "2024" }, undefined, "degraded", "does not know until"],
    [{ since: "2024" }, filtered, "ok", undefined],
    [{ order: "relevance" }, undefined, "ok", undefined],
  ])("is degraded where the plugin has not filtered by days, or not kept the order: %j %j %s", async (...row) => {
    const [options, filters, state, words] = row;
    const given = (await ask(guarded(searchOf([result()], { filters })), options)).report;
    expect(given.state).toBe(state);
    if (words !== undefined) expect(given.reason).toContain(words);
  });
});

describe("the report that the guard makes for a manager without one", () => {
  const made = async (
    status: Partial<MemoryProviderStatus>,
    capabilities: object = {},
    found = [result()],
  ): Promise<SearchReport> => {
    const { search } = searchOf(found);
    const own = {
      search,
      capabilities: { keyword: true, vector: true, ownsIndex: true, ...capabilities },
      status: () => ({ backend: "fake", provider: "none", ...status }),
    };
    return (await ask(guarded(own))).report;
  };

  test("counts what each retriever found, also in place of something that is no report", async () => {
    const found = [result({ vectorScore: 0.5 }), result({ endLine: 3, textScore: undefined, vectorScore: 0.6 })];
    const legs = { keyword: { candidates: 1, kept: 1 }, vector: { candidates: 2, kept: 2 } };
    expect(await made({}, {}, found)).toMatchObject({ backend: "fake", state: "ok", legs });
    expect((await made({})).legs).toEqual({ keyword: { candidates: 1, kept: 1 }, vector: undefined });
    const search: MemorySearchManager["search"] = async (_query, { onDebug }) => {
      onDebug({ hits: 3 } as unknown as SearchReport);
      return [];
    };
    expect((await ask(guarded({ search }))).report).toMatchObject({ backend: "fake", state: "ok" });
  });

  test.each(data.modes as [Partial<MemoryProviderStatus>, object, Partial<SearchReport>, string][])(
    "follows from the status %j and the capabilities %j: %j %s",
    async (status, capabilities, wanted, words) => {
      const given = await made(status, capabilities);
      expect(given).toMatchObject(wanted);
      expect(given.reason ?? "").toContain(words);
    },
  );

  test.each(data.empty as [string, object[], MemorySearchOptions, string][])(
    "explains an empty answer: %s",
    async (_name, found, options, words) => {
      const given = await answer(resultsOf(found), options);
      expect(given.results).toEqual([]);
      expect(given.report.reason).toContain(words);
    },
  );
});

test.each(
  verdicts as unknown as { name: string; facts: object; state: HealthState; reason?: string; action?: string }[],
)("the health of a memory with $name: $state", ({ facts, state, reason = "^$", action = "^$" }) => {
  const unsearched = { files: 0, more: false, folders: [] };
  const survey = { excluded: { count: 0, notes: [], byConfiguration: 0 }, notes: 2, unsearched };
  const given: Partial<Parameters<typeof healthOf>[0]> = facts;
  const own = { backend: "memory-core", provider: "none", files: 2, chunks: 54, workspaceDir: "/notes" };
  const health = healthOf({ layout: "all", survey, ...given, status: { ...own, ...given.status } });
  expect(health.state).toBe(state);
  expect(health.reason ?? "").toMatch(new RegExp(reason, "u"));
  expect(health.action ?? "").toMatch(new RegExp(action, "u"));
});
