import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realQmd } from "@memslot/fakes/qmd";
import { isRunning, startChild } from "@memslot/test-tools/child";
import { openLedger } from "@memslot/indexing/ledger";
import { afterwards, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { beforeAll, describe, expect, test } from "vitest";
import { findQmd } from "./process/find-qmd.ts";
import { openQmdProcess } from "./process/open-process.ts";
import { failureOf, noSignal, openLab, writeConfig } from "./process/test/qmd-lab.ts";
import type { FoundQmd, QmdSearch } from "./qmd-contract.ts";
import { memoryLab, qmdStatus } from "./test/memory-lab.ts";
import { emptyIndex } from "./update/index-state.ts";
import { writeIndexYaml } from "./update/index-yaml.ts";
import { QmdRecord } from "./update/qmd-record.ts";
import cases from "../test/data/cases.json" with { type: "json" };

const files = cases.realNotes;

const { command, reason } = await realQmd();
if (reason !== undefined) process.stderr.write(`${reason}\n`);

/** The real tool, as far as it can be installed here. It is asked for no model and fetches none. */
describe.skipIf(command === undefined)("the real qmd 2.8.3", () => {
  let found: FoundQmd;
  beforeAll(async () => {
    found = await findQmd({ command: command ?? "", environment: process.env, signal: noSignal });
  });

  const lab = (options: Partial<Parameters<typeof openLab>[0]> = {}): ReturnType<typeof openLab> =>
    openLab({ found, ...options });

  test("is found by its package and passes the probe before it has read anything", async () => {
    expect(found).toMatchObject({ version: "2.8.3", location: expect.stringMatching(/@tobilu.qmd$/) });
    const { process, folder, told } = lab();
    const before = readFileSync(join(folder, "index.yml"), "utf8");
    await process.probe(noSignal);
    expect(readFileSync(join(folder, "index.yml"), "utf8")).toBe(before);
    expect(told).toEqual([]);
  });

  test("answers by both ways as the scripted one does", async () => {
    const notes = tempFolder();
    const real = lab({ notes });
    const scripted = openLab({ notes });
    await real.update(files);
    await scripted.update();
    const lex = (...lines: string[]): QmdSearch[] => lines.map((query) => ({ type: "lex", query }));
    const both = [real, scripted];
    for (const searches of cases.questions.map((lines) => lex(...lines))) {
      const answers = await Promise.all(both.map((each) => each.ask("", { searches })));
      const [ours, theirs] = answers.map(({ rows }) => rows.map(({ path, score }) => ({ path, score })));
      expect(theirs, JSON.stringify(searches)).toEqual(ours);
      expect(answers.map(({ by }) => by)).toEqual(["mcp", "mcp"]);
    }
    expect(await scripted.process.status(noSignal)).toEqual(await real.process.status(noSignal));
  });

  test("tells the same failures as the scripted one", async () => {
    for (const each of [lab(), openLab()]) {
      await each.update(files);
      expect((await each.ask("nothingofthekind")).rows).toEqual([]);
      expect(await failureOf(each.ask("staging", { collections: ["other"] }))).toMatchObject({
        reason: "unknown_collection",
      });
      expect(await failureOf(each.ask('"odd'))).toMatchObject({ reason: "qmd_error" });
      await each.process.pause();
      writeFileSync(join(each.folder, "index.yml"), "collections: [broken");
      each.process.resume();
      expect(await failureOf(each.process.probe(noSignal))).toMatchObject({ reason: "config_broken" });
      writeConfig(each.folder, { notes: { path: each.notes, pattern: "**/*.md" } });
      writeFileSync(join(each.folder, "index.sqlite"), "garbage ".repeat(1000));
      expect(await failureOf(each.process.probe(noSignal))).toMatchObject({ reason: "index_damaged" });
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
    expect((await inner.ask("staging")).rows.length).toBe(1);
    expect((await inner.process.status(noSignal)).collections.map(({ name }) => name)).toEqual(["notes"]);
    expect(existsSync(join(outer, ".qmd/index.sqlite"))).toBe(false);
    expect(existsSync(join(outer, "owned"))).toBe(false);
  });

  test("ends with a host that is killed", async () => {
    const [folder, notes] = [tempFolder(), tempFolder()];
    writeFiles(notes, files);
    writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
    const host = startChild(
      new URL("./process/test/qmd-host.ts", import.meta.url),
      [found.argv[1] ?? "", folder, "mcp"],
      {
        detached: true,
      },
    );
    const pid = Number(await host.rest("pid "));
    expect(isRunning(pid)).toBe(true);
    host.process.kill("SIGKILL");
    await host.ended;
    await eventually(() => !isRunning(pid));
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
    const { memory, ask } = await lab.open({ command });
    await memory.sync();
    const { results, report } = await ask("walrus", { maxResults: 50, minScore: 0 });
    const wanted = [...names.map((name) => `memory/${name}`), "memory/build/b.md"];
    expect(results.map(({ path }) => path.normalize("NFC")).toSorted()).toEqual(wanted.toSorted());
    expect(report.state).toBe("ok");
    const check = await memory.check();
    expect(check?.findings.find(({ name }) => name === "documents")?.message).toBe(
      "qmd holds 10 notes, 10 were read into it; 1 more are searched by memslot itself",
    );
  });

  test("a single file with any name is read by qmd as an extra path", async () => {
    const lab = memoryLab();
    lab.write("docs/one, {a} [b] (1)! +@.md", "The heron nests.\n");
    lab.write("docs/two.md", "The heron rests.\n");
    // The layout of an agent: else all notes of the folder are memory.
    lab.write("MEMORY.md", "Nothing of birds.\n");
    const { memory, ask } = await lab.open({ command, qmd: { paths: [{ path: "docs/one, {a} [b] (1)! +@.md" }] } });
    await memory.sync();
    expect((await ask("heron")).results.map(({ snippet }) => snippet.trim())).toEqual(["The heron nests."]);
    expect(qmdStatus({ memory })).toMatchObject({ documents: 2, passedOver: 0 });
  });

  test("collections that are emptied and filled again hold everything again, as the vectors of an index ask for", async () => {
    const lab = memoryLab();
    const { signal } = new AbortController();
    lab.write("memory/a.md", "The ferry leaves at eight.\n");
    const collection = {
      name: "mslot2",
      source: "memory",
      root: `${lab.workspaceDir}/memory`,
      pattern: "**/*.md",
      ignore: [],
      isExtra: false,
    };
    const found = await findQmd({ command: command ?? "qmd", environment: process.env, signal });
    const qmd = openQmdProcess({
      found,
      folder: lab.folder,
      environment: process.env,
      mode: "lexical",
      notify: () => {},
    });
    try {
      writeIndexYaml(lab.folder, [collection], false);
      await qmd.update({ files: 1, signal });
      const documents = async (): Promise<number | undefined> => (await qmd.status(signal)).collections[0]?.documents;
      expect(await documents()).toBe(1);
      const ledger = await openLedger({
        store: "memory-qmd",
        path: join(lab.folder, "ledger.sqlite"),
        cacheMaxEntries: 0,
      });
      afterwards(() => ledger.close());
      const record = new QmdRecord({ ledger, folder: lab.folder, readOnly: true });
      const how = { damaged: false, keepVectors: true, signal };
      await emptyIndex({ folder: lab.folder, process: qmd, record, collections: [collection], ...how });
      expect(await documents()).toBeUndefined();
      await qmd.update({ files: 1, signal });
      expect(await documents()).toBe(1);
      const { rows } = await qmd.query({
        searches: [{ type: "lex", query: "ferry" }],
        limit: 5,
        collections: ["mslot2"],
        rerank: false,
        deadlineMs: 5000,
        signal,
      });
      expect(rows.map(({ path }) => path)).toEqual(["a.md"]);
    } finally {
      await qmd.close();
    }
  });
});
