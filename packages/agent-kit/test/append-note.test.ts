import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  type AppendNoteOptions,
  type AppendedNote,
  appendNote,
  parseCitation,
  writeSessionNote,
} from "@memslot/agent-kit";
import { notesLayout } from "@memslot/core/files";
import { createWorkspace, type Files, tempFolder } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import data from "./data/days.json" with { type: "json" };
import scripts from "./data/note-scripts.json" with { type: "json" };
import { expectSteps, NoteScript, type Step } from "./support/note-script.ts";

let workspaceDir: string;
let write: (files: Files) => void;

beforeEach(() => void ({ workspaceDir, write } = createWorkspace()));

const daily = "memory/2026-11-22.md";
const at = new Date("2026-11-22T13:05:00Z");

const append = (options: Partial<AppendNoteOptions> = {}): Promise<AppendedNote> =>
  appendNote({ workspaceDir, text: "The harbour code is HX-19.", kind: "daily", at, timeZone: "UTC", ...options });

const read = (relPath: string): string => readFileSync(path.join(workspaceDir, relPath), "utf8");

/** The lines that a citation names, as an editor counts them. */
function cited({ citation }: AppendedNote): string {
  const place = parseCitation(citation);
  if (place === undefined) throw new Error(`no citation: ${citation}`);
  const lines = read(place.path).split(/\r?\n/);
  return lines.slice(place.startLine - 1, place.endLine).join("\n");
}

test.each(Object.entries(scripts as unknown as Record<string, Step[]>))("%s", async (_, steps) => {
  await expectSteps(new NoteScript({}), steps);
});

describe("a note", () => {
  test.each(data.after as [string, string, string, string][])("%s", async (_, before, text, after) => {
    write({ [daily]: before });
    const noted = await append({ text });
    expect(read(daily)).toBe(after);
    expect(cited(noted)).toBe(`- 13:05 ${text.normalize("NFC").replace("\n", "\n  ")}`);
    expect(await append({ text: text.replace("\n", "\r\n") })).toEqual({ ...noted, state: "duplicate" });
  });

  test("in a log that has been empty for a while gets the heading", async () => {
    write({ [daily]: "" });
    utimesSync(path.join(workspaceDir, daily), new Date(0), new Date(0));
    await append();
    expect(read(daily)).toMatch(/^# 2026-11-22\n\n- 13:05/);
  });

  test.each(data.days as [string, string, string, string][])(
    "in %s at %s is of the %s, %s",
    async (timeZone, moment, day, time) => {
      expect(await append({ timeZone, at: new Date(moment), text: "x" })).toMatchObject({
        day,
        path: `memory/${day}.md`,
      });
      expect(read(`memory/${day}.md`)).toBe(`# ${day}\n\n- ${time} x\n`);
    },
  );
});

describe("a note that the file contains already", () => {
  test.each(data.same as [string, string, string[]][])("is not written again: %s", async (_, text, tags) => {
    const first = await append({ text: "The café closes at 9.", tags: ["food"] });
    await append({ text: "something between" });
    const before = read(daily);
    const later = new Date("2026-11-22T20:00:00Z");
    expect(await append({ text, tags, at: later })).toEqual({ ...first, state: "duplicate" });
    expect(read(daily)).toBe(before);
  });

  test.each(data.others as [string, string, string[]][])("is told from one with %s", async (_, text, tags) => {
    await append({ text: "The café closes at 9.", tags: ["food"] });
    expect(await append({ text, tags })).toMatchObject({ state: "appended" });
  });

  test.each([
    ["begins the log", undefined],
    ["is added to one", "# 2026-11-22\n\n"],
  ])("is written once by 50 concurrent calls if it %s, and all name its place", async (_, content) => {
    if (content !== undefined) write({ [daily]: content });
    const notes = await Promise.all(Array.from({ length: 50 }, () => append()));
    expect(notes.map(({ state }) => state).toSorted()).toEqual(["appended", ...Array(49).fill("duplicate")]);
    expect(new Set(notes.map(({ citation }) => citation)).size).toBe(1);
    expect(read(daily)).toBe("# 2026-11-22\n\n- 13:05 The harbour code is HX-19.\n");
  });

  test("50 different concurrent ones are all written, and each citation leads to its own", async () => {
    const notes = await Promise.all(Array.from({ length: 50 }, (_, index) => append({ text: `fact ${index}` })));
    for (const [index, noted] of notes.entries()) expect(cited(noted)).toBe(`- 13:05 fact ${index}`);
  });
});

describe("a file that cannot be appended to", () => {
  test.each(["memory", daily])("is refused where %s is a symbolic link, also to nothing", async (name) => {
    const elsewhere = tempFolder({ "log.md": "theirs\n" });
    const missing = path.join(elsewhere, "none.md");
    const link = path.join(workspaceDir, name);
    if (name === daily) write({ "memory/other.md": "" });
    for (const target of [name === daily ? path.join(elsewhere, "log.md") : elsewhere, missing]) {
      symlinkSync(target, link);
      await expect(append()).rejects.toMatchObject({
        code: "WORKSPACE",
        message: expect.stringContaining(`${name} is a symbolic link`),
      });
      rmSync(link);
    }
    expect(readdirSync(elsewhere)).toEqual(["log.md"]);
    expect(readFileSync(path.join(elsewhere, "log.md"), "utf8")).toBe("theirs\n");
  });

  test.each([
    ["UTF-16", Buffer.from("\uFEFFa day\n", "utf16le")],
    ["Latin-1", Buffer.from("caf\u00e9\n", "latin1")],
    ["bytes", Uint8Array.of(65, 0, 66)],
  ])("is refused if it contains %s, and stays as it is", async (_, content) => {
    write({ [daily]: content });
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /not UTF-8 text.*save it as UTF-8/ });
    expect(readFileSync(path.join(workspaceDir, daily))).toEqual(Buffer.from(content));
  });

  test.each(["daily", "longterm"] as const)("%s: a missing workspace is named and not created", async (kind) => {
    const missing = path.join(workspaceDir, "gone");
    await expect(append({ workspaceDir: missing, kind })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringMatching(/gone.*check that the (?:workspace )?folder exists/),
    });
    expect(existsSync(missing)).toBe(false);
  });

  test("is named with the next step where the system refuses it", async () => {
    await expect(append({ workspaceDir: "/proc" })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringMatching(/^cannot write memory\/2026-11-22\.md in \/proc: .+: .+/),
    });
  });
});

test("an abort while others have their turn lets those write", async () => {
  await expect(append({ signal: AbortSignal.abort(new Error("stop")) })).rejects.toMatchObject({
    name: "AbortError",
    message: "stop",
  });
  expect(readdirSync(workspaceDir)).toEqual([]);
  const controller = new AbortController();
  const first = append({ text: "first" });
  const second = append({ text: "second", signal: controller.signal });
  const third = append({ text: "third" });
  controller.abort();
  await expect(second).rejects.toMatchObject({ name: "AbortError" });
  await Promise.all([first, third]);
  expect(read(daily)).toBe("# 2026-11-22\n\n- 13:05 first\n- 13:05 third\n");
});

describe.each<[string, () => Promise<unknown>]>([
  ["a daily note", () => append()],
  ["a lasting note", () => append({ kind: "longterm" })],
  [
    "a note of a session",
    () =>
      writeSessionNote({
        workspaceDir,
        session: { key: "k", id: "s1" },
        messages: [{ id: "1", at: at.toISOString(), role: "user", text: "hello" }],
        describe: async () => ({ slug: "hello", text: "Somebody said hello." }),
        at,
        timeZone: "UTC",
      }),
  ],
])("the layout of the notes: %s", (_, writeNote) => {
  const mark = ".memslot-notes";
  const layout = (): string => notesLayout(workspaceDir, "auto").layout;

  test("leaves a folder of notes what it is, and the mark says what it is for", async () => {
    write({ "deep/er/Heat pump.md": "note\n" });
    await writeNote();
    expect(layout()).toBe("all");
    expect(read(mark)).toContain("folder of notes");
    expect(readdirSync(workspaceDir)).toHaveLength(3);
  });

  test.each(data.emptied as [string, Files][])("makes no mark in a workspace that %s", async (_name, files) => {
    write(files);
    await writeNote();
    expect([readdirSync(workspaceDir).includes(mark), layout()]).toEqual([false, "agent"]);
  });

  test("leaves an existing mark as it is, and follows no link in its place", async () => {
    write({ "Heat pump.md": "note\n", [mark]: "mine" });
    await writeNote();
    expect(read(mark)).toBe("mine");
    for (const name of [mark, "memory", "MEMORY.md"])
      rmSync(path.join(workspaceDir, name), { recursive: true, force: true });
    symlinkSync(path.join(workspaceDir, "outside.txt"), path.join(workspaceDir, mark));
    await writeNote();
    expect(existsSync(path.join(workspaceDir, "outside.txt"))).toBe(false);
    expect(layout()).toBe("all");
  });
});

test("many concurrent writers make one mark in a folder of notes and lose no note", async () => {
  writeFileSync(path.join(workspaceDir, "Heat pump.md"), "note\n");
  const texts = Array.from({ length: 20 }, (_, index) => `Fact number ${index}.`);
  await Promise.all(texts.map((text, index) => append({ text, kind: index % 2 === 0 ? "daily" : "longterm" })));
  const written = read("MEMORY.md") + read(daily);
  expect(texts.filter((text) => written.includes(text))).toHaveLength(20);
  expect(notesLayout(workspaceDir, "auto").layout).toBe("all");
});
