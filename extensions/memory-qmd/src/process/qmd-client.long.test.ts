import { existsSync, readFileSync, renameSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import type { FakeBehaviour, FakeQmd } from "@memslot/fakes/qmd";
import { type Child, isRunning } from "@memslot/test-tools/child";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import cases from "../../test/data/cases.json" with { type: "json" };
import { failureOf, fakeQmd, noSignal, openLab, type QmdLab, type QmdLabOptions, startHost } from "./test/qmd-lab.ts";

const files = cases.twoServers;

async function labWithNotes(options: QmdLabOptions = {}): Promise<QmdLab> {
  const lab = openLab(options);
  await lab.update(files);
  return lab;
}

const isAlive = ({ pid } = { pid: 0 }): boolean => pid > 0 && isRunning(pid);

describe("a search", () => {
  test("is repeated once after a crash, and then the server pauses, longer after each failure", async () => {
    const { client, ask, fake } = await labWithNotes({ limits: { restartMs: [0, 600_000] } });
    await ask("staging");
    process.kill(client.state().pid ?? 0, "SIGKILL");
    expect(await ask("staging")).toHaveLength(1);
    expect(client.state().restarts).toBe(1);
    fake.set({ mcp: { crash: "SIGABRT" } });
    const starts = fake.starts("mcp").length;
    for (let count = 0; count < 3; count++) expect(await failureOf(ask("staging"))).toMatchObject({ reason: "crash" });
    expect(fake.starts("mcp").length).toBe(starts + 1);
    fake.set({});
    expect(await failureOf(ask("staging"))).toMatchObject({ reason: "crash" });
    await client.restart();
    expect(await ask("staging")).toHaveLength(1);
  });

  test("with models that takes too long is a timeout, and the server answers the next one", async () => {
    const { client, ask, fake } = await labWithNotes();
    await client.setMode("semantic");
    await client.embed({ minutes: 1, signal: noSignal });
    await ask("staging");
    fake.set({ mcp: { slowMs: 1500 } });
    const searches = [{ type: "vec" as const, query: "the staging machine" }];
    expect(await failureOf(ask("", { searches, deadlineMs: 500 }))).toMatchObject({ reason: "timeout" });
    fake.set({});
    expect(await ask("production")).toMatchObject([{ path: "sub/b.md" }]);
    await eventually(() => fake.lateAnswers() === 1);
    expect(await ask("staging")).toMatchObject([{ path: "a.md" }]);
    expect(fake.starts("mcp").length).toBe(1);
  });

  test("fails as not_installed without the command, not_built without its file, no_space without its folder", async () => {
    const fake = fakeQmd();
    const argvs = [[join(fake.folder, "gone")], [process.execPath, join(fake.folder, "gone/qmd.js")], fake.argv];
    const labs = argvs.map((argv) => openLab({ found: { version: "2.8.3", location: "", argv } }));
    renameSync(labs[2]?.folder ?? "", `${labs[2]?.folder}-gone`);
    const failures = await Promise.all(labs.map(({ client }) => failureOf(client.status(noSignal))));
    expect(failures.map(({ reason }) => reason)).toEqual(["not_installed", "not_built", "no_space"]);
  });
});

describe("commands that change the index", () => {
  /** Whether each command ended before the next one started. */
  function expectOneAtATime(fake: FakeQmd): void {
    const marks = [...fake.starts(), ...fake.ends()].sort((left, right) => left.at - right.at);
    expect(marks.map(({ kind }) => kind)).toEqual(marks.map((_, at) => (at % 2 === 0 ? "start" : "end")));
  }

  test("fail as index_busy if the index is locked, and searches succeed meanwhile", async () => {
    const { fake, update, ask } = await labWithNotes();
    fake.set({ update: { busy: true } });
    expect(await failureOf(update())).toMatchObject({ reason: "index_busy" });
    expect(await ask("staging")).toHaveLength(1);
  });

  test("run one at a time over clients and processes, and an embed at low priority", async () => {
    const folder = tempFolder();
    const { fake, client: first } = openLab({ folder });
    const second = openLab({ fake, folder }).client;
    fake.set({ all: { slowMs: 200 } });
    const others = [1, 2].map(() => startHost(fake, folder, "update", 60_000));
    const work = [
      first.embed({ minutes: 1, signal: noSignal }),
      first.cleanup(noSignal),
      second.update({ files: 0, signal: noSignal }),
    ];
    await eventually(() => first.state().activity === "embed");
    await Promise.all(work);
    await Promise.all(others.map((other) => other.line("updated")));
    expect(first.state().activity).toBeUndefined();
    expectOneAtATime(fake);
    const usual = getPriority();
    for (const { command, priority } of fake.starts()) expect(priority > usual, command).toBe(command === "embed");
    expect(fake.starts().length).toBe(5);
  });

  test("fail as index_busy after waiting for another process, and are not started later", async () => {
    const folder = tempFolder();
    const { fake, client: first } = openLab({ folder });
    const second = openLab({ fake, folder, limits: { lockWaitMs: 100 } }).client;
    fake.set({ update: { slowMs: 60_000 } });
    const controller = new AbortController();
    const running = first.update({ files: 0, signal: controller.signal });
    const waiting = first.cleanup(controller.signal);
    await eventually(() => fake.starts("update").length === 1);
    expect(await failureOf(second.update({ files: 0, signal: noSignal }))).toMatchObject({ reason: "index_busy" });
    controller.abort();
    for (const each of [running, waiting]) await expect(each).rejects.toMatchObject({ name: "AbortError" });
    await eventually(() => !fake.starts("update").some(isAlive));
    fake.set({});
    await first.update({ files: 0, signal: noSignal });
    expect(fake.starts().map(({ command }) => command)).toEqual(["update", "update"]);
    expect(first.state().lastError).toBeUndefined();
  });

  test("an update has more time for more files", async () => {
    const { fake, client } = openLab({ limits: { updateBaseMs: 0, updatePerFileMs: 100 } });
    fake.set({ update: { slowMs: 500 } });
    await client.update({ files: 600, signal: noSignal });
    expect(await failureOf(client.update({ files: 1, signal: noSignal }))).toMatchObject({ reason: "timeout" });
  });
});

describe("close", () => {
  test.each(cases.closedServers as [string, FakeBehaviour][])("ends a server %s", async (_name, behaviour) => {
    const { client, ask, fake } = await labWithNotes();
    await ask("staging");
    fake.set(behaviour);
    await client.close();
    expect(fake.starts("mcp").some(isAlive)).toBe(false);
    expect(client.state().pid).toBeUndefined();
  });

  test("ends running and later calls as closed", async () => {
    const { client, ask, fake, update } = await labWithNotes();
    fake.set({ mcp: { hang: true }, update: { slowMs: 60_000 } });
    const work = [ask("staging", { deadlineMs: 60_000 }), update(), client.cleanup(noSignal)];
    const failures = Promise.all(work.map((each) => failureOf(each)));
    await eventually(() => fake.calls("query").length === 1 && fake.starts("update").length === 2);
    await client.close();
    expect((await failures).map(({ reason }) => reason)).toEqual(["closed", "closed", "closed"]);
    expect(fake.starts().some(isAlive)).toBe(false);
    for (const call of [ask("staging"), update(), client.status(noSignal)])
      expect(await failureOf(call)).toMatchObject({ reason: "closed" });
    await client.close();
    expect(fake.starts("cleanup")).toEqual([]);
  });

  test("ends a server that is starting", async () => {
    const { client, ask, fake } = await labWithNotes();
    fake.set({ mcp: { hangAtStart: true, ignoreTerm: true } });
    const answer = failureOf(ask("staging"));
    await eventually(() => fake.starts("mcp").length === 1);
    await client.close();
    expect(await answer).toMatchObject({ reason: "closed" });
    expect(fake.starts().some(isAlive)).toBe(false);
  });

  test("lets a slow update finish without waiting for it", async () => {
    const { fake, client, folder, update } = openLab({ limits: { updateGraceMs: 60_000 } });
    fake.set({ update: { blockMs: 3000 } });
    const running = failureOf(update(files));
    await eventually(() => fake.starts("update").length === 1);
    await client.close();
    expect(await running).toMatchObject({ reason: "closed" });
    expect(fake.ends("update")).toEqual([]);
    await eventually(() => fake.ends("update").length === 1);
    expect(readFileSync(join(folder, "index.sqlite"), "utf8")).toContain("a.md");
    await eventually(() => !existsSync(join(folder, "update.unfinished")));
  });
});

test("a change of the index runs while no qmd has it open, and other calls fail as index_busy", async () => {
  const { client, ask, fake, folder, update } = await labWithNotes();
  await ask("staging");
  fake.set({ update: { slowMs: 300 } });
  const running = update();
  await eventually(() => fake.starts("update").length === 2);
  let busy: Promise<unknown[]> | undefined;
  await client.exclusively(() => {
    expect(fake.starts().some(isAlive)).toBe(false);
    busy = Promise.all([ask("staging"), client.status(noSignal)].map((call) => failureOf(call)));
    renameSync(join(folder, "index.sqlite"), join(folder, "index.old"));
  }, noSignal);
  await running;
  expect(await busy).toMatchObject([{ reason: "index_busy" }, { reason: "index_busy" }]);
  await update();
  expect(await ask("staging")).toHaveLength(1);
  expect(fake.starts("mcp").length).toBe(2);
});

describe("a host that is killed", () => {
  interface Stage {
    fake: FakeQmd;
    folder: string;
    host: Child;
  }

  /** Starts a host and waits until qmd works for it. */
  async function stage(what: string, behaviour: FakeBehaviour, graceMs = 300): Promise<Stage> {
    const fake = fakeQmd();
    const [folder, notes] = [tempFolder(), tempFolder()];
    writeFiles(notes, files);
    const { update } = openLab({ fake, folder, notes });
    if (what !== "update") await update();
    const updates = fake.starts("update").length;
    fake.set(behaviour);
    const host = startHost(fake, folder, what, graceMs);
    await host.line("ready");
    await eventually(() => fake.starts("update").length > updates || fake.calls("query").length > 0);
    return { fake, folder, host };
  }

  async function expectNoneLeft(fake: FakeQmd): Promise<void> {
    const pids = [...fake.starts().map(({ pid }) => pid), ...fake.grandchildren()];
    expect(pids.length).toBeGreaterThan(0);
    await eventually(() => !pids.some(isRunning));
  }

  test.each(cases.killedHosts as [string, string, FakeBehaviour][])(
    "leaves nothing behind: %s",
    async (_name, what, behaviour) => {
      const { fake, host } = await stage(what, behaviour);
      expect(isAlive(fake.starts(what === "update" ? "update" : "mcp")[0])).toBe(true);
      if (behaviour.mcp?.grandchild || behaviour.update?.grandchild)
        await eventually(() => fake.grandchildren().length === 1);
      host.process.kill("SIGKILL");
      await host.ended;
      await expectNoneLeft(fake);
    },
  );

  test("with its whole process group leaves nothing behind", async () => {
    const { fake, host } = await stage("hung", { mcp: { hang: true } });
    process.kill(-(host.process.pid ?? 0), "SIGKILL");
    await expectNoneLeft(fake);
  });

  test("lets its update finish, and updates of other processes wait for that", async () => {
    const { fake, folder, host } = await stage("update", { update: { blockMs: 1500 } }, 60_000);
    const second = openLab({ fake, folder, limits: { updateGraceMs: 60_000 } });
    host.process.kill("SIGKILL");
    await host.ended;
    await second.update(files);
    await expectNoneLeft(fake);
    const marks = [...fake.starts(), ...fake.ends()].sort((left, right) => left.at - right.at);
    expect(marks.map(({ kind }) => kind)).toEqual(["start", "end", "start", "end"]);
    expect(second.client.isTorn()).toBe(false);
    expect(JSON.parse(readFileSync(join(folder, "index.sqlite"), "utf8"))).toMatchObject({
      documents: expect.arrayContaining([expect.objectContaining({ path: "a.md" })]),
    });
  });

  test("or ends without closing anything is not kept alive, and leaves nothing behind", async () => {
    const fake = fakeQmd();
    const folder = tempFolder();
    await openLab({ fake, folder }).update(files);
    const host = startHost(fake, folder, "leave");
    expect(await host.ended).toBe(0);
    await expectNoneLeft(fake);
  });
});
