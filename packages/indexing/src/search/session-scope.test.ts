import { expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { isClosed, sessionScope, type SourceScope } from "./session-scope.ts";
import { linkSync } from "node:fs";
import path from "node:path";

async function scopeOf(
  change: Partial<Parameters<typeof sessionScope>[0]> & { extraPaths?: readonly string[] } = {},
): Promise<SourceScope> {
  const { extraPaths = [], ...rest } = change;
  return await sessionScope({
    sessionKey: undefined,
    audience: "private",
    agentId: "main",
    workspaceDir: "/home/anna/notes",
    settings: { extraPaths: [...extraPaths], notes: "agent" },
    signal: new AbortController().signal,
    transcriptOf: async (key) => (key.includes("group") ? "sessions/g.jsonl" : undefined),
    journalOf: (transcript) => [transcript.replace("sessions/", "journal/")],
    ...rest,
  });
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

const group = { sessionKey: "agent:main:telegram:group:1", audience: "shared" } as const;

test("a shared file that is a hard link is excluded", async () => {
  const root = tempFolder({ "notes/MEMORY.md": "", "shared/plain.md": "" });
  const file = path.join(root, "shared/one.md");
  linkSync(path.join(root, "notes/MEMORY.md"), file);
  const notes = (await scopeOf({ ...group, workspaceDir: path.join(root, "notes"), extraPaths: [file] }))("memory");
  expect(notes?.without).toContain("../shared/one.md");
});

test("a shared folder with very many hard links is excluded as a whole, and the other one is searched", async () => {
  const root = tempFolder({ "notes/memory/day.md": "", "shared/0.md": "", "team/a.md": "" });
  for (let index = 1; index <= 501; index++)
    linkSync(path.join(root, "shared/0.md"), path.join(root, `shared/${index}.md`));
  const places = {
    workspaceDir: path.join(root, "notes"),
    extraPaths: ["shared", "team"].map((name) => path.join(root, name)),
  };
  const notes = (await scopeOf({ ...group, ...places }))("memory");
  expect(notes?.without).toContain("../shared/");
  expect(notes?.without.length).toBeLessThan(20);
  expect(notes?.within).toContain("../team/");
});
