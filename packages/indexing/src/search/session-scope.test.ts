import { describe, expect, test } from "vitest";
import type { PathScope } from "../chunk-store.ts";
import { isClosed, sessionScope, type SourceScope } from "./session-scope.ts";

async function scopeOf(
  change: Partial<Parameters<typeof sessionScope>[0]> & { extraPaths?: string[] } = {},
): Promise<SourceScope> {
  const { extraPaths = [], ...rest } = change;
  return await sessionScope({
    sessionKey: undefined,
    audience: "private",
    agentId: "main",
    workspaceDir: "/home/anna/notes",
    settings: { extraPaths, notes: "agent" },
    signal: new AbortController().signal,
    transcriptOf: async (key) => (key.includes("group") ? "sessions/g.jsonl" : undefined),
    journalOf: (transcript) => [transcript.replace("sessions/", "journal/")],
    ...rest,
  });
}

/** What a store is to let through, in the words of the contract. */
function isSeen({ within, without }: PathScope, path: string): boolean {
  const fits = (prefix: string): boolean =>
    prefix === "" || prefix === path || (prefix.endsWith("/") && path.startsWith(prefix));
  return within.some(fits) && !without.some(fits);
}

test.each([undefined, "main", "agent:main:main", " Agent:MAIN:main "])(
  "the main session %j sees everything",
  async (sessionKey) => {
    const scope = await scopeOf({ sessionKey });
    expect(scope("memory")).toBeUndefined();
    expect(scope("sessions")).toBeUndefined();
  },
);

test("another session of the owner sees the notes, and of the transcripts its own", async () => {
  const scope = await scopeOf({
    sessionKey: "agent:main:signal:direct:anna",
    transcriptOf: async () => "sessions/own.jsonl",
  });
  expect(scope("memory")).toBeUndefined();
  expect(scope("sessions")).toEqual({ within: ["sessions/own.jsonl"], without: [] });
  const without = await scopeOf({ sessionKey: "agent:main:signal:direct:anna" });
  expect(isClosed(without("sessions"))).toBe(true);
});

describe("a group", () => {
  const group = { sessionKey: "agent:main:telegram:group:1", audience: "shared" } as const;

  test("without extra paths sees nothing but its own transcript", async () => {
    const scope = await scopeOf(group);
    expect(isClosed(scope("memory"))).toBe(true);
    expect(scope("sessions")).toEqual({ within: ["sessions/g.jsonl"], without: [] });
  });

  test("sees what extra paths add, and the owner's own notes not even there", async () => {
    const scope = await scopeOf({ ...group, extraPaths: [".", "../shared", "docs/plan.md", "memory/team"] });
    const notes = scope("memory") as PathScope;
    for (const path of ["../shared/a.md", "docs/plan.md", "docs/other.md", "anything.md"])
      expect(isSeen(notes, path), path).toBe(true);
    for (const path of [
      "MEMORY.md",
      "memory.md",
      "USER.md",
      "memory/2026-05-04.md",
      "memory/team/a.md",
      "memory/a/b.md",
    ])
      expect(isSeen(notes, path), path).toBe(false);
  });

  test("does not see the folder around the workspace by a path that leads back into it", async () => {
    const scope = await scopeOf({ ...group, extraPaths: [".."] });
    const notes = scope("memory") as PathScope;
    expect(isSeen(notes, "MEMORY.md")).toBe(false);
    expect(isSeen(notes, "memory/2026-05-04.md")).toBe(false);
    expect(isSeen(notes, "../letters/a.md")).toBe(true);
  });
});
