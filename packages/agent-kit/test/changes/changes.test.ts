import {
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { MemoryToolsOptions } from "@memslot/agent-kit";
import { beforeEach, describe, expect, test } from "vitest";
import scripts from "../data/change-scripts.json" with { type: "json" };
import refused from "../data/commands.json" with { type: "json" };
import data from "../data/edits.json" with { type: "json" };
import { expectSteps, NoteScript, type Step } from "../support/note-script.ts";

let notes: NoteScript;
beforeEach(() => void (notes = new NoteScript()));

test.each(Object.entries(scripts as unknown as Record<string, Step[]>))("%s", async (_, steps) =>
  expectSteps(notes, steps),
);

describe("the tools that change notes", () => {
  test("exist only for a session alone with the owner, if the host has settings for them", () => {
    const names = (options: Partial<MemoryToolsOptions>): string[] => notes.tools(options).map(({ name }) => name);
    const both = ["memory_edit", "memory_forget"];
    expect(names({})).toEqual(["memory_search", "memory_get", "memory_append", ...both]);
    expect(names({ append: false })).toEqual(["memory_search", "memory_get", ...both]);
    for (const options of [
      { edit: false as const },
      { edit: undefined },
      { chatType: "group" as const },
      { sessionKey: "agent:main:telegram:group:-100" },
      { sessionKey: "agent:main:telegram:direct:8" },
    ])
      expect(names(options).join(), JSON.stringify(options)).not.toMatch(/edit|forget/u);
  });

  test("have the hash of the whole file from a read", async () => {
    notes.write("one\ntwo\n");
    const before = await notes.hash();
    expect(before).toMatch(/^[0-9a-f]{16}$/u);
    notes.write("one\ntwo \n");
    expect(await notes.hash()).not.toBe(before);
    const get = notes.tools({ edit: false }).find(({ name }) => name === "memory_get");
    expect(await get?.execute({ path: "MEMORY.md" })).not.toHaveProperty("hash");
  });

  test("write nothing that could not be appended, also if harmless parts form it", async () => {
    notes.write("# Facts\n- << x\n- keep\n");
    for (const [old = "", text = ""] of data.hostile)
      for (const supersedes of [undefined, ...(old === "- keep" && !/^[#`]/u.test(text) ? [true] : [])])
        await notes.verbs.edit(old, text, { status: "error" }, { supersedes });
    expect(notes.read()).toBe("# Facts\n- << x\n- keep\n");
    await notes.verbs.changes();
  });
});

describe("the log of changes", () => {
  const folder = (): string => path.join(notes.stateDir, "changes");
  const file = (): string => path.join(folder(), readdirSync(folder())[0] ?? "");
  const {
    edit,
    forget,
    undo,
    changes: expectChanges,
  } = new Proxy({} as NoteScript["verbs"], {
    get:
      (_, verb: keyof NoteScript["verbs"]) =>
      (...given: never[]) =>
        (notes.verbs[verb] as (...all: never[]) => unknown)(...given),
  });
  beforeEach(() => notes.write("- a\n- b\n"));

  test("that was cut off in the middle of a line reports its whole lines, and is continued", async () => {
    await edit("- a", "- A");
    writeFileSync(file(), `${readFileSync(file(), "utf8")}{"change":{"id":"half`);
    await edit("- b", "- B");
    await expectChanges("edit done", "edit done");
    await undo();
    await undo();
    expect(notes.read()).toBe("- a\n- b\n");
  });

  test("is read again if another file takes its place, and half a line once it is complete", async () => {
    await edit("- a", "- A");
    await expectChanges("edit done");
    const [entry = "", end = ""] = readFileSync(file(), "utf8").split(/(?<=\n)/u);
    writeFileSync(file(), entry + end + entry.slice(0, 10));
    await expectChanges("edit done");
    const second = entry.replaceAll(/"id":"[0-9a-f]+"/gu, '"id":"00000001"');
    const more = '{"id":"00000001","outcome":"not done"}\n{"id":"00000002","outcome":"done"}\n';
    writeFileSync(file(), `${entry}${end}${second}garbage\n${more}`);
    await expectChanges("edit done", "edit not done");
    writeFileSync(`${file()}~`, entry + end);
    renameSync(`${file()}~`, file());
    await expectChanges("edit done");
  });

  test("gets the outcomes that a killed process did not write from the next process", async () => {
    await edit("- a", "- A");
    await forget("- b");
    const lines = readFileSync(file(), "utf8").split("\n");
    const withoutEnds = lines.filter((line) => !line.includes('"outcome"')).join("\n");
    writeFileSync(file(), withoutEnds);
    await expectChanges("edit done", "forget done");
    // As if the second had been logged and never made.
    writeFileSync(file(), withoutEnds);
    notes.write("- A\n- b\n");
    await expectChanges("edit done", "forget not done");
    expect(notes.trash()).toEqual([]);
    await notes.verbs.restore("/no change to undo/");
    expect(notes.read()).toBe("- A\n- b\n");
  });

  test("is private to the owner; if it cannot be written, nothing is changed", async () => {
    await edit("- a", "- A");
    if (process.platform !== "win32")
      expect([file(), folder()].map((name) => statSync(name).mode & 0o777)).toEqual([0o600, 0o700]);
    const name = file();
    rmSync(name);
    mkdirSync(name);
    const unavailable = { status: "error", code: "UNAVAILABLE" };
    await edit("- b", "- c", unavailable);
    await forget("- b", unavailable);
    expect([notes.read(), notes.trash()]).toEqual(["- A\n- b\n", []]);
  });
});

describe("the memory tool", () => {
  beforeEach(() => {
    notes.write("# Memory\n\n- Tea, no sugar.\n");
    notes.write("one\r\ntwo\r\nthree\r\n", "memory/boats/log.md");
  });

  /** Expects commands to fail, and to change nothing. */
  async function expectRefused(commands: readonly unknown[], message: RegExp | string): Promise<void> {
    const before = notes.notes();
    for (const command of commands)
      await expect(notes.commands().run(command), JSON.stringify(command).slice(0, 90)).rejects.toThrow(message);
    expect(notes.notes()).toEqual(before);
    await notes.verbs.changes();
  }

  test.each(refused.refused)("$command is refused in the words of the tool", async ({ command, message }) => {
    await expectRefused([command], message);
  });

  test("follows no hostile path", async () => {
    const outside = path.join(notes.folder, "outside.md");
    writeFileSync(outside, "outside\n");
    mkdirSync(path.join(notes.folder, "elsewhere"));
    writeFileSync(path.join(notes.folder, "elsewhere/secret.md"), "outside\n");
    symlinkSync(path.join(notes.folder, "elsewhere"), path.join(notes.workspaceDir, "memory/link"));
    symlinkSync(outside, path.join(notes.workspaceDir, "memory/leaf.md"));
    const commands = refused.paths.flatMap((given) => [
      { command: "view", path: given },
      { command: "create", path: given, file_text: "x" },
      { command: "str_replace", path: given, old_str: "outside", new_str: "x" },
      { command: "insert", path: given, insert_line: 0, insert_text: "x" },
      { command: "delete", path: given },
      { command: "rename", old_path: given, new_path: "/memories/mine.md" },
      { command: "rename", old_path: "/memories/MEMORY.md", new_path: given },
    ]);
    await expectRefused(commands, /is not allowed|does not exist|symbolic link|outside the memory/u);
    expect(readFileSync(outside, "utf8")).toBe("outside\n");
    expect(readdirSync(path.join(notes.folder, "elsewhere"))).toEqual(["secret.md"]);
    expect(await notes.commands().view({ path: "/memories" })).not.toMatch(/link|leaf/u);
  });

  test("writes no text that memory_append refuses", async () => {
    const commands = [...refused.texts, "x".repeat(8_001)].flatMap((text) => [
      { command: "create", path: "/memories/new.md", file_text: text },
      { command: "str_replace", path: "/memories/MEMORY.md", old_str: "- Tea, no sugar.", new_str: text },
      { command: "insert", path: "/memories/MEMORY.md", insert_line: 3, insert_text: text },
    ]);
    await expectRefused(commands, /text holds|text has|code block/u);
  });

  test.each(["agent:main:telegram:group:-100", "agent:main:telegram:direct:8"])("does not exist for %s", (key) => {
    expect(() => notes.commands(key)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});
