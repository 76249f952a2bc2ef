import { describe, expect, test } from "vitest";
import { audienceOf, isPrivateNote, sessionKindOf } from "@memslot/core";

describe("the audience of a session", () => {
  test.each([
    undefined,
    "agent:main:main",
    "main",
    " Agent:MAIN:Main ",
    "agent:main:main:heartbeat",
    "agent:main:main:thread:9",
    "agent:main:main:topic:9",
    "agent:main:cron:job-1",
    "agent:main:cron:job-1:run:7",
    "cron:job-1",
    "agent:main:subagent:5b1",
    "agent:main:subagent:5b1:subagent:77a",
    "subagent:5b1",
    "agent:main:hook:webhook:42",
    "agent:main:node:phone",
    "agent:main:acp:5b1",
    "agent:main:dashboard:5b1",
    "agent:main:tui:5b1",
    "agent:main:explicit:5b1",
  ])("is the owner alone for %s", (sessionKey) => {
    expect(audienceOf(sessionKey, "main")).toBe("private");
  });

  test.each([
    "agent:main:telegram:group:-100123",
    "agent:main:telegram:group:-100123:topic:42",
    "agent:main:telegram:supergroup:-100123",
    "agent:main:slack:channel:c1:thread:9",
    "agent:main:discord:channel:1",
    "AGENT:main:Telegram:GROUP:5",
    "agent:main:matrix:room:!r:example.org",
    "agent:main:googlechat:space:1",
    "agent:main:msteams:team:abc",
    "telegram:group:5",
    "group:5",
    "whatsapp:12036@g.us",
    "12036@g.us",
    "agent:main:whatsapp:direct:12036@g.us",
    "discord:acc-1:guild-123:channel-456",
    "agent:main:cron:guild-123",
    // Below a group.
    "agent:main:telegram:group:5:subagent:5b1",
    "agent:main:subagent:5b1:telegram:group:5",
    "agent:main:cron:job-1:discord:channel:5",
    "agent:main:telegram:direct:5:group:6",
    "agent:main:main:telegram:group:5",
    "agent:main:cron:job-1:ｇｒｏｕｐ:5",
    // A chat of two with nobody knows whom.
    "agent:main:direct:alice",
    "agent:main:telegram:direct:123",
    "telegram:dm:123",
    // Not to be understood as the owner's own.
    "global",
    "unknown",
    "agent:main:global",
    "agent:main",
    "agent:main:",
    "agent:main::main",
    "agent:main:main:",
    "agent:main:main:other",
    "agent:main:main:thread",
    "agent:main:telegram",
    "agent:main:telegram:123",
    "agent:main:telegram:direct",
    "agent:main:telegram:direct:",
    "agent:main:a:b:c:direct:5",
    "agent:main:cron",
    "agent:main:subagent: ",
    "agent",
    "main2",
    "5b1c2f0e-0000-4000-8000-000000000000",
    ":",
  ])("is shared for %s", (sessionKey) => {
    expect(audienceOf(sessionKey, "main")).toBe("shared");
  });

  test.each([
    [undefined, "main"],
    ["agent:main:main", "main"],
    ["agent:main:main:thread:9", "main"],
    ["agent:main:telegram:direct:7", "group"],
    ["agent:main:cron:job-1", "other"],
    ["agent:main:subagent:5b1", "other"],
    ["agent:main:telegram:group:5", "group"],
    ["agent:main:who knows", "group"],
  ])("comes from what the session is: %s is %s", (sessionKey, kind) => {
    expect(sessionKindOf(sessionKey, "main")).toBe(kind);
  });

  test.each([
    ["agent:main:direct:alice", ["alice"]],
    ["agent:main:dm:Alice", ["ALICE"]],
    ["agent:main:telegram:direct:123", ["telegram:123"]],
    ["agent:main:telegram:dm:123", [" Telegram:123 "]],
    ["agent:main:telegram:account-2:direct:123", ["telegram:123"]],
    ["agent:main:telegram:direct:123:thread:9", ["signal:5", "telegram:123"]],
    ["agent:main:matrix:direct:@alice:example.org", ["matrix:@alice:example.org"]],
    ["agent:main:matrix:direct:@alice:example.org", ["@alice:example.org"]],
    ["telegram:dm:123", ["123"]],
  ])("is the owner alone in %s where commands.ownerAllowFrom is %j", (sessionKey, ownerAllowFrom) => {
    expect(audienceOf(sessionKey, "main", ownerAllowFrom)).toBe("private");
    expect(sessionKindOf(sessionKey, "main", ownerAllowFrom)).toBe("main");
  });

  test.each([
    ["agent:main:telegram:direct:1234", ["telegram:123"]],
    ["agent:main:telegram:direct:123:4", ["telegram:123"]],
    ["agent:main:signal:direct:123", ["telegram:123"]],
    ["agent:main:telegram:direct:anna", ["telegram"]],
    ["agent:main:telegram:direct:x:direct:123", ["123", "telegram:123"]],
    ["agent:main:telegram:direct:telegram:123:dm:9", ["telegram:123"]],
    ["agent:main:telegram:group:123", ["123", "telegram:123", "group:123", "telegram:group:123"]],
    ["agent:main:telegram:direct:123", ["*", "telegram:*", "", " ", "telegram:", "direct:123"]],
    // What only looks alike: full-width digits, the sign for Kelvin.
    ["agent:main:telegram:direct:１２３", ["telegram:123"]],
    ["agent:main:irc:direct:\u212Aate", ["irc:kate"]],
    ["agent:main:irc:ｄｉｒｅｃｔ:kate", ["kate", "irc:kate"]],
  ])("is shared in %s where commands.ownerAllowFrom is %j", (sessionKey, ownerAllowFrom) => {
    expect(audienceOf(sessionKey, "main", ownerAllowFrom)).toBe("shared");
  });

  test("compares agents as the configuration does, without regard to case", () => {
    expect(audienceOf("agent:work:main", "Work")).toBe("private");
    expect(audienceOf("agent:WORK:telegram:group:5", "Work")).toBe("shared");
  });

  test.each(["agent:other:main", "agent::main", "agent:maín:main", "agent:mai:n", "agent:other:telegram:group:5"])(
    "of another agent's session is refused: %s",
    (sessionKey) => {
      expect(() => audienceOf(sessionKey, "main")).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining('of agent "main"') }),
      );
    },
  );
});

describe("a private note", () => {
  const workspaceDir = "/home/me/Größe";

  test.each([
    "MEMORY.md",
    "memory.md",
    "Memory.MD",
    "USER.md",
    "memory/2026-11-21.md",
    "memory",
    "MEMORY/a/b.md",
    "./MEMORY.md",
    ".//MEMORY.md",
    "memory/../MEMORY.md",
    "docs/../memory/a.md",
    "docs/x/../../USER.md",
    "memory\\a.md",
    ".\\MEMORY.md",
    "memory./a.md",
    "memory /a.md",
    "MEMORY.md.",
    "MEMORY.md ",
    "uſer.md",
    "mem\u200Dory.md",
  ])("is %j", (path) => {
    expect(isPrivateNote(path)).toBe(true);
    expect(isPrivateNote(path, workspaceDir)).toBe(true);
  });

  test.each([
    "../Größe/MEMORY.md",
    "../größe/memory/a.md",
    `../${"Größe".normalize("NFD")}/MEMORY.md`,
    "docs/../../Größe/USER.md",
    "/home/me/Größe/MEMORY.md",
    "/home/me/x/../Größe/memory/a.md",
    "../../me/Größe/MEMORY.md",
  ])("is also %j, seen from its workspace", (path) => {
    expect(isPrivateNote(path, workspaceDir)).toBe(true);
    expect(isPrivateNote(path, "/home/me/other")).toBe(false);
  });

  test.each([
    "docs/MEMORY.md",
    "docs/memory/a.md",
    "../MEMORY.md",
    "../memory/a.md",
    "../shared/USER.md",
    "memory-of-all/a.md",
    "MEMORY.md/a.md",
    "USERS.md",
    "memory.markdown",
    "memory/../docs/a.md",
    "/srv/memory/a.md",
  ])("is not %j", (path) => {
    expect(isPrivateNote(path)).toBe(false);
    expect(isPrivateNote(path, workspaceDir)).toBe(false);
  });
});

test("a peer who calls itself by the owner's entry for another channel is somebody else", () => {
  const kind = (key: string, owner: string): string => sessionKindOf(key, "main", [owner]);
  expect(kind("agent:main:telegram:direct:7", "telegram:7")).toBe("main");
  expect(kind("agent:main:direct:telegram:7", "telegram:7")).toBe("main");
  expect(kind("agent:main:webchat:direct:telegram:7", "telegram:7")).toBe("group");
  expect(kind("agent:main:webchat:default:dm:Telegram:7", "telegram:7")).toBe("group");
  expect(kind("agent:main:webchat:direct:telegram:7", "webchat:telegram:7")).toBe("main");
  expect(kind("agent:main:matrix:direct:@anna:example.org", "@anna:example.org")).toBe("main");
});
