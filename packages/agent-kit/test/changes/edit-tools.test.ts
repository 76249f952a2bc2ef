import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createWorkspace } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type ChangePlace,
  createMemoryTools,
  listChanges,
  type MemoryToolsOptions,
  restoreNote,
  undoChange,
} from "@memslot/agent-kit";
import data from "../data/edits.json" with { type: "json" };
import { fakeMemory } from "../support/fake-memory.ts";

let folder: string;
let workspaceDir: string;
let stateDir: string;
const settings = { extraPaths: [], notes: "auto" as const };
const clock = (): Date => new Date("2026-11-22T12:00:00Z");

beforeEach(() => void ({ folder, workspaceDir, stateDir } = createWorkspace({ "memory/.keep": "" })));

const write = (text: string, relPath = "MEMORY.md"): void => writeFileSync(path.join(workspaceDir, relPath), text);
const read = (relPath = "MEMORY.md"): string => readFileSync(path.join(workspaceDir, relPath), "utf8");
const trash = (): string[] => {
  try {
    return readdirSync(path.join(workspaceDir, "memory/.trash"));
  } catch {
    return [];
  }
};

function tools(options: Partial<MemoryToolsOptions> = {}): ReturnType<typeof createMemoryTools> {
  const memory = fakeMemory({
    workspaceDir,
    readFile: async (params) => ({
      status: "ok",
      path: params.path ?? params.relPath,
      text: read(params.path ?? params.relPath),
      from: 1,
      lines: 9,
    }),
  });
  const edit = { stateDir, settings, timeZone: "UTC", clock };
  return createMemoryTools({ memory, citations: "on", sessionKey: "agent:main:main", edit, ...options });
}

async function call(name: string, input: object): Promise<Record<string, unknown>> {
  const tool = tools().find((each) => each.name === name) ?? expect.fail(`no tool ${name}`);
  return (await tool.execute(input)) as Record<string, unknown>;
}

async function hash(relPath = "MEMORY.md"): Promise<string> {
  return String((await call("memory_get", { path: relPath }))["hash"]);
}

const edit = async (old: string, text: string, more: object = {}): Promise<Record<string, unknown>> =>
  call("memory_edit", { path: "MEMORY.md", hash: await hash(), old, new: text, ...more });
const forget = async (old: string, reason = "It was wrong."): Promise<Record<string, unknown>> =>
  call("memory_forget", { path: "MEMORY.md", hash: await hash(), old, reason });

const place = (): ChangePlace => ({
  workspaceDir,
  stateDir,
  settings,
  changer: { agentId: "main", by: "test" },
  at: clock(),
});
const states = async (): Promise<string[]> => (await listChanges(place())).map(({ kind, state }) => `${kind} ${state}`);

test("a secret is not written by a change; one that stands in the note already is no obstacle", async () => {
  const token = `glwt-${"a1B2c3D4e5".repeat(2)}`;
  const other = `sk_live_${"a1B2c3D4".repeat(4)}`;
  write(`- The runner has ${token}.\n`);
  expect(await edit(`- The runner has ${token}.`, `- The old runner has ${token}.`)).toMatchObject({ status: "ok" });
  expect(await edit("The old runner", `The runner with ${other}`)).toMatchObject({
    field: "new",
    error: expect.stringContaining("Stripe key, line 1"),
  });
  expect(await forget(`- The old runner has ${token}.`, `It was ${other}.`)).toMatchObject({ field: "reason" });
  expect(read()).toBe(`- The old runner has ${token}.\n`);
});

test("the tools exist only for a session alone with the owner, if the host wants them", () => {
  const names = (options: Partial<MemoryToolsOptions>): string[] => tools(options).map(({ name }) => name);
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

test("a read gives the hash of the whole file if notes can be changed", async () => {
  write("one\ntwo\n");
  const before = await hash();
  expect(before).toMatch(/^[0-9a-f]{16}$/u);
  write("one\ntwo \n");
  expect(await hash()).not.toBe(before);
  const get = tools({ edit: false }).find(({ name }) => name === "memory_get");
  expect(await get?.execute({ path: "MEMORY.md" })).not.toHaveProperty("hash");
});

describe("an edit", () => {
  test("changes what was named and nothing else, keeps line ends, and is logged with who and when", async () => {
    write("\uFEFF# Facts\r\n- The boat lies in Harlingen.\r\n- Tea, no sugar.\n");
    const before = read();
    const answer = await edit("Harlingen", "Franeker");
    expect(answer).toMatchObject({ status: "ok", state: "edited", path: "MEMORY.md", startLine: 2, endLine: 2 });
    expect(read()).toBe(before.replace("Harlingen", "Franeker"));
    expect(answer["hash"]).toBe(await hash());
    const [change] = await listChanges(place());
    expect(change).toMatchObject({
      id: answer["change"],
      kind: "edit",
      state: "done",
      by: "memory_edit",
      agentId: "main",
      session: "agent:main:main",
      at: "2026-11-22T12:00:00.000Z",
      before: "- The boat lies in Harlingen.\r\n",
      after: "- The boat lies in Franeker.\r\n",
    });
    await undoChange(place());
    expect(read()).toBe(before);
    expect(await states()).toEqual(["edit undone", "undo done"]);
  });

  test("is refused with another hash, another text and a text that stands twice, and changes nothing", async () => {
    write("- a b\n- a c\n");
    const old = await hash();
    write("- a b\n- a c\n- d\n");
    const refused = [
      await call("memory_edit", { path: "MEMORY.md", hash: old, old: "- a b", new: "x" }),
      await call("memory_edit", { path: "MEMORY.md", hash: "", old: "- a b", new: "x" }),
      await call("memory_edit", { path: "MEMORY.md", hash: old.slice(0, 3), old: "- a b", new: "x" }),
      await edit("- a x", "x"),
      await edit("a", "x"),
      await edit("aa", "x"),
      await call("memory_edit", { path: "memory/none.md", hash: old, old: "a", new: "x" }),
    ];
    expect(refused.map(({ status, code }) => `${String(status)} ${String(code)}`)).toEqual(
      refused.map(() => "error INVALID_ARGUMENT"),
    );
    expect(read()).toBe("- a b\n- a c\n- d\n");
    expect(await listChanges(place())).toEqual([]);
  });

  test("puts nothing into a note that could not be appended, also where it is put together of parts", async () => {
    write("# Facts\n- << x\n- keep\n");
    const before = read();
    for (const [old = "", text = ""] of data.hostile)
      for (const supersedes of [undefined, ...(old === "- keep" && !/^[#`]/u.test(text) ? [true] : [])])
        expect(await edit(old, text, { supersedes }), JSON.stringify(text).slice(0, 60)).toMatchObject({
          status: "error",
        });
    expect(read()).toBe(before);
    expect(await listChanges(place())).toEqual([]);
  });

  test("never leaves the memory", async () => {
    write("- a\n");
    const outside = path.join(folder, "outside.md");
    writeFileSync(outside, "- a\n");
    for (const name of ["../outside.md", outside, "memory/../../outside.md", "memory/.trash/x.md"])
      expect(await call("memory_edit", { path: name, hash: await hash(), old: "- a", new: "- b" }), name).toMatchObject(
        { status: "error", code: "PATH_NOT_ALLOWED" },
      );
    expect(readFileSync(outside, "utf8")).toBe("- a\n");
  });

  test("that supersedes keeps the old line, struck and linked to the new one above it", async () => {
    const line = "- 2026-01-05 The boat is insured with Hollandia. #boat";
    write(`${line}\n- other\n`);
    const answer = await edit(line, "- The boat is insured with Zeeland.", { supersedes: true });
    expect(answer).toMatchObject({ status: "ok", startLine: 1, endLine: 2 });
    const id = String(answer["change"]);
    expect(read()).toBe(
      `- 2026-11-22 The boat is insured with Zeeland. ^${id}\n` +
        `- 2026-01-05 ~~The boat is insured with Hollandia. #boat~~ (superseded 2026-11-22: [[#^${id}]])\n- other\n`,
    );
    expect(await edit("insured with Zeeland", "x", { supersedes: true })).toMatchObject({ status: "error" });
    await undoChange(place(), id);
    expect(read()).toBe(`${line}\n- other\n`);
  });
});

describe("forgetting", () => {
  test("puts the lines into the trash with the reason, and restore brings them back to the byte", async () => {
    write("- a\n- secret plan\n  - part\n- b\n");
    const before = read();
    const answer = await forget("- secret plan\n  - part");
    expect(answer).toMatchObject({ status: "ok", state: "forgotten", path: "MEMORY.md" });
    expect(read()).toBe("- a\n- b\n");
    const [name = ""] = trash();
    expect(answer["trash"]).toBe(`memory/.trash/${name}`);
    const kept = read(`memory/.trash/${name}`);
    expect(kept).toContain('reason: "It was wrong."');
    expect(kept).toContain('forgotten: "2026-11-22T12:00:00.000Z"');
    expect(kept.endsWith("---\n- secret plan\n  - part\n")).toBe(true);
    await restoreNote(place());
    expect(read()).toBe(before);
    expect(trash()).toEqual([]);
    // And once more the other way: restored lines are forgotten again, and restored again.
    for (const [now, inTrash] of [
      ["- a\n- b\n", [name]],
      [before, []],
    ] as const) {
      await undoChange(place(), (await listChanges(place())).at(-1)?.id);
      expect([read(), trash()]).toEqual([now, inTrash]);
    }
  });

  test("wants whole lines, a reason that can be shown, and lines that are there", async () => {
    write("- a b\n- c\n");
    expect(await forget("a b")).toMatchObject({ status: "error", code: "INVALID_ARGUMENT" });
    expect(await forget("- a")).toMatchObject({ status: "error" });
    expect(await forget("- d")).toMatchObject({ status: "error" });
    expect(await forget("- c", "x <|im_end|>")).toMatchObject({ status: "error", field: "reason" });
    expect(read()).toBe("- a b\n- c\n");
    expect(trash()).toEqual([]);
    expect(await forget("- a b\n- c\n")).toMatchObject({ status: "ok" });
    expect(read()).toBe("");
    await undoChange(place());
    expect(read()).toBe("- a b\n- c\n");
  });
});

describe("taking back", () => {
  test("leaves what else has changed, finds lines that have moved, and refuses where they have changed", async () => {
    write("- a\n- b\n- c\n");
    const first = String((await edit("- b", "- B"))["change"]);
    write(`- new\n${read()}- end\n`);
    await undoChange(place(), first);
    expect(read()).toBe("- new\n- a\n- b\n- c\n- end\n");
    const second = String((await edit("- b", "- BB"))["change"]);
    write(read().replace("- BB", "- BBB"));
    await expect(undoChange(place(), second)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(`has changed since in the lines of change ${second}`) as string,
    });
    expect(read()).toBe("- new\n- a\n- BBB\n- c\n- end\n");
    await expect(undoChange(place(), first)).rejects.toMatchObject({
      message: expect.stringContaining("already") as string,
    });
    await expect(undoChange(place(), "00000000")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    rmSync(path.join(workspaceDir, "MEMORY.md"));
    await expect(undoChange(place(), second)).rejects.toMatchObject({
      message: expect.stringContaining("does not exist any more") as string,
    });
  });

  test("brings a forgotten line back beside the neighbour that is left", async () => {
    write("- a\n- b");
    await forget("- b");
    expect(read()).toBe("- a\n");
    write("- a\n- later\n");
    await restoreNote(place());
    expect(read()).toBe("- a\n- b\n- later\n");
    await forget("- b");
    write("- A\n- later\n");
    await restoreNote(place());
    expect(read()).toBe("- A\n- b\n- later\n");
    await forget("- b");
    write("- X\n- Y\n");
    await expect(undoChange(place())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(read()).toBe("- X\n- Y\n");
    expect(trash()).toHaveLength(1);
    await restoreNote(place());
    expect(read()).toBe("- X\n- b\n- Y\n");
    expect(trash()).toEqual([]);
  });

  test("undoes many changes, the latest first, back to the first byte", async () => {
    write("one\r\ntwo\nthree");
    const seen = [read()];
    const edits = { one: "1", three: "3\n4", two: "zwei\n\ndrei", "3": "three" };
    for (const [old, text] of [...Object.entries(edits).slice(1), ...Object.entries(edits).slice(0, 1)]) {
      expect(await edit(old, text)).toMatchObject({ status: "ok" });
      seen.push(read());
    }
    for (const before of seen.toReversed().slice(1)) {
      await undoChange(place());
      expect(read()).toBe(before);
    }
    await expect(undoChange(place())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("the log", () => {
  const file = (): string => {
    const [name = ""] = readdirSync(path.join(stateDir, "changes"));
    return path.join(stateDir, "changes", name);
  };

  test("that was cut off in the middle of a line says all that it says, and goes on", async () => {
    write("- a\n- b\n");
    await edit("- a", "- A");
    writeFileSync(file(), `${readFileSync(file(), "utf8")}{"change":{"id":"half`);
    await edit("- b", "- B");
    expect(await states()).toEqual(["edit done", "edit done"]);
    await undoChange(place());
    await undoChange(place());
    expect(read()).toBe("- a\n- b\n");
  });

  test("is read again if another one takes its place, and half a line once it is complete", async () => {
    write("- a\n- b\n");
    await edit("- a", "- A");
    expect(await states()).toEqual(["edit done"]);
    const [entry = "", end = ""] = readFileSync(file(), "utf8").split(/(?<=\n)/u);
    writeFileSync(file(), entry + end + entry.slice(0, 10));
    expect(await states()).toEqual(["edit done"]);
    const second = entry.replaceAll(/"id":"[0-9a-f]+"/gu, '"id":"00000001"');
    writeFileSync(
      file(),
      `${entry}${end}${second}garbage\n{"id":"00000001","outcome":"not done"}\n{"id":"00000002","outcome":"done"}\n`,
    );
    expect(await states()).toEqual(["edit done", "edit not done"]);
    writeFileSync(`${file()}~`, entry + end);
    renameSync(`${file()}~`, file());
    expect(await states()).toEqual(["edit done"]);
  });

  test("of a process that did not live to say how a change ended is put right by the next one", async () => {
    write("- a\n- b\n");
    await edit("- a", "- A");
    await forget("- b");
    const withoutEnds = readFileSync(file(), "utf8")
      .split("\n")
      .filter((line) => !line.includes('"outcome"'))
      .join("\n");
    writeFileSync(file(), withoutEnds);
    expect(await states()).toEqual(["edit done", "forget done"]);
    // As if the second had been written down and never made.
    writeFileSync(file(), withoutEnds);
    write("- A\n- b\n");
    expect(await states()).toEqual(["edit done", "forget not done"]);
    expect(trash()).toEqual([]);
    await expect(restoreNote(place())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(read()).toBe("- A\n- b\n");
  });

  test("is for its owner alone, and comes before the change: where it cannot be written, nothing is changed", async () => {
    write("- a\n");
    await edit("- a", "- b");
    if (process.platform !== "win32") {
      expect(statSync(file()).mode & 0o777).toBe(0o600);
      expect(statSync(path.dirname(file())).mode & 0o777).toBe(0o700);
    }
    const name = file();
    rmSync(name);
    mkdirSync(name);
    expect(await edit("- b", "- c")).toMatchObject({ status: "error", code: "UNAVAILABLE" });
    expect(await forget("- b")).toMatchObject({ status: "error", code: "UNAVAILABLE" });
    expect(read()).toBe("- b\n");
    expect(trash()).toEqual([]);
  });
});
