import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { type NoteContent, readNote, type ReplacedNote, replaceNote } from "@memslot/agent-kit";
import { createWorkspace } from "@memslot/test-tools/files";
import data from "./data/edits.json" with { type: "json" };
import { beforeEach, describe, expect, test } from "vitest";

let folder: string;
let workspaceDir: string;
let stateDir: string;
const settings = { extraPaths: [], notes: "auto" as const };
const onWindows = process.platform === "win32";

beforeEach(() => {
  ({ folder, workspaceDir, stateDir } = createWorkspace());
  mkdirSync(path.join(workspaceDir, "memory"));
});

const at = (relPath: string): string => path.join(workspaceDir, relPath);
const name = (relPath: string): Parameters<typeof readNote>[0] => ({ workspaceDir, settings, stateDir, relPath });

async function read(relPath: string): Promise<NoteContent> {
  return (await readNote(name(relPath))) ?? expect.fail(`no ${relPath}`);
}

async function replace(relPath: string, text: string, sha256?: string): Promise<ReplacedNote> {
  return await replaceNote({ ...name(relPath), text, sha256: sha256 ?? (await read(relPath)).sha256 });
}

describe("a note that is replaced", () => {
  test("has the new text, the mode of the old one, and nothing beside it", async () => {
    writeFileSync(at("memory/a.md"), "one\ntwo\n");
    chmodSync(at("memory/a.md"), 0o640);
    const done = await replace("memory/a.md", "one\n2\n");
    expect(readFileSync(at("memory/a.md"), "utf8")).toBe("one\n2\n");
    expect(done).toMatchObject({ state: "replaced", note: { text: "one\n2\n", bytes: 6 } });
    expect(await read("memory/a.md")).toEqual(done.note);
    if (!onWindows) expect(statSync(at("memory/a.md")).mode & 0o777).toBe(0o640);
    expect(readdirSync(at("memory"))).toEqual(["a.md"]);
  });

  test.each(data.replaced as [string, string, string, string][])(
    "keeps its bytes: %s",
    async (_, before, text, after) => {
      writeFileSync(at("MEMORY.md"), before);
      expect((await read("MEMORY.md")).text).toBe(before.replace("\uFEFF", "").replaceAll("\r\n", "\n"));
      await replace("MEMORY.md", text);
      expect(readFileSync(at("MEMORY.md"), "utf8")).toBe(after);
      expect((await read("MEMORY.md")).text).toBe(text.replaceAll("\r\n", "\n"));
    },
  );

  test("is written no more where it says so already", async () => {
    writeFileSync(at("MEMORY.md"), "a\r\n");
    const before = statSync(at("MEMORY.md"), { bigint: true });
    expect(await replace("MEMORY.md", "a\n")).toMatchObject({ state: "replaced" });
    expect(statSync(at("MEMORY.md"), { bigint: true }).ino).toBe(before.ino);
  });

  test("clears away what a killed process left beside it, and nothing else", async () => {
    writeFileSync(at("MEMORY.md"), "a\n");
    writeFileSync(at(".memslot-mine.tmp"), "x");
    const young = ".memslot-01234567-89ab-cdef-0123-456789abcdef.tmp";
    writeFileSync(at(young), "x");
    await replace("MEMORY.md", "b\n");
    expect(readdirSync(workspaceDir).toSorted()).toEqual(
      [young, ".memslot-mine.tmp", "MEMORY.md", "memory"].toSorted(),
    );
  });
});

test("a second name that a process killed in the moment of its exchange has left is in nobody's way", async () => {
  writeFileSync(at("MEMORY.md"), "a\n");
  linkSync(at("MEMORY.md"), at(".memslot-01234567-89ab-cdef-0123-456789abcdef.tmp"));
  expect(await replace("MEMORY.md", "b\n")).toMatchObject({ state: "replaced" });
  expect(readdirSync(workspaceDir).toSorted()).toEqual(["MEMORY.md", "memory"]);
  expect(readFileSync(at("MEMORY.md"), "utf8")).toBe("b\n");
});

describe("a change by somebody else", () => {
  test("is a conflict that gives the present text, also with the same size and time, and writes nothing", async () => {
    writeFileSync(at("MEMORY.md"), "aaaaaa\n");
    const { sha256 } = await read("MEMORY.md");
    const { atime, mtime } = statSync(at("MEMORY.md"));
    writeFileSync(at("MEMORY.md"), "theirs\n");
    utimesSync(at("MEMORY.md"), atime, mtime);
    const answer = await replace("MEMORY.md", "mine\n", sha256);
    expect(answer).toMatchObject({ state: "conflict", note: { text: "theirs\n" } });
    expect(readFileSync(at("MEMORY.md"), "utf8")).toBe("theirs\n");
    expect(await replace("MEMORY.md", "mine\n", answer.note?.sha256)).toMatchObject({ state: "replaced" });
  });

  test("is a conflict where the note is gone, and does not bring it back", async () => {
    writeFileSync(at("MEMORY.md"), "a\n");
    const { sha256 } = await read("MEMORY.md");
    rmSync(at("MEMORY.md"));
    expect(await replace("MEMORY.md", "mine\n", sha256)).toEqual({ state: "conflict", note: undefined });
    expect(readdirSync(workspaceDir)).toEqual(["memory"]);
  });
});

describe("is refused and left as it is:", () => {
  test("what is no part of the memory", async () => {
    writeFileSync(path.join(folder, "secret.md"), "x\n");
    writeFileSync(at("plan.md"), "x\n");
    for (const relPath of data.refusedPaths) {
      await expect(readNote(name(relPath)), relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
      await expect(replaceNote({ ...name(relPath), text: "y", sha256: "" }), relPath).rejects.toMatchObject({
        code: "PATH_NOT_ALLOWED",
      });
    }
  });

  test.skipIf(onWindows)("what lies behind a link, and what has two names", async () => {
    writeFileSync(path.join(folder, "secret.md"), "x\n");
    symlinkSync(path.join(folder, "secret.md"), at("memory/link.md"));
    symlinkSync(folder, at("memory/away"));
    for (const relPath of ["memory/link.md", "memory/away/secret.md"])
      await expect(readNote(name(relPath)), relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    writeFileSync(at("memory/a.md"), "x\n");
    linkSync(at("memory/a.md"), at("memory/b.md"));
    await expect(replace("memory/a.md", "y\n")).rejects.toThrow(/more than one name/u);
    expect(readFileSync(at("memory/b.md"), "utf8")).toBe("x\n");
  });

  test.each([
    ["UTF-16", Buffer.from("\uFEFFhello", "utf16le")],
    ["bytes that are not UTF-8", Buffer.from([97, 0xe9, 98, 10])],
    ["a NUL", Buffer.from("a\0b\n")],
    ["CR alone", Buffer.from("a\rb\n")],
  ])("%s, which is shown all the same", async (_, bytes) => {
    writeFileSync(at("MEMORY.md"), bytes);
    const { fixed, text } = await read("MEMORY.md");
    expect(fixed).toBeDefined();
    await expect(replace("MEMORY.md", `${text.replaceAll("\0", "")}!`)).rejects.toMatchObject({ code: "WORKSPACE" });
    expect(readFileSync(at("MEMORY.md"))).toEqual(bytes);
  });

  test("a text that is none, one that is too large, and one that was called off", async () => {
    writeFileSync(at("MEMORY.md"), "a\n");
    const { sha256 } = await read("MEMORY.md");
    const invalid = { code: "INVALID_ARGUMENT" };
    await expect(replace("MEMORY.md", "a\0", sha256)).rejects.toMatchObject(invalid);
    await expect(replace("MEMORY.md", "a\uD800", sha256)).rejects.toMatchObject(invalid);
    await expect(replace("MEMORY.md", "a".repeat(5_000_000), sha256)).rejects.toThrow(/4 MB/u);
    const signal = AbortSignal.abort();
    await expect(replaceNote({ ...name("MEMORY.md"), text: "b\n", sha256, signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(readFileSync(at("MEMORY.md"), "utf8")).toBe("a\n");
    expect(readdirSync(workspaceDir).toSorted()).toEqual(["MEMORY.md", "memory"]);
  });
});
