import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import type { FakeBehaviour, FakeQmd } from "@memslot/fakes/qmd";
import { type Child, isRunning } from "@memslot/test-tools/child";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { failureOf, fakeQmd, noSignal, openLab, type QmdLab, startHost, writeConfig } from "./test/qmd-lab.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

describe("work on the index", () => {
  const files = { "a.md": "# Alpha\n\nstaging\n" };

  /** Whether no start came between another start and its end. */
  function expectOneAtATime(fake: FakeQmd): void {
    const marks = [...fake.starts(), ...fake.ends()].sort((left, right) => left.at - right.at);
    expect(marks.map(({ kind }) => kind)).toEqual(marks.map((_, at) => (at % 2 === 0 ? "start" : "end")));
  }

  describe("an index that is locked by somebody else", () => {
    test("is tried again, three times", async () => {
      const { fake, update } = openLab();
      fake.set({ update: { busy: 3 } });
      await update(files);
      expect(fake.starts("update").length).toBe(4);
    });

    test("is a failure after that, and questions are answered meanwhile", async () => {
      const { fake, update, ask } = openLab();
      await update(files);
      fake.set({ update: { busy: true } });
      const before = fake.starts("update").length;
      expect(await failureOf(update())).toMatchObject({ reason: "index_busy" });
      expect(fake.starts("update").length - before).toBe(4);
      expect((await ask("staging")).by).toBe("mcp");
    });
  });

  test("an embed that finds another one at it has not embedded", async () => {
    const { fake, process, update } = openLab();
    await update(files);
    fake.set({ embed: { embedLocked: true } });
    expect(await process.embed({ minutes: 1, signal: noSignal })).toBe(false);
    fake.set({});
    expect(await process.embed({ minutes: 1, signal: noSignal })).toBe(true);
    expect(await process.status(noSignal)).toMatchObject({ hasVectorIndex: true, needsEmbedding: 0 });
  });

  test("updates, embeds and clean-ups go one after the other, and it is told what runs", async () => {
    const { fake, process } = openLab();
    fake.set({ all: { slowMs: 200 } });
    const work = [
      process.update({ files: 0, signal: noSignal }),
      process.embed({ minutes: 1, signal: noSignal }),
      process.cleanup(noSignal),
    ];
    await eventually(() => process.state().activity === "embed");
    await Promise.all(work);
    expect(process.state().activity).toBeUndefined();
    expectOneAtATime(fake);
    // Only what takes minutes gives way to others.
    const usual = getPriority();
    const priorities = fake.starts().map(({ command, priority }) => [command, priority > usual]);
    expect(priorities).toEqual([
      ["update", false],
      ["embed", true],
      ["cleanup", false],
    ]);
  });

  test("they go one after the other over several adapters and processes on one folder too", async () => {
    const folder = tempFolder();
    const { fake, process: first } = openLab({ folder });
    const second = openLab({ fake, folder }).process;
    fake.set({ all: { slowMs: 200 } });
    const others = [1, 2].map(() => startHost(fake, folder, "update", 60_000));
    await Promise.all([first, second].map((each) => each.update({ files: 0, signal: noSignal })));
    await Promise.all(others.map((other) => other.line("stays")));
    expect(fake.starts("update").length).toBe(4);
    expectOneAtATime(fake);
  });

  test("who waits too long for another process fails as index_busy, and its turn is not taken later", async () => {
    const folder = tempFolder();
    const { fake, process: first } = openLab({ folder });
    const second = openLab({ fake, folder, limits: { lockWaitMs: 100 } }).process;
    fake.set({ update: { slowMs: 60_000 } });
    const controller = new AbortController();
    const running = first.update({ files: 0, signal: controller.signal });
    await eventually(() => fake.starts("update").length === 1);
    expect(await failureOf(second.update({ files: 0, signal: noSignal }))).toMatchObject({ reason: "index_busy" });
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    await eventually(() => !isRunning(fake.starts("update")[0]?.pid ?? 0));
    expect(fake.starts("update").length).toBe(1);
  });

  test("the lock is free again when its holder was killed", async () => {
    const folder = tempFolder();
    const { fake, process: first } = openLab({ folder });
    fake.set({ update: { slowMs: 60_000 } });
    const host = startHost(fake, folder, "update");
    await host.line("ready");
    await eventually(() => fake.starts("update").length === 1);
    const [start] = fake.starts("update");
    fake.set({});
    // The keeper first: it holds the lock, and would ask the update to end when it sees that the host is gone.
    for (const pid of [start?.keeper, start?.pid, host.process.pid]) process.kill(pid ?? 0, "SIGKILL");
    await first.update({ files: 0, signal: noSignal });
    expect(fake.ends("update").length).toBe(1);
    expect(first.isTorn()).toBe(true);
  });

  describe("an update over its time", () => {
    const limits = { updateBaseMs: 1200, updatePerFileMs: 0 };

    test("is asked to end, and not killed before its grace: it ends whole", async () => {
      const { fake, process, folder, update } = openLab({ limits: { ...limits, updateGraceMs: 60_000 } });
      fake.set({ update: { blockMs: 4000 } });
      expect(await failureOf(update(files))).toMatchObject({ reason: "timeout" });
      expect(process.isTorn()).toBe(false);
      expect(fake.ends("update").map(({ code }) => code)).toEqual([0]);
      expect(existsSync(join(folder, "update.unfinished"))).toBe(false);
    });

    test("is killed after its grace, and the index counts as torn", async () => {
      const { fake, process, update } = openLab({ limits });
      fake.set({ update: { hang: true, ignoreTerm: true } });
      expect(await failureOf(update(files))).toMatchObject({ reason: "timeout" });
      expect(process.isTorn()).toBe(true);
      expect(fake.ends("update")).toEqual([]);
      process.mended();
      expect(process.isTorn()).toBe(false);
      fake.set({});
      await update();
      expect(process.isTorn()).toBe(false);
    });

    test("gets more of it by the number of its files", async () => {
      const { fake, process } = openLab({ limits: { updateBaseMs: 0, updatePerFileMs: 100 } });
      fake.set({ update: { slowMs: 500 } });
      await process.update({ files: 600, signal: noSignal });
      expect(await failureOf(process.update({ files: 1, signal: noSignal }))).toMatchObject({ reason: "timeout" });
    });
  });

  test("an abort ends a call at once, also one that waits its turn, which is never started", async () => {
    const { fake, process } = openLab();
    fake.set({ update: { slowMs: 60_000 } });
    const controller = new AbortController();
    const first = process.update({ files: 0, signal: controller.signal });
    const second = process.cleanup(controller.signal);
    await eventually(() => fake.starts("update").length === 1);
    controller.abort();
    await expect(first).rejects.toMatchObject({ name: "AbortError" });
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    await eventually(() => !isRunning(fake.starts("update")[0]?.pid ?? 0));
    fake.set({});
    await process.update({ files: 0, signal: noSignal });
    expect(fake.starts().map(({ command }) => command)).toEqual(["update", "update"]);
    expect(process.state().lastError).toBeUndefined();
  });
});

describe("the end", () => {
  const files = { "a.md": "# Alpha\n\nstaging\n" };

  async function labWithNotes(): Promise<QmdLab> {
    const lab = openLab();
    await lab.update(files);
    return lab;
  }

  describe("close", () => {
    test.each(cases.closedServers as [string, FakeBehaviour][])(
      "ends a server %s, and nothing is left when it is done",
      async (_name, behaviour) => {
        const { process, ask, fake } = await labWithNotes();
        await ask("staging");
        fake.set(behaviour);
        const pid = process.state().pid ?? 0;
        expect(isRunning(pid)).toBe(true);
        await process.close();
        expect(isRunning(pid)).toBe(false);
        expect(process.state().pid).toBeUndefined();
      },
    );

    test("fails what is under way as closed, also where that hangs, and what comes later", async () => {
      const { process, ask, fake, update } = await labWithNotes();
      fake.set({ mcp: { hang: true }, update: { slowMs: 60_000 } });
      const work = [ask("staging", { deadlineMs: 60_000 }), update(), process.cleanup(noSignal)];
      const failures = Promise.all(work.map((each) => failureOf(each)));
      await eventually(() => fake.calls("query").length === 1 && fake.starts("update").length === 2);
      await process.close();
      expect((await failures).map(({ reason }) => reason)).toEqual(["closed", "closed", "closed"]);
      expect(fake.starts().some(({ pid }) => isRunning(pid))).toBe(false);
      for (const call of [ask("staging"), update(), process.status(noSignal), process.probe(noSignal)])
        expect(await failureOf(call)).toMatchObject({ reason: "closed" });
      await process.close();
      expect(fake.starts("cleanup")).toEqual([]);
    });

    test("while the server says hello leaves nothing behind", async () => {
      const { process, ask, fake } = await labWithNotes();
      fake.set({ mcp: { hangAtStart: true, ignoreTerm: true } });
      const answer = failureOf(ask("staging"));
      await eventually(() => fake.starts("mcp").length === 1);
      await process.close();
      expect(await answer).toMatchObject({ reason: "closed" });
      expect(fake.starts().some(({ pid }) => isRunning(pid))).toBe(false);
    });

    test("does not wait for an update to the end of its grace: it is let finish", async () => {
      const { fake, ...lab } = openLab({ limits: { updateGraceMs: 60_000 } });
      fake.set({ update: { blockMs: 3000 } });
      const running = failureOf(lab.update(files));
      await eventually(() => fake.starts("update").length === 1);
      await lab.process.close();
      expect(await running).toMatchObject({ reason: "closed" });
      expect(fake.ends("update")).toEqual([]);
      await eventually(() => fake.ends("update").length === 1);
    });
  });

  test("a pause ends all that has the index open, and holds others off until it is over", async () => {
    const { process, ask, fake, folder, update } = await labWithNotes();
    await ask("staging");
    fake.set({ update: { slowMs: 300 } });
    const running = update();
    await eventually(() => fake.starts("update").length === 2);
    await process.pause();
    expect(fake.starts().some(({ pid }) => isRunning(pid))).toBe(false);
    await running;
    for (const call of [ask("staging"), update(), process.probe(noSignal)])
      expect(await failureOf(call)).toMatchObject({ reason: "index_busy" });
    renameSync(join(folder, "index.sqlite"), join(folder, "index.old"));
    process.resume();
    expect((await ask("staging")).rows).toEqual([]);
    await update();
    expect((await ask("staging")).rows.length).toBe(1);
    expect(fake.starts("mcp").length).toBe(2);
  });

  test("a change of mode replaces the server, and the same mode does not", async () => {
    const { process, ask, fake } = await labWithNotes();
    await ask("staging");
    await process.setMode("lexical");
    await ask("staging");
    expect(fake.starts("mcp").length).toBe(1);
    await process.setMode("semantic");
    await ask("staging");
    expect(fake.starts("mcp").map(({ env }) => env["CI"])).toEqual(["1", undefined]);
    expect(process.state()).toMatchObject({ restarts: 1, lastError: undefined });
  });
});

describe("a host that is killed", () => {
  interface Stage {
    fake: FakeQmd;
    folder: string;
    host: Child;
  }

  /** Starts a host and waits until qmd runs under it and has begun what it is asked for. */
  async function stage(what: string, behaviour: FakeBehaviour, graceMs = 300): Promise<Stage> {
    const fake = fakeQmd();
    const [folder, notes] = [tempFolder(), tempFolder()];
    writeFiles(notes, { "a.md": "# Alpha\n\nThe staging server listens on port 5544.\n" });
    writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
    fake.set(behaviour);
    const host = startHost(fake, folder, what, graceMs);
    await host.line("ready");
    await eventually(() => (what === "update" ? fake.starts("update") : fake.calls("query")).length > 0);
    return { fake, folder, host };
  }

  /** All processes below a host: qmd, what it has started, and the keeper between. */
  function processesOf(fake: FakeQmd): number[] {
    return [...fake.starts().flatMap(({ pid, keeper }) => [pid, keeper]), ...fake.grandchildren()];
  }

  async function expectNoneLeft(fake: FakeQmd): Promise<void> {
    const pids = processesOf(fake);
    expect(pids.length).toBeGreaterThan(1);
    await eventually(() => !pids.some(isRunning));
    expect(pids.filter(isRunning)).toEqual([]);
  }

  describe("kill -9 of the host leaves nothing behind of", () => {
    test.each(cases.killedHosts as [string, string, FakeBehaviour][])("%s", async (_name, what, behaviour) => {
      const { fake, host } = await stage(what, behaviour);
      const [start] = fake.starts(what === "update" ? "update" : "mcp");
      expect([start?.pid, start?.keeper].map((pid) => isRunning(pid ?? 0))).toEqual([true, true]);
      if (behaviour.mcp?.grandchild || behaviour.update?.grandchild)
        await eventually(() => fake.grandchildren().length === 1);
      host.process.kill("SIGKILL");
      await host.ended;
      await expectNoneLeft(fake);
    });

    test("a server that was stopped by SIGSTOP", async () => {
      const { fake, host } = await stage("mcp", {});
      process.kill(fake.starts("mcp")[0]?.pid ?? 0, "SIGSTOP");
      host.process.kill("SIGKILL");
      await expectNoneLeft(fake);
    });

    test("a server whose host is killed with its whole process group", async () => {
      const { fake, host } = await stage("hung", { mcp: { hang: true } });
      process.kill(-(host.process.pid ?? 0), "SIGKILL");
      await expectNoneLeft(fake);
    });

    test("a command whose host dies while its keeper starts", async () => {
      const fake = fakeQmd({ behaviour: { all: { hang: true, ignoreTerm: true } } });
      const [command = "", ...args] = fake.argv;
      for (const patienceMs of [0, 20, 40, 60, 80]) {
        const keeper = fork(new URL("./child/child-keeper.ts", import.meta.url), {
          execArgv: ["--no-warnings"],
        });
        const ended = once(keeper, "exit");
        keeper.send({ type: "start", command, args: [...args, "update"], graceMs: 100 });
        await new Promise((resolve) => setTimeout(resolve, patienceMs));
        keeper.disconnect();
        await ended;
      }
      await eventually(() => !fake.starts().some(({ pid }) => isRunning(pid)));
      expect(fake.ends()).toEqual([]);
    });

    test("an update that was asked for while another one ran", async () => {
      const { fake, folder, host } = await stage("update", { update: { slowMs: 120_000 } });
      const second = startHost(fake, folder, "update");
      await second.line("ready");
      second.process.kill("SIGKILL");
      host.process.kill("SIGKILL");
      await Promise.all([host.ended, second.ended]);
      await expectNoneLeft(fake);
      expect(fake.starts("update").length).toBe(1);
    });
  });

  test("an update whose host is killed is let finish, and the index is whole", async () => {
    const { fake, folder, host } = await stage("update", { update: { blockMs: 1500 } }, 60_000);
    host.process.kill("SIGKILL");
    await expectNoneLeft(fake);
    expect(JSON.parse(readFileSync(join(folder, "index.sqlite"), "utf8"))).toMatchObject({
      documents: [{ collection: "notes", path: "a.md" }],
    });
    expect(existsSync(join(folder, "update.unfinished"))).toBe(false);
  });

  test("an update that had to be killed is known as torn to whoever opens the folder later", async () => {
    const { fake, folder, host } = await stage("update", { update: { hang: true, ignoreTerm: true } });
    host.process.kill("SIGKILL");
    await expectNoneLeft(fake);
    fake.set({});
    const lab = openLab({ fake, folder });
    expect(lab.process.isTorn()).toBe(true);
    await lab.update();
    // An update does not repair it.
    expect(lab.process.isTorn()).toBe(true);
    lab.process.mended();
    expect(lab.process.isTorn()).toBe(false);
    expect(openLab({ fake, folder }).process.isTorn()).toBe(false);
  });

  test("a host that ends without closing anything is not held, and nothing is left behind", async () => {
    const fake = fakeQmd();
    const [folder, notes] = [tempFolder(), tempFolder()];
    writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
    const host = startHost(fake, folder, "leave");
    expect(await host.ended).toBe(0);
    await expectNoneLeft(fake);
  });
});
