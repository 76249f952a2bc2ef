import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realQmd } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { beforeAll, describe, expect, test } from "vitest";
import { findQmd, type FoundQmd } from "./process/find-qmd.ts";
import type { QmdSearch } from "./process/qmd-client.ts";
import { failureOf, noSignal, openLab, startHost, writeConfig } from "./process/test/qmd-lab.ts";
import { memoryLab, qmdStatus } from "./test/memory-lab.ts";
import cases from "../test/data/cases.json" with { type: "json" };

const files = cases.realNotes;
/** For a busy machine. */
const slow = { update: { commandTimeoutMs: 60_000 }, limits: { timeoutMs: 30_000 } };

const { command, reason } = await realQmd();
if (reason !== undefined) process.stderr.write(`${reason}\n`);

/** The real tool, if it can be installed here, without models. */
describe.skipIf(command === undefined)("the real qmd 2.8.3", () => {
  let found: FoundQmd;
  beforeAll(async () => {
    found = await findQmd({ command: command ?? "", environment: process.env, signal: noSignal });
  });

  const lab = (options: Partial<Parameters<typeof openLab>[0]> = {}): ReturnType<typeof openLab> =>
    openLab({ found, ...options });

  test("is found by its package and answers before it has read anything", async () => {
    expect(found).toMatchObject({ version: "2.8.3", location: expect.stringMatching(/@tobilu.qmd$/) });
    const { client, folder, notices } = lab();
    const before = readFileSync(join(folder, "index.yml"), "utf8");
    expect(await client.status(noSignal)).toMatchObject({ documents: 0, collections: [] });
    expect(readFileSync(join(folder, "index.yml"), "utf8")).toBe(before);
    expect(notices).toEqual([]);
  });

  test("answers as the scripted one does", async () => {
    const notes = tempFolder();
    const both = [lab({ notes }), openLab({ notes })] as const;
    for (const each of both) await each.update(files);
    const lex = (...lines: string[]): QmdSearch[] => lines.map((query) => ({ type: "lex", query }));
    for (const searches of cases.questions.map((lines) => lex(...lines))) {
      const [real, scripted] = await Promise.all(both.map((each) => each.ask("", { searches })));
      const paths = (rows = real) => rows?.map(({ path }) => path);
      expect(paths(scripted), JSON.stringify(searches)).toEqual(paths());
    }
    const [real, scripted] = await Promise.all(both.map(({ client }) => client.status(noSignal)));
    expect(scripted).toEqual(real);
  });

  test("reports the same failures as the scripted one", async () => {
    for (const each of [lab(), openLab()]) {
      await each.update(files);
      expect(await each.ask("nothingofthekind")).toEqual([]);
      expect(await failureOf(each.ask("staging", { collections: ["other"] }))).toMatchObject({
        reason: "unknown_collection",
      });
      expect(await failureOf(each.ask('"odd'))).toMatchObject({ reason: "qmd_error" });
      await each.client.exclusively(() => writeFileSync(join(each.folder, "index.yml"), "collections: [x"), noSignal);
      expect(await failureOf(each.client.status(noSignal))).toMatchObject({ reason: "config_broken" });
      await each.client.exclusively(() => {
        writeConfig(each.folder, each.notes);
        for (const ending of ["-wal", "-shm"]) rmSync(join(each.folder, `index.sqlite${ending}`), { force: true });
        writeFileSync(join(each.folder, "index.sqlite"), "garbage ".repeat(1000));
      }, noSignal);
      expect(await failureOf(each.client.status(noSignal))).toMatchObject({ reason: "index_damaged" });
      expect(await failureOf(each.update())).toMatchObject({ reason: "index_damaged" });
    }
  });

  test("uses no settings of a folder above it and writes nothing there", async () => {
    const outer = tempFolder();
    writeFiles(outer, {
      ".qmd/index.yml": "collections:\n  evil:\n    path: /\n    pattern: '*.md'\n    update: 'touch owned'\n",
    });
    writeFiles(outer, { "state/keep": "" });
    const inner = lab({ folder: join(outer, "state") });
    await inner.update(files);
    expect(await inner.ask("staging")).toHaveLength(1);
    expect((await inner.client.status(noSignal)).collections.map(({ name }) => name)).toEqual(["notes"]);
    expect(existsSync(join(outer, ".qmd/index.sqlite"))).toBe(false);
    expect(existsSync(join(outer, "owned"))).toBe(false);
  });

  test.each(["search", "update"])("ends with a host that is killed during %s", async (what) => {
    const [folder, notes] = [tempFolder(), tempFolder()];
    writeFiles(notes, files);
    writeConfig(folder, notes);
    if (what === "search") await lab({ folder, notes }).update();
    const host = startHost(found, folder, what, 60_000);
    const pid = Number(await host.rest("pid "));
    if (what === "search") expect(isRunning(pid)).toBe(true);
    const marker = join(folder, "update.unfinished");
    if (what === "update") await eventually(() => existsSync(marker) || existsSync(join(folder, "index.sqlite")));
    host.process.kill("SIGKILL");
    await host.ended;
    if (what === "search") await eventually(() => !isRunning(pid));
    // An update is let finish, and the index is whole.
    await eventually(() => !existsSync(marker));
    expect(lab({ folder, notes }).client.isTorn()).toBe(false);
  });
});

describe.skipIf(command === undefined)("with the real qmd", () => {
  test("notes with any name are found by qmd itself, and what is passed over is not read by it", async () => {
    const lab = memoryLab();
    const names = cases.names;
    for (const name of names) lab.write(`memory/${name}`, `The walrus is in ${name}.\n`);
    const big = "memory/too large, {really} [very] (1).md";
    lab.write(big, `${"x".repeat(17 * 1024 * 1024)}\n`);
    lab.write("memory/build/b.md", "The walrus is in a folder that qmd passes over.\n");
    const { memory, ask } = await lab.open({ command, qmd: slow });
    await memory.sync();
    const { results, report } = await ask("walrus", { maxResults: 50, minScore: 0 });
    const wanted = [...names.map((name) => `memory/${name}`), "memory/build/b.md"];
    expect(results.map(({ path }) => path.normalize("NFC")).toSorted()).toEqual(wanted.toSorted());
    expect(report.state).toBe("ok");
    const check = await memory.check();
    expect(check?.findings.find(({ name }) => name === "documents")?.message).toBe(
      "qmd has 10 notes and has read 10; memslot searches 1 more itself",
    );
  });

  test("a single file with any name is read by qmd as an extra path", async () => {
    const lab = memoryLab();
    lab.write("docs/one, {a} [b] (1)! +@.md", "The heron nests.\n");
    lab.write("docs/two.md", "The heron rests.\n");
    // The layout of an agent: else all notes of the folder are memory.
    lab.write("MEMORY.md", "Nothing of birds.\n");
    const { memory, ask } = await lab.open({
      command,
      qmd: { ...slow, paths: [{ path: "docs/one, {a} [b] (1)! +@.md" }] },
    });
    await memory.sync();
    expect((await ask("heron")).results.map(({ snippet }) => snippet.trim())).toEqual(["The heron nests."]);
    expect(qmdStatus({ memory })).toMatchObject({ documents: 2, passedOver: 0 });
  });
});
