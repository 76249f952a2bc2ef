import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { createWorkspace } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import { type MemoryTool, type MemoryToolsOptions, createMemoryTools, frameRecalled } from "@memslot/agent-kit";
import given from "./data/notes.json" with { type: "json" };
import input from "./data/tool-input.json" with { type: "json" };
import { type FakeBehaviour, fakeMemory, harbour } from "./support/fake-memory.ts";

let workspaceDir: string;

beforeEach(() => void ({ workspaceDir } = createWorkspace()));

const clock = (): Date => new Date("2026-11-22T15:59:59Z");
const daily = "memory/2026-11-22.md";

type Run = (name: string, input: unknown, options?: { signal?: AbortSignal }) => Promise<object>;

function tools(options: Partial<MemoryToolsOptions> = {}, behaviour: FakeBehaviour = {}): MemoryTool[] {
  const memory = fakeMemory({ workspaceDir, ...behaviour });
  return createMemoryTools({ memory, citations: "auto", append: { timeZone: "Asia/Shanghai", clock }, ...options });
}

function runner(options: Partial<MemoryToolsOptions> = {}, behaviour: FakeBehaviour = {}): Run {
  const all = tools(options, behaviour);
  return async (name, input, more) => {
    const tool = all.find((one) => one.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return tool.execute(input, more);
  };
}

const read = (relPath: string): string => readFileSync(path.join(workspaceDir, relPath), "utf8");

const fact = "The harbour master is called Joost.";

describe("who gets the tool", () => {
  const names = (options: Partial<MemoryToolsOptions> = {}): string[] => tools(options).map(({ name }) => name);

  test("everyone who is alone with the owner, after the other two", () => {
    expect(names()).toEqual(["memory_search", "memory_get", "memory_append"]);
    expect(names({ append: undefined })).toEqual(["memory_search", "memory_get", "memory_append"]);
    expect(names({ sessionKey: "agent:main:telegram:direct:7" })).toContain("memory_append");
  });

  test("nobody where the host does not want it, where others read along, and where memory is off", () => {
    expect(names({ append: false })).toEqual(["memory_search", "memory_get"]);
    expect(names({ sessionKey: "agent:main:telegram:group:-100" })).toEqual(["memory_search", "memory_get"]);
    expect(names({ sessionKey: "agent:main:telegram:direct:8" })).toEqual(["memory_search", "memory_get"]);
    expect(names({ chatType: "group" })).toEqual(["memory_search", "memory_get"]);
    expect(names({ memory: undefined })).toEqual([]);
  });

  test("a time zone that is none is told to the host at once", () => {
    expect(() => tools({ append: { timeZone: "Mars/Olympus" } })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});

describe("a note that a model writes", () => {
  test("goes to the day of the user's time zone at the moment of writing", async () => {
    const moments = ["2026-11-22T15:59:59Z", "2026-11-22T16:00:01Z"];
    const nextMoment = (): Date => new Date(moments.shift() ?? "x");
    const run = runner({ append: { timeZone: "Asia/Shanghai", clock: nextMoment } });
    expect(await run("memory_append", { text: fact, kind: "daily", tags: ["港口", "boats"] })).toEqual({
      status: "ok",
      state: "appended",
      path: daily,
      startLine: 3,
      endLine: 3,
      citation: `${daily}#L3-L3`,
      day: "2026-11-22",
    });
    expect(await run("memory_append", { text: fact, kind: "daily" })).toMatchObject(input.dayOfTheUser);
    expect(read(daily)).toBe(`# 2026-11-22\n\n- 23:59 ${fact} #港口 #boats\n`);
    expect(read("memory/2026-11-23.md")).toBe(`# 2026-11-23\n\n- 00:00 ${fact}\n`);
  });

  test.each(input.takenTags as [unknown, string][])("has the tags %j as %j", async (tags, written) => {
    expect(await runner()("memory_append", { text: 4471, kind: "Daily", tags })).toMatchObject({ state: "appended" });
    expect(read(daily)).toBe(`# 2026-11-22\n\n- 23:59 ${`4471 ${written}`.trim()}\n`);
  });

  test("is written while the search is in its cooldown", async () => {
    const run = runner({}, { search: async () => Promise.reject(new Error("down")) });
    expect(await run("memory_search", { query: "x" })).toMatchObject({ unavailable: true });
    expect(await run("memory_append", { text: fact, kind: "daily" })).toMatchObject({ status: "ok" });
  });
});

describe("what was recalled", () => {
  const note = "- The harbour code is HX-19, and the gate\n  closes at ten in the evening.";
  const today = "memory/2026-11-22.md";
  const search = async (): Promise<(typeof harbour)[]> => [{ ...harbour, path: today, snippet: note }];

  test.each([
    ["whole", note],
    ["as another list item", "*  The harbour code is HX-19, and the gate closes at ten in the evening."],
    ["in part, with other spaces", "The harbour code is HX-19,  and the gate closes at ten"],
  ])("by a search does not become memory again: %s", async (_, text) => {
    const run = runner({}, { search });
    await run("memory_search", { query: "harbour" });
    expect(await run("memory_append", { text, kind: "daily" })).toEqual({
      status: "ok",
      state: "duplicate",
      path: today,
      startLine: 3,
      endLine: 9,
      citation: `${today}#L3-L9`,
      day: "2026-11-22",
      note: expect.stringContaining("just recalled"),
    });
    expect(readdirSync(workspaceDir)).toEqual([]);
  });

  test("by a read does not become memory again, and its place is that of the lines", async () => {
    const readFile = async (): Promise<{ status: "ok"; path: string; text: string; from: number; lines: number }> => ({
      status: "ok",
      path: today,
      text: note,
      from: 7,
      lines: 2,
    });
    const run = runner({}, { readFile });
    await run("memory_get", { path: today, from: 7 });
    expect(await run("memory_append", { text: note, kind: "daily" })).toMatchObject({
      state: "duplicate",
      citation: `${today}#L7-L8`,
    });
  });

  test.each(given.again as [string, string, string, string][])(
    "is written again on purpose: %s",
    async (_, path, kind, target) => {
      const run = runner({}, { search: async () => [{ ...harbour, path, snippet: note }] });
      await run("memory_search", { query: "harbour" });
      expect(await run("memory_append", { text: note, kind })).toMatchObject({ state: "appended", path: target });
      expect(await run("memory_append", { text: note, kind })).toMatchObject({ state: "duplicate", path: target });
    },
  );

  test("and its frame are told apart from a note by the frame", async () => {
    const text = frameRecalled("note", note);
    expect(await runner()("memory_append", { text, kind: "daily" })).toMatchObject({
      field: "text",
      error: expect.stringContaining('">>> … key"'),
    });
  });

  test("may be written down with something new, and where it is too short to tell", async () => {
    const run = runner({}, { search });
    await run("memory_search", { query: "harbour" });
    const more = `${note.slice(2)} It was HX-18 before.`;
    expect(await run("memory_append", { text: more, kind: "daily" })).toMatchObject({ state: "appended" });
    expect(await run("memory_append", { text: "The harbour code is HX-19", kind: "daily" })).toMatchObject({
      state: "appended",
    });
  });

  test("is forgotten after 50 other recalls, and is not known to another set of tools", async () => {
    let answered = 0;
    const run = runner({}, { search: async () => (answered++ === 0 ? search() : [harbour]) });
    await run("memory_search", { query: "harbour" });
    const text = "The harbour code is HX-19, and the gate closes";
    expect(await runner()("memory_append", { text, kind: "longterm" })).toMatchObject({ state: "appended" });
    for (let index = 0; index < 49; index++) await run("memory_search", { query: "x" });
    expect(await run("memory_append", { text, kind: "daily" })).toMatchObject({ state: "duplicate" });
    await run("memory_search", { query: "x" });
    expect(await run("memory_append", { text, kind: "daily" })).toMatchObject({ state: "appended" });
  });
});

describe("bad input", () => {
  const half = { name: "half a character", input: { text: "x \ud83d y", kind: "daily" } };
  const refused = [...given.refused, { ...half, field: "text", message: "lone surrogate" }];
  test.each(refused)("$name is an error that names the field and says what to change", async (row) => {
    const { field, message } = row;
    // The longest texts are written as their length.
    const input = JSON.parse(JSON.stringify(row.input), (_, value: unknown) =>
      typeof value === "string" ? value.replace(/^x\*(\d+)$/u, (_text, count) => "x".repeat(Number(count))) : value,
    ) as object;
    expect(await runner()("memory_append", input)).toEqual({
      status: "error",
      code: "INVALID_ARGUMENT",
      field,
      error: expect.stringMatching(new RegExp(message, "s")),
      action: `Correct "${field}" and call memory_append again.`,
    });
    expect(readdirSync(workspaceDir)).toEqual([]);
  });

  test.each([...given.accepted, "x".repeat(8_000)])("and a text that people write becomes a note: %j", async (text) => {
    const tags = ["x".repeat(40), "a-b_1", "Ж", "ไทย"];
    expect(await runner()("memory_append", { text, kind: "daily", tags })).toMatchObject({ status: "ok" });
    const [, ...lines] = read(daily)
      .trimEnd()
      .split("\n")
      .map((line) => line.trim());
    const words = lines.join("\n").replace(` ${tags.map((tag) => `#${tag}`).join(" ")}`, "");
    expect(words).toBe(
      `\n- 23:59 ${text
        .split("\n")
        .map((line) => line.trim())
        .join("\n")}`,
    );
  });
});

describe("a secret that a model writes", () => {
  // In pieces, so that no scanner takes this repository for leaking.
  const token = `glwt-${"a1B2c3D4e5".repeat(2)}`;
  const text = `The runner of the harbour:\nit signs in with ${token}.`;

  test.each([
    ["mask", "[redacted: GitLab token]"],
    ["keep", token],
  ] as const)("with %s stands in the note as %s", async (secrets, kept) => {
    expect(
      await runner({ append: { timeZone: "Asia/Shanghai", clock, secrets } })("memory_append", {
        text,
        kind: "longterm",
      }),
    ).toMatchObject({ status: "ok" });
    expect(read("MEMORY.md")).toContain(`it signs in with ${kept}.`);
  });
});

describe("a failure", () => {
  test("of memory to open is told with its reason", async () => {
    const run = runner({ memory: undefined, unavailable: { error: new MemoryError("CONFIG", "bad slot") } });
    expect(await run("memory_append", { text: fact, kind: "daily" })).toMatchObject({
      status: "error",
      code: "CONFIG",
      error: "bad slot",
      action: expect.stringContaining("Nothing was noted"),
    });
  });

  test("of the workspace names the file and the next step", async () => {
    const run = runner({}, { workspaceDir: path.join(workspaceDir, "gone") });
    expect(await run("memory_append", { text: fact, kind: "daily" })).toMatchObject({
      status: "error",
      code: "WORKSPACE",
      error: expect.stringMatching(/memory\/2026-11-22\.md.*workspace folder exists/),
    });
  });

  test("of the host's clock is an answer too", async () => {
    const run = runner({
      append: {
        timeZone: "UTC",
        clock: () => {
          throw new Error("no battery");
        },
      },
    });
    expect(await run("memory_append", { text: fact, kind: "daily" })).toMatchObject(input.noBattery);
  });
});
