import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createWorkspace } from "@memslot/test-tools/files";
import refused from "../data/commands.json" with { type: "json" };
import { beforeEach, describe, expect, test } from "vitest";
import { createMemoryCommands, listChanges, type MemoryCommands, undoChange } from "@memslot/agent-kit";

let folder: string;
let workspaceDir: string;
let stateDir: string;
let commands: MemoryCommands;
const settings = { extraPaths: [], notes: "auto" as const };
const clock = (): Date => new Date("2026-11-22T12:00:00Z");

beforeEach(() => {
  const notes = { "MEMORY.md": "# Memory\n\n- Tea, no sugar.\n", "memory/boats/log.md": "one\r\ntwo\r\nthree\r\n" };
  ({ folder, workspaceDir, stateDir } = createWorkspace(notes));
  commands = create();
});

function create(sessionKey?: string): MemoryCommands {
  const memory = { agentId: "main", workspaceDir, ownerAllowFrom: [] };
  return createMemoryCommands({ memory, sessionKey, edit: { stateDir, settings, timeZone: "UTC", clock } });
}

function write(relPath: string, text: string): void {
  writeFileSync(path.join(workspaceDir, relPath), text);
}
const read = (relPath: string): string => readFileSync(path.join(workspaceDir, relPath), "utf8");
const place = () => ({ workspaceDir, stateDir, settings, changer: { agentId: "main", by: "test" }, at: clock() });
/** All files with their texts, without the trash. */
function all(): Record<string, string> {
  const names = readdirSync(workspaceDir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  return Object.fromEntries(
    names
      .filter((name) => !name.includes(".trash"))
      .toSorted()
      .map((name) => [name, read(name)]),
  );
}

async function undoEverything(): Promise<void> {
  for (const { id, state } of (await listChanges(place())).toReversed())
    if (state === "done") await undoChange(place(), id);
}

test("a secret is written by no command", async () => {
  const text = `The bot has glwt-${"a1B2c3D4e5".repeat(2)}`;
  const before = all();
  for (const command of [
    { command: "create", path: "/memories/bot.md", file_text: text },
    { command: "insert", path: "/memories/MEMORY.md", insert_line: 0, insert_text: text },
    { command: "str_replace", path: "/memories/MEMORY.md", old_str: "Tea", new_str: text },
  ])
    await expect(commands.run(command)).rejects.toThrow("GitLab token, line 1");
  expect(all()).toEqual(before);
});

test("a folder is shown two levels deep with sizes, without what is hidden, and a note with the numbers of its lines", async () => {
  mkdirSync(path.join(workspaceDir, "memory/.trash"));
  write("memory/.trash/x.md", "gone");
  write("memory/boats/picture.png", "x");
  expect(await commands.view({ path: "/memories" })).toBe(
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n" +
      "44B\t/memories\n27B\t/memories/MEMORY.md\n17B\t/memories/boats\n17B\t/memories/boats/log.md",
  );
  expect(await commands.view({ path: "/memories/boats/log.md" })).toBe(
    "Here's the content of /memories/boats/log.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree",
  );
  for (const range of [[2, -1], ["2", "-1"], "[2, -1]"])
    expect(
      await commands.run({ command: "view", path: "/memories/boats/log.md", view_range: range }),
      String(range),
    ).toMatch(/:\n {5}2\ttwo\n {5}3\tthree$/u);
});

test("all six commands change what they say, each is logged, and all of them are undone to the byte", async () => {
  const before = all();
  expect(await commands.create({ path: "/memories/people/anna.md", file_text: "# Anna\n\n- Likes tea.\n" })).toBe(
    "File created successfully at: /memories/people/anna.md",
  );
  expect(read("memory/people/anna.md")).toBe("# Anna\n\n- Likes tea.\n");
  expect(
    await commands.str_replace({ path: "/memories/boats/log.md", old_str: "two\nthree", new_str: "zwei\n3" }),
  ).toBe(
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\tzwei\n     3\t3",
  );
  expect(read("memory/boats/log.md")).toBe("one\r\nzwei\r\n3\r\n");
  expect(await commands.str_replace({ path: "/memories/MEMORY.md", old_str: ", no sugar" })).toContain("- Tea.");
  expect(await commands.insert({ path: "/memories/boats/log.md", insert_line: 0, insert_text: "zero\n" })).toBe(
    "The file /memories/boats/log.md has been edited.",
  );
  await commands.run({ command: "insert", path: "/memories/boats/log.md", insert_line: "4", insert_text: "four" });
  expect(read("memory/boats/log.md")).toBe("zero\r\none\r\nzwei\r\n3\r\nfour\r\n");
  expect(await commands.rename({ old_path: "/memories/boats", new_path: "/memories/ships/old" })).toBe(
    "Successfully renamed /memories/boats to /memories/ships/old",
  );
  expect(read("memory/ships/old/log.md")).toBe("zero\r\none\r\nzwei\r\n3\r\nfour\r\n");
  expect(await commands.delete({ path: "/memories/people" })).toBe("Successfully deleted /memories/people");
  expect(Object.keys(all())).toEqual(["MEMORY.md", "memory/ships/old/log.md"]);
  expect(readdirSync(path.join(workspaceDir, "memory/.trash"))).toHaveLength(1);
  const changes = await listChanges(place());
  expect(changes.map(({ kind, state, by }) => `${kind} ${state} ${by}`)).toEqual(
    ["create", "edit", "edit", "edit", "edit", "create", "delete", "delete"].map(
      (kind) => `${kind} done memory_20250818`,
    ),
  );
  await undoEverything();
  expect(all()).toEqual(before);
  expect(readdirSync(path.join(workspaceDir, "memory/.trash"))).toEqual([]);
});

test.each(refused.refused)(
  "$command is refused in the words of the tool, and changes nothing",
  async ({ command, message }) => {
    const before = all();
    await expect(commands.run(command)).rejects.toThrow(message);
    expect(all()).toEqual(before);
    expect(await listChanges(place())).toEqual([]);
  },
);

describe("hostile", () => {
  test("paths lead nowhere, with any command", async () => {
    writeFileSync(path.join(folder, "outside.md"), "outside\n");
    mkdirSync(path.join(folder, "elsewhere"));
    writeFileSync(path.join(folder, "elsewhere/secret.md"), "outside\n");
    symlinkSync(path.join(folder, "elsewhere"), path.join(workspaceDir, "memory/link"));
    symlinkSync(path.join(folder, "outside.md"), path.join(workspaceDir, "memory/leaf.md"));
    const before = all();
    for (const given of refused.paths)
      for (const command of [
        { command: "view", path: given },
        { command: "create", path: given, file_text: "x" },
        { command: "str_replace", path: given, old_str: "outside", new_str: "x" },
        { command: "insert", path: given, insert_line: 0, insert_text: "x" },
        { command: "delete", path: given },
        { command: "rename", old_path: given, new_path: "/memories/mine.md" },
        { command: "rename", old_path: "/memories/MEMORY.md", new_path: given },
      ])
        await expect(commands.run(command), JSON.stringify(command)).rejects.toThrow(
          /is not allowed|does not exist|symbolic link|outside the memory/u,
        );
    expect(all()).toEqual(before);
    expect(readFileSync(path.join(folder, "outside.md"), "utf8")).toBe("outside\n");
    expect(readdirSync(path.join(folder, "elsewhere"))).toEqual(["secret.md"]);
    expect(await commands.view({ path: "/memories" })).not.toMatch(/link|leaf/u);
  });

  test("texts become no note, as with memory_append", async () => {
    const before = all();
    for (const text of [...refused.texts, "x".repeat(8_001)])
      for (const command of [
        { command: "create", path: "/memories/new.md", file_text: text },
        { command: "str_replace", path: "/memories/MEMORY.md", old_str: "- Tea, no sugar.", new_str: text },
        { command: "insert", path: "/memories/MEMORY.md", insert_line: 3, insert_text: text },
      ])
        await expect(commands.run(command), JSON.stringify(command).slice(0, 90)).rejects.toThrow(
          /text holds|text has|code block/u,
        );
    expect(all()).toEqual(before);
  });

  test("characters that nobody sees are shown", async () => {
    write("memory/odd.md", "a\u202Eb\n");
    expect(await commands.view({ path: "/memories/odd.md" })).toContain("a\uFFFDb");
  });

  test("sessions in which others read along have no such tool", () => {
    for (const key of ["agent:main:telegram:group:-100", "agent:main:telegram:direct:8"])
      expect(() => create(key), key).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

test("a note that was changed after it was made or deleted is not undone over", async () => {
  await commands.create({ path: "/memories/new.md", file_text: "mine\n" });
  const [made] = await listChanges(place());
  write("memory/new.md", "mine, and theirs\n");
  await expect(undoChange(place(), made?.id)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await commands.delete({ path: "/memories/new.md" });
  write("memory/new.md", "another\n");
  await expect(undoChange(place())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(read("memory/new.md")).toBe("another\n");
  // A note that says the same as the deleted one was not brought back by the refused undo.
  write("memory/new.md", "mine, and theirs\n");
  await expect(undoChange(place())).rejects.toThrow("already exists");
  const states = (await listChanges(place())).map(({ state }) => state);
  expect(states).toEqual(["done", "done", "not done", "not done"]);
});
