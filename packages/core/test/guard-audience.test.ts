import { describe, expect, test, vi } from "vitest";
import {
  type Memory,
  type MemoryProviderStatus,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchReport,
  audienceOf,
  sessionKindOf,
} from "@memslot/core";
import { isPrivateNote } from "@memslot/core/host";
import { ask, guarded, rejected, report, result, searchOf, settings } from "./support/fakes.ts";
/** Keys of sessions and paths of notes, by what they are. Private notes have escapes where a character is invisible. */
import data from "./data/audience.json" with { type: "json" };

const group = "agent:main:telegram:group:-100123";
const own = "agent:main:telegram:direct:7";
const stranger = "agent:main:telegram:direct:8";
const excluded = "private notes are excluded in a shared session";
const notAllowed = { code: "PATH_NOT_ALLOWED" };

describe("the audience of a session", () => {
  test.each(data.private.map((key) => key ?? undefined))("is the owner alone for %s", (sessionKey) => {
    expect(audienceOf(sessionKey, "main")).toBe("private");
  });

  test.each(Object.entries(data.shared).flatMap(([why, keys]) => keys.map((key) => [key, why] as const)))(
    "is shared for %s: %s",
    (sessionKey) => expect(audienceOf(sessionKey, "main")).toBe("shared"),
  );

  test.each(data.kinds)("comes from what the session is: %s is %s", (sessionKey, kind) => {
    expect(sessionKindOf(sessionKey ?? undefined, "main")).toBe(kind);
  });

  test.each(data.ownerPeers as [string, string[]][])(
    "is the owner alone in %s where commands.ownerAllowFrom is %j",
    (sessionKey, ownerAllowFrom) => {
      expect(audienceOf(sessionKey, "main", ownerAllowFrom)).toBe("private");
      expect(sessionKindOf(sessionKey, "main", ownerAllowFrom)).toBe("main");
    },
  );

  test.each(data.otherPeers as [string, string[]][])(
    "is shared in %s where commands.ownerAllowFrom is %j: it only looks like the owner",
    (sessionKey, ownerAllowFrom) => expect(audienceOf(sessionKey, "main", ownerAllowFrom)).toBe("shared"),
  );

  test("compares agents without regard to case, as the configuration does", () => {
    expect(audienceOf("agent:work:main", "Work")).toBe("private");
    expect(audienceOf("agent:WORK:telegram:group:5", "Work")).toBe("shared");
  });

  test.each(data.otherAgents)("is refused for another agent's session: %s", async (sessionKey) => {
    const error = { code: "INVALID_ARGUMENT", message: expect.stringContaining('of agent "main"') };
    expect(() => audienceOf(sessionKey, "main")).toThrow(expect.objectContaining(error));
    const { memory, asked } = reader();
    expect(await rejected(memory.search("q", { sessionKey }))).toMatchObject(error);
    expect(await rejected(memory.readFile({ relPath: "MEMORY.md", sessionKey }))).toMatchObject(error);
    expect(asked).not.toHaveBeenCalled();
  });
});

describe("a private note", () => {
  const workspaceDir = "/home/me/Größe";
  const isPrivate = (path: string): boolean[] => [isPrivateNote(path), isPrivateNote(path, workspaceDir)];

  test.each(data.privateNotes)("is %j", (path) => expect(isPrivate(path)).toEqual([true, true]));

  test.each(data.privateNotesOfWorkspace)("is also %j, seen from its workspace", (path) => {
    expect(isPrivateNote(path, workspaceDir)).toBe(true);
    expect(isPrivateNote(path, "/home/me/other")).toBe(false);
  });

  test.each(data.otherNotes)("is not %j", (path) => expect(isPrivate(path)).toEqual([false, false]));
});

const mixed = [
  result({ path: "MEMORY.md", score: 0.9 }),
  result({ path: "memory/2026-11-21.md", score: 0.8 }),
  result({ path: "./memory/../USER.md", score: 0.7 }),
  result({ path: "../notes/MEMORY.md", score: 0.6, endLine: 3 }),
  result({ path: "journal/5f3c.0123456789abcdef.jsonl", source: "journal", score: 0.6 }),
  result({ path: "docs/team.md", score: 0.5 }),
];

describe("a search", () => {
  test.each([group, stranger])("from the shared session %s never gets private notes", async (sessionKey) => {
    const { search, asked } = searchOf(mixed);
    expect((await ask(guarded({ search }), { sessionKey })).paths).toEqual(["docs/team.md"]);
    expect(asked).toMatchObject([{ audience: "shared", sessionKey }]);
  });

  test.each([undefined, own])("from the owner's session %s gets everything", async (sessionKey) => {
    const { search, asked } = searchOf(mixed);
    const { results, report: told } = await ask(guarded({ search }), { sessionKey });
    expect([results.length, told.reason]).toEqual([mixed.length, undefined]);
    expect(told.dropped).not.toHaveProperty("audience");
    expect(asked).toMatchObject([{ audience: "private" }]);
  });

  test("reports what was excluded as a count, and no other figure that depends on private notes", async () => {
    const given = data.given;
    const told = (await ask(guarded(searchOf(mixed.slice(0, 4), given)), { sessionKey: group })).report;
    expect(told.dropped).toEqual({ minScore: 0, source: 0, limit: 0, audience: 4 });
    expect([told.legs, told.confidence]).toEqual([{}, undefined]);
    expect(told.reason).toBe(`${excluded}; nothing in memory matches the query`);
  });

  test("keeps the figures of a manager that has excluded private notes itself, and names the exclusion", async () => {
    const legs = { keyword: { candidates: 4, kept: 1 } };
    const { search } = searchOf([result({ path: "docs/team.md" })], { legs, confidence: 0.9 });
    const told = (await ask(guarded({ search }), { sessionKey: group })).report;
    expect(told).toMatchObject({ state: "ok", reason: excluded, legs, confidence: 0.9 });
    expect(told.dropped).not.toHaveProperty("audience");
  });

  test("from a shared session gets neither the parts of a score nor why something is not found", async () => {
    const parts = { words: 0.5, names: 0, dates: 0, meaning: 0 };
    const { search, asked } = searchOf([result({ path: "docs/team.md", parts })]);
    const memory = guarded({ search, why: async () => data.sharedAnswer });
    const [shared] = await memory.search("q", { sessionKey: group, explain: true });
    expect([asked[0]?.explain, shared?.parts]).toEqual([false, undefined]);
    expect((await memory.search("q"))[0]?.parts).toBeUndefined();
    expect((await memory.search("q", { explain: true }))[0]?.parts).toEqual(parts);
    const target = { path: "MEMORY.md" };
    const refused = await rejected(memory.why("q", target, { sessionKey: group }));
    expect(refused).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect((await memory.why("q", target))?.found).toBe(true);
  });
});

describe("what went wrong, reported to a shared session", () => {
  const secret = "memory/divorce.md";
  const fallback = {
    from: "qmd",
    to: "memory-core",
    reason: `update failed: ${secret}`,
    retryAt: "2026-01-01T12:00:30Z",
  };
  const status = (): MemoryProviderStatus => ({
    backend: "fake",
    provider: "none",
    dirty: true,
    lastSyncError: `EACCES: permission denied, open '/notes/${secret}'`,
    fallback,
  });

  async function reported(query: string, search: MemorySearchManager["search"], key: string): Promise<SearchReport> {
    const reports: SearchReport[] = [];
    const memory = guarded({ status, search });
    await memory.search(query, { sessionKey: key, onDebug: (given) => reports.push(given) }).catch(() => undefined);
    return reports[0] as SearchReport;
  }

  test.each([
    ["a search without a report", "q", searchOf().search],
    ["a blank query", " ", searchOf().search],
    ["a search that fails", "q", async () => Promise.reject(new Error(`cannot compare ${secret}`))],
    ["a search that the fallback backend answers", "q", searchOf([], report({ fallback })).search],
  ])("names no note: %s", async (_what, query, search) => {
    expect(JSON.stringify(await reported(query, search, "agent:main:main"))).toContain("divorce");
    const shared = await reported(query, search, group);
    expect(JSON.stringify(shared)).not.toContain("divorce");
    expect(shared.fallback).toMatchObject({ ...fallback, reason: '"qmd" is unavailable' });
  });
});

/** A memory that reads whatever file it is asked for, and reports that it was `path`. */
function reader(path?: string, options = {}, more = {}) {
  const asked = vi.fn<MemorySearchManager["readFile"]>(async ({ relPath }) => ({
    status: "ok",
    text: "secret",
    path: path ?? relPath,
  }));
  return { memory: guarded({ readFile: asked, ...more }, options), asked };
}

const read = (memory: Memory, relPath: string, sessionKey: string | undefined = group): Promise<unknown> =>
  memory.readFile({ relPath, sessionKey }).then(
    () => "read",
    (error: { code: string }) => error,
  );

describe("reading a file from a shared session", () => {
  test.each(data.refusedPaths)("refuses %s with a plain reason, without asking the manager", async (relPath) => {
    const { memory, asked } = reader();
    expect(await read(memory, relPath)).toMatchObject({
      ...notAllowed,
      message: `${JSON.stringify(relPath)} cannot be read in a shared session: MEMORY.md, USER.md, memory/, the journal and what other programs keep are private, which are read in the owner's own sessions only`,
    });
    expect(await read(memory, relPath, stranger)).toMatchObject(notAllowed);
    expect(asked).not.toHaveBeenCalled();
  });

  test("knows the accents of the workspace's name in either spelling", async () => {
    const { memory, asked } = reader(undefined, { workspaceDir: "/größe" });
    expect(await read(memory, `../${"größe".normalize("NFD")}/MEMORY.md`)).toMatchObject(notAllowed);
    expect(asked).not.toHaveBeenCalled();
  });

  test("refuses what turned out to be a private note, by a spelling that only the manager could resolve", async () => {
    expect(isPrivateNote("MEMORY~1.MD", "/notes")).toBe(false);
    expect(await read(reader("MEMORY.md").memory, "MEMORY~1.MD")).toMatchObject(notAllowed);
  });

  test("reads other files, and the owner reads all; the manager is given the audience", async () => {
    const { memory, asked } = reader();
    expect(await read(memory, "docs/team.md")).toBe("read");
    expect(await read(memory, "MEMORY.md", own)).toBe("read");
    await memory.readFile({ relPath: "MEMORY.md" });
    expect(asked.mock.calls.map(([params]) => params.audience)).toEqual(["shared", "private", "private"]);
  });
});

describe("a folder of notes, shown to others", () => {
  const places = settings({ notes: "all", extraPaths: ["/notes/team"] });
  const mine = [result({ path: "Zebra.md" }), result({ path: "own/a.md" }), result({ path: "teams/b.md" })];
  const ofTeam = [result({ path: "team/a.md" }), result({ path: "sessions/s.jsonl", source: "sessions" })];
  const status = (): MemoryProviderStatus => data.status as MemoryProviderStatus;

  test("is what extraPaths and a plugin's own folders name, whatever the manager gives", async () => {
    const found: MemorySearchResult[] = [...mine, ...ofTeam, result({ path: "tool/c.md" })];
    const own9 = { sessionKey: own, maxResults: 9 };
    const memory = guarded(
      { ...searchOf(found), status },
      { settings: { ...places, sources: ["memory", "sessions"] } },
    );
    const shown = await ask(memory, { sessionKey: group });
    expect(shown.paths.toSorted()).toEqual(["sessions/s.jsonl", "team/a.md", "tool/c.md"]);
    expect(await memory.search("q", own9)).toHaveLength(6);
  });

  test("is read there alone, and the manager is not asked for the rest", async () => {
    const { memory, asked } = reader(undefined, { settings: places }, { status });
    for (const relPath of ["Zebra.md", "a.markdown", "b.mdx", "team/../Zebra.md", "MEMORY.md"])
      expect(await read(memory, relPath), relPath).toMatchObject(notAllowed);
    expect(asked).not.toHaveBeenCalled();
    expect(await read(memory, "team/a.md")).toBe("read");
    expect(await read(memory, "Zebra.md", own)).toBe("read");
  });
});
