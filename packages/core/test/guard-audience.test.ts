import { describe, expect, test } from "vitest";
import {
  type CreateMemoryOptions,
  type ManagerReadParams,
  type ManagerSearchOptions,
  type MemoryProviderStatus,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchReport,
  isPrivateNote,
} from "@memslot/core";
import { guarded, report, result, settings } from "./support/fakes.ts";

const group = "agent:main:telegram:group:-100123";
const own = "agent:main:telegram:direct:7";
const stranger = "agent:main:telegram:direct:8";
const left = "private notes are left out in a shared session";

/** A manager that leaves the audience out of account, as it was asked and as the guard answered. */
async function searched(
  sessionKey: string | undefined,
  found: MemorySearchResult[],
  given?: Partial<SearchReport>,
): Promise<{ results: MemorySearchResult[]; report: SearchReport | undefined; asked: ManagerSearchOptions[] }> {
  const asked: ManagerSearchOptions[] = [];
  let seen: SearchReport | undefined;
  const search: MemorySearchManager["search"] = async (_query, options) => {
    asked.push(options);
    if (given) options.onDebug(report(given));
    return found;
  };
  const results = await guarded({ search }).search("q", { sessionKey, onDebug: (told) => (seen = told) });
  return { results, report: seen, asked };
}

const mixed = [
  result({ path: "MEMORY.md", score: 0.9 }),
  result({ path: "memory/2026-11-21.md", score: 0.8 }),
  result({ path: "./memory/../USER.md", score: 0.7 }),
  result({ path: "../notes/MEMORY.md", score: 0.6, endLine: 3 }),
  result({ path: "journal/5f3c.0123456789abcdef.jsonl", source: "journal", score: 0.6 }),
  result({ path: "docs/team.md", score: 0.5 }),
];

describe("a search from a shared session", () => {
  test("never gets private notes, whatever the manager gives", async () => {
    const { results, asked } = await searched(group, mixed);
    expect(results.map(({ path }) => path)).toEqual(["docs/team.md"]);
    expect(asked[0]).toMatchObject({ audience: "shared", sessionKey: group });
  });

  test("says that they are left out, also where nothing else is wrong", async () => {
    expect((await searched(group, [result({ path: "docs/team.md" })])).report).toMatchObject({
      state: "ok",
      reason: left,
    });
    expect((await searched(group, [])).report?.reason).toBe(`${left}; nothing in memory matches the query`);
  });

  test("counts what was dropped for the host, and tells by no other figure what private notes hold", async () => {
    const told = await searched(group, mixed.slice(0, 4), {
      legs: { keyword: { candidates: 40, kept: 4 }, vector: { candidates: 30, kept: 4 } },
      dropped: { minScore: 3, source: 2, limit: 9 },
      confidence: 0.9,
      reason: "the best 9 of 40 are shown",
    });
    expect(told.report?.dropped).toEqual({ minScore: 0, source: 0, limit: 0, audience: 4 });
    expect(told.report?.legs).toEqual({});
    expect(told.report?.confidence).toBeUndefined();
    expect(told.report?.reason).toBe(`${left}; nothing in memory matches the query`);
  });

  test("is told neither what a score is made of nor why something is not found", async () => {
    const parts = { words: 0.5, names: 0, dates: 0, meaning: 0 };
    const asked: ManagerSearchOptions[] = [];
    let told = 0;
    const memory = guarded({
      search: async (_query, options) => {
        asked.push(options);
        return [result({ path: "docs/team.md", score: 0.5, parts })];
      },
      why: async () => {
        told++;
        return { found: true, rungs: [], sentence: "it is there" };
      },
    });
    const [shared] = await memory.search("q", { sessionKey: group, explain: true });
    expect(asked[0]?.explain).toBe(false);
    expect(shared).not.toHaveProperty("parts");
    const [unasked] = await memory.search("q");
    expect(unasked).not.toHaveProperty("parts");
    const [own] = await memory.search("q", { explain: true });
    expect(own?.parts).toEqual(parts);
    await expect(memory.why("q", { path: "MEMORY.md" }, { sessionKey: group })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(told).toBe(0);
    expect((await memory.why("q", { path: "MEMORY.md" }))?.found).toBe(true);
    await expect(memory.why("q", {})).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(memory.why("q", { text: "a", line: 1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    // A manager that cannot tell need not.
    expect(await guarded({}).why("q", { path: "MEMORY.md" })).toBeUndefined();
  });

  test("keeps the figures of a manager that has left private notes out by itself", async () => {
    const legs = { keyword: { candidates: 4, kept: 1 } };
    const told = await searched(group, [result({ path: "docs/team.md" })], { legs, confidence: 0.9 });
    expect(told.report).toMatchObject({ legs, confidence: 0.9 });
    expect(told.report?.dropped).not.toHaveProperty("audience");
  });
});

describe("what went wrong, told to a shared session", () => {
  const secret = "memory/divorce.md";
  const failing = (): ReturnType<MemorySearchManager["status"]> => ({
    backend: "fake",
    provider: "none",
    dirty: true,
    lastSyncError: `EACCES: permission denied, open '/notes/${secret}'`,
    fallback: {
      from: "qmd",
      to: "memory-core",
      reason: `qmd update failed: ${secret}`,
      retryAt: "2026-01-01T12:00:30Z",
    },
  });

  async function told(query: string, own: Partial<MemorySearchManager>, sessionKey: string): Promise<SearchReport> {
    let seen: SearchReport | undefined;
    const memory = guarded({ status: failing, ...own });
    await memory.search(query, { sessionKey, onDebug: (given) => (seen = given) }).catch(() => undefined);
    if (seen === undefined) throw new Error("nothing was reported");
    return seen;
  }

  const fail = async (): Promise<never> => Promise.reject(new Error(`cannot compare ${secret}`));
  test.each([
    ["of a search without a report", "q", {}],
    ["of a blank query", " ", {}],
    ["of a search that fails", "q", { search: fail }],
    [
      "of a search that a spare answers",
      "q",
      {
        search: async (_query: string, { onDebug }: ManagerSearchOptions) => {
          onDebug(report({ fallback: failing().fallback }));
          return [];
        },
      },
    ],
  ])("names no note: %s", async (_what, query, own) => {
    expect(JSON.stringify(await told(query, own, "agent:main:main"))).toContain("divorce");
    const shared = await told(query, own, group);
    expect(JSON.stringify(shared)).not.toContain("divorce");
    expect(shared.fallback).toEqual({ ...failing().fallback, reason: '"qmd" is unavailable' });
  });

  test("and is still told to be something", async () => {
    expect(await told("q", {}, group)).toMatchObject({
      state: "degraded",
      conditions: [
        { state: "degraded", reason: '"qmd" is unavailable' },
        { state: "stale", reason: "what was saved last may be missing" },
      ],
    });
  });
});

describe("a direct chat with somebody who is not the owner", () => {
  test("is answered as a group is", async () => {
    const asked: (string | undefined)[] = [];
    const memory = guarded({
      search: async (_query, { audience }) => {
        asked.push(audience);
        return [result({ path: "MEMORY.md" }), result({ path: "shared/a.md" })];
      },
      readFile: async ({ relPath }) => ({ status: "ok", text: "secret", path: relPath }),
    });
    const results = await memory.search("q", { sessionKey: stranger });
    expect([asked, results.map(({ path }) => path)]).toEqual([["shared"], ["shared/a.md"]]);
    await expect(memory.readFile({ relPath: "MEMORY.md", sessionKey: stranger })).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
    });
  });

  test("is the owner where no list says otherwise only in the main session", async () => {
    const memory = guarded({ search: async () => [result({ path: "MEMORY.md" })] }, { ownerAllowFrom: undefined });
    expect(await memory.search("q", { sessionKey: own })).toEqual([]);
    expect(await memory.search("q", { sessionKey: "agent:main:main" })).toHaveLength(1);
  });
});

describe("a search from the owner's own session", () => {
  test.each([undefined, own])("gets everything, with no word of an audience: %s", async (sessionKey) => {
    const { results, report: told, asked } = await searched(sessionKey, mixed);
    expect(results).toHaveLength(mixed.length);
    expect(told?.reason).toBeUndefined();
    expect(told?.dropped).not.toHaveProperty("audience");
    expect(asked[0]).toMatchObject({ audience: "private" });
  });
});

/** What a manager was asked to read; it reads whatever it is asked for, and says that it was `path`. */
function reader(path?: string, options: Partial<CreateMemoryOptions> = {}) {
  const asked: ManagerReadParams[] = [];
  const readFile: MemorySearchManager["readFile"] = async (params) => {
    asked.push(params);
    return { status: "ok", text: "secret", path: path ?? params.relPath, from: 1, lines: 1 };
  };
  return { memory: guarded({ readFile }, options), asked };
}

describe("reading a file from a shared session", () => {
  test.each([
    "MEMORY.md",
    "memory.md",
    "USER.md",
    "memory/2026-11-21.md",
    "./MEMORY.md",
    "memory/../MEMORY.md",
    "docs/../MEMORY.md",
    "../notes/MEMORY.md",
    "../NOTES/memory/a.md",
    "/notes/MEMORY.md",
    "Memory\\a.md",
  ])("refuses %s with a plain reason, without asking the manager", async (relPath) => {
    const { memory, asked } = reader();
    await expect(memory.readFile({ relPath, sessionKey: group })).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
      message: `${JSON.stringify(relPath)} cannot be read in a shared session: MEMORY.md, USER.md, memory/, the journal and what other programs keep are private, which are read in the owner's own sessions only`,
    });
    expect(asked).toEqual([]);
  });

  test("knows the accents of the workspace's name in either spelling", async () => {
    const { memory, asked } = reader(undefined, { workspaceDir: "/größe" });
    const relPath = `../${"größe".normalize("NFD")}/MEMORY.md`;
    await expect(memory.readFile({ relPath, sessionKey: group })).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    expect(asked).toEqual([]);
  });

  test("refuses what turned out to be a private note, by a spelling that only the manager could follow", async () => {
    expect(isPrivateNote("MEMORY~1.MD", "/notes")).toBe(false);
    const { memory } = reader("MEMORY.md");
    await expect(memory.readFile({ relPath: "MEMORY~1.MD", sessionKey: group })).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
    });
  });

  test("reads other files, and tells the manager who reads along", async () => {
    const { memory, asked } = reader();
    await expect(memory.readFile({ relPath: "docs/team.md", sessionKey: group })).resolves.toMatchObject({
      text: "secret",
    });
    expect(asked).toMatchObject([{ relPath: "docs/team.md", audience: "shared" }]);
  });

  test.each([undefined, own])("is no matter for the owner: %s", async (sessionKey) => {
    const { memory, asked } = reader();
    await expect(memory.readFile({ relPath: "MEMORY.md", sessionKey })).resolves.toMatchObject({ text: "secret" });
    expect(asked).toMatchObject([{ audience: "private" }]);
  });
});

describe("a folder of notes, shown to others", () => {
  const places = settings({ notes: "all", extraPaths: ["/notes/team"] });
  const mine = [result({ path: "Zebra.md" }), result({ path: "own/a.md" }), result({ path: "teams/b.md" })];
  const ofTeam = [result({ path: "team/a.md" }), result({ path: "sessions/s.jsonl", source: "sessions" })];
  const roots = [
    { path: ".", state: "indexed" as const },
    { path: "own", state: "skipped" as const },
    { path: "tool", state: "indexed" as const },
  ];
  const ofTool = result({ path: "tool/c.md" });
  const status = (): MemoryProviderStatus => ({ backend: "fake", provider: "none", roots });

  test("is what extraPaths and a plugin's own folders name, whatever the manager gives", async () => {
    const search = async (): Promise<MemorySearchResult[]> => [...mine, ...ofTeam, ofTool];
    const memory = guarded({ search, status }, { settings: { ...places, sources: ["memory", "sessions"] } });
    const shown = await memory.search("q", { sessionKey: group });
    expect(shown.map(({ path }) => path).toSorted()).toEqual(["sessions/s.jsonl", "team/a.md", "tool/c.md"]);
    expect(await memory.search("q", { sessionKey: own, maxResults: 9 })).toHaveLength(6);
  });

  test("is read there alone, and nobody else is asked", async () => {
    const asked: string[] = [];
    const readFile: MemorySearchManager["readFile"] = async ({ relPath }) => {
      asked.push(relPath);
      return { status: "ok", text: "x", path: relPath };
    };
    const memory = guarded({ readFile, status }, { settings: places });
    for (const relPath of ["Zebra.md", "a.markdown", "b.mdx", "team/../Zebra.md", "MEMORY.md"])
      await expect(memory.readFile({ relPath, sessionKey: group }), relPath).rejects.toMatchObject({
        code: "PATH_NOT_ALLOWED",
      });
    expect(asked).toEqual([]);
    await memory.readFile({ relPath: "team/a.md", sessionKey: group });
    await memory.readFile({ relPath: "Zebra.md", sessionKey: own });
    expect(asked).toEqual(["team/a.md", "Zebra.md"]);
  });
});

describe("the session of another agent", () => {
  test("neither searches nor reads", async () => {
    const { memory, asked } = reader();
    const sessionKey = "agent:other:main";
    await expect(memory.search("q", { sessionKey })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(memory.readFile({ relPath: "MEMORY.md", sessionKey })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(asked).toEqual([]);
  });
});
