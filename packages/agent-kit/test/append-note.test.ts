import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AppendNoteOptions, type AppendedNote, appendNote, parseCitation } from "@memslot/agent-kit";

let workspaceDir: string;

beforeEach(async () => {
  workspaceDir = await mkdtemp(path.join(os.tmpdir(), "memslot-note-"));
});

afterEach(async () => rm(workspaceDir, { recursive: true, force: true }));

const daily = "memory/2026-11-22.md";
const at = new Date("2026-11-22T13:05:00Z");

const append = (options: Partial<AppendNoteOptions> = {}): Promise<AppendedNote> =>
  appendNote({ workspaceDir, text: "The harbour code is HX-19.", kind: "daily", at, timeZone: "UTC", ...options });

async function note(relPath: string, content: string | Uint8Array): Promise<void> {
  await mkdir(path.dirname(path.join(workspaceDir, relPath)), { recursive: true });
  await writeFile(path.join(workspaceDir, relPath), content);
}

const read = (relPath: string): Promise<string> => readFile(path.join(workspaceDir, relPath), "utf8");

/** The lines that a citation names, as an editor counts them. */
async function cited({ citation }: AppendedNote): Promise<string> {
  const place = parseCitation(citation);
  if (place === undefined) throw new Error(`no citation: ${citation}`);
  const lines = (await read(place.path)).split(/\r?\n/);
  return lines.slice(place.startLine - 1, place.endLine).join("\n");
}

describe("a note", () => {
  test("begins the log of its day and is cited with its lines", async () => {
    const noted = await append({ tags: ["boats", "#harbour"] });
    expect(noted).toEqual({
      state: "appended",
      path: daily,
      startLine: 3,
      endLine: 3,
      citation: `${daily}#L3-L3`,
      day: "2026-11-22",
    });
    expect(await read(daily)).toBe("# 2026-11-22\n\n- 13:05 The harbour code is HX-19. #boats #harbour\n");
  });

  test("comes after what is there, which stays as it is", async () => {
    await note(daily, "# A day\n\nwritten by hand  \n\n");
    const noted = await append();
    expect(await read(daily)).toBe("# A day\n\nwritten by hand  \n\n- 13:05 The harbour code is HX-19.\n");
    expect(noted.startLine).toBe(5);
  });

  test("begins a line of its own where the last one has no end", async () => {
    await note(daily, "no end");
    expect(await cited(await append())).toBe("- 13:05 The harbour code is HX-19.");
    expect(await read(daily)).toBe("no end\n- 13:05 The harbour code is HX-19.\n");
  });

  test("of several lines is one list item in which nothing of the file can begin", async () => {
    const text = "# Plan\r\n\r\n# Not a heading\r```sh\nmake\n ~~~\n   ~~~\n- a point\n  - deeper\n===\n";
    const noted = await append({ text, tags: ["plan"] });
    expect(await cited(noted)).toBe(
      [
        "- 13:05 # Plan #plan",
        "",
        "    # Not a heading",
        "    ```sh",
        "  make",
        "     ~~~",
        "     ~~~",
        "  - a point",
        "    - deeper",
        "  ===",
      ].join("\n"),
    );
    expect(noted).toMatchObject({ startLine: 3, endLine: 12 });
    expect((await append({ text })).state).toBe("appended");
    expect((await append({ text, tags: ["plan"] })).citation).toBe(noted.citation);
  });

  test("is written in one form of each letter", async () => {
    await append({ text: "Cafe\u0301", tags: ["cafe\u0301"] });
    expect(await read(daily)).toBe("# 2026-11-22\n\n- 13:05 Caf\u00e9 #caf\u00e9\n");
  });

  test("goes to the curated file with its day, without a heading", async () => {
    const noted = await append({ kind: "longterm", text: "Prefers tea.", tags: ["food"] });
    expect(noted).toMatchObject({ citation: "MEMORY.md#L1-L1", day: "2026-11-22" });
    expect(await read("MEMORY.md")).toBe("- 2026-11-22 Prefers tea. #food\n");
    expect(await readdir(workspaceDir)).toEqual(["MEMORY.md"]);
  });

  test("goes to memory.md where only that is there", async () => {
    await note("memory.md", "small\n");
    expect(await append({ kind: "longterm" })).toMatchObject({ path: "memory.md", startLine: 2 });
    expect(await readdir(workspaceDir)).toEqual(["memory.md"]);
  });

  test("keeps CRLF and a byte order mark", async () => {
    await note(daily, "\uFEFF# A day\r\n\r\nby hand");
    const noted = await append({ text: "one\ntwo" });
    expect(await read(daily)).toBe("\uFEFF# A day\r\n\r\nby hand\r\n- 13:05 one\r\n  two\r\n");
    expect(noted).toMatchObject({ startLine: 4, endLine: 5 });
    expect(await append({ text: "one\r\ntwo" })).toEqual({ ...noted, state: "duplicate" });
  });

  test("in an empty log that has been there for a while gets the heading", async () => {
    await note(daily, "");
    await utimes(path.join(workspaceDir, daily), new Date(0), new Date(0));
    await append();
    expect(await read(daily)).toMatch(/^# 2026-11-22\n\n- 13:05/);
  });
});

describe("a note that the file holds already", () => {
  test.each([
    ["the same words", "The café closes at 9.", ["food"]],
    ["another form of the same letters", "  The cafe\u0301 closes at 9.\n", ["food"]],
    ["the tag twice", "The café closes at 9.", ["food", "#food"]],
    ["the tag in the text", "The café closes at 9. #food", []],
  ])("is not written again: %s", async (_, text, tags) => {
    const first = await append({ text: "The café closes at 9.", tags: ["food"] });
    await append({ text: "something between" });
    const before = await read(daily);
    const later = new Date("2026-11-22T20:00:00Z");
    expect(await append({ text, tags, at: later })).toEqual({ ...first, state: "duplicate" });
    expect(await read(daily)).toBe(before);
  });

  test.each([
    ["other letters", "the café closes at 9.", ["food"]],
    ["another tag", "The café closes at 9.", ["place"]],
    ["no tag", "The café closes at 9.", []],
    ["a part of it", "The café closes", ["food"]],
    ["more lines", "The café closes at 9.\nOn Mondays at 8.", ["food"]],
  ])("is told from one with %s", async (_, text, tags) => {
    await append({ text: "The café closes at 9.", tags: ["food"] });
    expect(await append({ text, tags })).toMatchObject({ state: "appended" });
  });

  test("is written in the log of another day and in the curated file", async () => {
    await append();
    expect(await append({ at: new Date("2026-11-23T13:05:00Z") })).toMatchObject({ state: "appended" });
    expect(await append({ kind: "longterm" })).toMatchObject({ state: "appended" });
    expect(await append({ kind: "longterm", at: new Date("2027-01-01T00:00:00Z") })).toMatchObject({
      state: "duplicate",
      day: "2027-01-01",
      citation: "MEMORY.md#L1-L1",
    });
  });

  test.each([
    ["begins the log", undefined],
    ["comes into one that is there", "# 2026-11-22\n\n"],
  ])("is written once by 50 calls at once where it %s, and all name its place", async (_, content) => {
    if (content !== undefined) await note(daily, content);
    const notes = await Promise.all(Array.from({ length: 50 }, () => append()));
    expect(notes.map(({ state }) => state).toSorted()).toEqual(["appended", ...Array(49).fill("duplicate")]);
    expect(new Set(notes.map(({ citation }) => citation)).size).toBe(1);
    expect(await read(daily)).toBe("# 2026-11-22\n\n- 13:05 The harbour code is HX-19.\n");
  });

  test("is recognised behind a byte order mark", async () => {
    await note("MEMORY.md", "\uFEFF- 2026-01-01 The harbour code is HX-19.\n");
    expect(await append({ kind: "longterm" })).toMatchObject({ state: "duplicate", citation: "MEMORY.md#L1-L1" });
  });

  test("50 different ones at once are all there, and each citation leads to its own", async () => {
    const notes = await Promise.all(Array.from({ length: 50 }, (_, index) => append({ text: `fact ${index}` })));
    for (const [index, noted] of notes.entries()) expect(await cited(noted)).toBe(`- 13:05 fact ${index}`);
  });
});

describe("a file that cannot be appended to", () => {
  test.each(["memory", daily])("is refused where %s is a symbolic link", async (name) => {
    const elsewhere = await mkdtemp(path.join(os.tmpdir(), "memslot-elsewhere-"));
    try {
      await mkdir(path.dirname(path.join(workspaceDir, name)), { recursive: true });
      if (name === daily) await writeFile(path.join(elsewhere, "log.md"), "theirs\n");
      await symlink(name === daily ? path.join(elsewhere, "log.md") : elsewhere, path.join(workspaceDir, name));
      await expect(append()).rejects.toMatchObject({
        code: "WORKSPACE",
        message: expect.stringContaining(`${name} is a symbolic link`),
      });
      expect(await readdir(elsewhere)).toEqual(name === daily ? ["log.md"] : []);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  test("is not followed through a link that leads nowhere yet", async () => {
    const elsewhere = path.join(workspaceDir, "elsewhere.md");
    await mkdir(path.join(workspaceDir, "memory"));
    await symlink(elsewhere, path.join(workspaceDir, daily));
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE" });
    await expect(stat(elsewhere)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("is refused where a folder is in its place", async () => {
    await mkdir(path.join(workspaceDir, daily), { recursive: true });
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /is not a file/ });
    await note("MEMORY.md/x", "");
    await expect(append({ kind: "longterm" })).rejects.toMatchObject({ code: "WORKSPACE", message: /is not a file/ });
  });

  test.each([
    ["UTF-16", Buffer.from("\uFEFFa day\n", "utf16le")],
    ["bytes", Uint8Array.of(65, 0, 66)],
  ])("is refused where it holds %s, and stays as it is", async (_, content) => {
    await note(daily, content);
    await expect(append()).rejects.toMatchObject({ code: "WORKSPACE", message: /not UTF-8 text.*save it as UTF-8/ });
    expect(await readFile(path.join(workspaceDir, daily))).toEqual(Buffer.from(content));
  });

  test.each(["daily", "longterm"] as const)("%s: a missing workspace is named and not made", async (kind) => {
    const missing = path.join(workspaceDir, "gone");
    await expect(append({ workspaceDir: missing, kind })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringMatching(/gone.*check that the (?:workspace )?folder is there/),
    });
    await expect(stat(missing)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("is named with the next step where the system refuses it", async () => {
    await expect(append({ workspaceDir: "/proc" })).rejects.toMatchObject({
      code: "WORKSPACE",
      message: expect.stringMatching(/^cannot write memory\/2026-11-22\.md in \/proc: .+: .+/),
    });
  });

  test("is told from one that is not full: the curated file has a budget", async () => {
    const full = `${"x".repeat(19_950)}\n`;
    await note("MEMORY.md", full);
    expect(await append({ kind: "longterm", text: "fits" })).toMatchObject({ state: "appended" });
    await expect(append({ kind: "longterm" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/20000.*kind "daily".*tidy MEMORY\.md/),
    });
    expect(await read("MEMORY.md")).toBe(`${full}- 2026-11-22 fits\n`);
    expect(await append({ kind: "longterm", text: "fits" })).toMatchObject({ state: "duplicate" });
    await note(daily, full);
    expect(await append()).toMatchObject({ state: "appended" });
  });
});

describe("an abort", () => {
  test("before the write leaves nothing behind", async () => {
    await expect(append({ signal: AbortSignal.abort(new Error("stop")) })).rejects.toMatchObject({
      name: "AbortError",
      message: "stop",
    });
    expect(await readdir(workspaceDir)).toEqual([]);
  });

  test("while others have their turn lets those write", async () => {
    const controller = new AbortController();
    const first = append({ text: "first" });
    const second = append({ text: "second", signal: controller.signal });
    const third = append({ text: "third" });
    controller.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    await Promise.all([first, third]);
    expect(await read(daily)).toBe("# 2026-11-22\n\n- 13:05 first\n- 13:05 third\n");
  });
});

describe("what cannot become a note", () => {
  test.each([
    [{ text: " \n" }, /text is empty/],
    [{ text: "a\n---\nb" }, /front matter/],
    [{ tags: ["a b"] }, /tags may hold/],
    [{ timeZone: "Mars/Olympus" }, /unknown time zone/],
    [{ at: new Date(Number.NaN) }, /not a valid/],
  ])("%j is refused, and nothing is made", async (options, message) => {
    await expect(append(options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message });
    expect(await readdir(workspaceDir)).toEqual([]);
  });
});
