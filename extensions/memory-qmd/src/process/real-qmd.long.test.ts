import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findQmd } from "./find-qmd.ts";
import type { FoundQmd, QmdSearch } from "../qmd-contract.ts";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { failureOf, fakeQmd, noSignal, openLab, tempFolder, writeConfig, writeNotes } from "./test/qmd-lab.ts";
import { realQmd } from "@memslot/fakes/qmd";
import { startChild } from "@memslot/test-tools/child";

const files = {
  "a.md": "# Alpha\n\nThe staging server listens on port 5544.\n",
  "sub/b ü#&+.md": "# Beta\n\nZX-1007 runs v1.2.3 on the production server. 医生说每天要走一万步。\n",
  "c.md": "# Marathons\n\nTraining plans: running every day, foo_bar and a café.\n",
  "d.md": "# Delta\n\nPorts of call: Hamburg, Oslo. Real-time data.\n",
};

/** The real tool, as far as it can be installed here. It is asked for no model and fetches none. */
describe("the real qmd 2.8.3", () => {
  let found: FoundQmd | undefined;
  let reason = "";

  beforeAll(async () => {
    const real = await realQmd();
    if (real.command === undefined) reason = real.reason;
    else found = await findQmd({ command: real.command, environment: process.env, signal: noSignal });
  }, 320_000);

  beforeEach(({ skip }) => skip(found === undefined, reason));

  const lab = (options: Partial<Parameters<typeof openLab>[0]> = {}): ReturnType<typeof openLab> => {
    if (found === undefined) throw new Error(reason);
    return openLab({ found, ...options });
  };

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
    const fake = fakeQmd();
    const real = lab({ notes });
    const scripted = lab({ notes, found: { ...fake, location: fake.folder } });
    await real.update(files);
    await scripted.update();
    const lex = (...lines: string[]): QmdSearch[] => lines.map((query) => ({ type: "lex", query }));
    const questions = [
      lex("staging"),
      lex("staging port", "staging", "port"),
      lex("stag"),
      lex("taging"),
      lex("which server listens on the port"),
      lex("zx-1007"),
      lex("zx-1008"),
      lex("v1.2.3"),
      lex("v1.2"),
      lex("医生"),
      lex("一万步"),
      lex("marathon"),
      lex("cafe"),
      lex("foo_bar"),
      lex("real-time"),
      lex("server -staging"),
      lex("server", "hamburg"),
      lex('"production server"'),
      lex('"server production"'),
      lex("...", "!!!"),
    ];
    const both = [real, scripted];
    for (const searches of questions) {
      const answers = await Promise.all(both.map((each) => each.ask("", { searches })));
      const [ours, theirs] = answers.map(({ rows }) => rows.map(({ path, score }) => ({ path, score })));
      expect(theirs, JSON.stringify(searches)).toEqual(ours);
      expect(answers.map(({ by }) => by)).toEqual(["mcp", "mcp"]);
    }
    expect(await scripted.process.status(noSignal)).toEqual(await real.process.status(noSignal));
  });

  test("tells the same failures as the scripted one", async () => {
    const fake = fakeQmd();
    for (const each of [lab(), lab({ found: { ...fake, location: fake.folder } })]) {
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

  test("reads what was changed and drops what was deleted, but not what was emptied", async () => {
    const fake = fakeQmd();
    for (const each of [lab(), lab({ found: { ...fake, location: fake.folder } })]) {
      const { process, update, ask, notes } = each;
      await update(files);
      rmSync(join(notes, "d.md"));
      await update({ "a.md": "# Alpha\n\nThe walrus.\n", "c.md": "" });
      expect((await ask("staging")).rows).toEqual([]);
      expect((await ask("hamburg")).rows).toEqual([]);
      expect((await ask("walrus")).rows.map(({ path }) => path)).toEqual(["a.md"]);
      expect((await ask("marathon")).rows.map(({ path }) => path)).toEqual(["c.md"]);
      await process.cleanup(noSignal);
      expect(await process.status(noSignal)).toMatchObject({ documents: 3, hasVectorIndex: false });
      expect(process.state()).toMatchObject({ transport: "mcp", lastError: undefined });
      const pid = process.state().pid ?? 0;
      await process.close();
      expect(isRunning(pid)).toBe(false);
    }
  });

  test("uses no settings of a folder above it and writes nothing there", async () => {
    const outer = tempFolder();
    writeNotes(outer, {
      ".qmd/index.yml": "collections:\n  evil:\n    path: /\n    pattern: '*.md'\n    update: 'touch owned'\n",
    });
    writeNotes(outer, { "state/keep": "" });
    const inner = lab({ folder: join(outer, "state") });
    await inner.update(files);
    expect((await inner.ask("staging")).rows.length).toBe(1);
    expect((await inner.process.status(noSignal)).collections.map(({ name }) => name)).toEqual(["notes"]);
    expect(existsSync(join(outer, ".qmd/index.sqlite"))).toBe(false);
    expect(existsSync(join(outer, "owned"))).toBe(false);
  });

  test("ends with a host that is killed", async () => {
    const [folder, notes] = [tempFolder(), tempFolder()];
    writeNotes(notes, files);
    writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
    const host = startChild(new URL("./test/qmd-host.ts", import.meta.url), [found?.argv[1] ?? "", folder, "mcp"], {
      detached: true,
    });
    const pid = Number(await host.rest("pid "));
    expect(isRunning(pid)).toBe(true);
    host.process.kill("SIGKILL");
    await host.ended;
    await eventually(() => !isRunning(pid));
  });
});
