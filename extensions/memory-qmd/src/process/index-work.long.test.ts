import { existsSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FakeQmd } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { failureOf, fakeQmd, noSignal, openLab, tempFolder } from "./test/qmd-lab.ts";
import { startChild } from "@memslot/test-tools/child";

const files = { "a.md": "# Alpha\n\nstaging\n" };

function opened(options: Partial<Parameters<typeof openLab>[0]> = {}): ReturnType<typeof openLab> & { fake: FakeQmd } {
  const fake = fakeQmd();
  return { ...openLab({ found: { ...fake, location: fake.folder }, ...options }), fake };
}

/** Whether no start came between another start and its end. */
function expectOneAtATime(fake: FakeQmd): void {
  const marks = [...fake.starts(), ...fake.ends()].sort((left, right) => left.at - right.at);
  expect(marks.map(({ kind }) => kind)).toEqual(marks.map((_, at) => (at % 2 === 0 ? "start" : "end")));
}

describe("an index that is locked by somebody else", () => {
  test("is tried again, three times", async () => {
    const { fake, update } = opened();
    fake.set({ update: { busy: 3 } });
    await update(files);
    expect(fake.starts("update").length).toBe(4);
  });

  test("is a failure after that, and questions are answered meanwhile", async () => {
    const { fake, update, ask } = opened();
    await update(files);
    fake.set({ update: { busy: true } });
    const before = fake.starts("update").length;
    expect(await failureOf(update())).toMatchObject({ reason: "index_busy" });
    expect(fake.starts("update").length - before).toBe(4);
    expect((await ask("staging")).by).toBe("mcp");
  });
});

test.each([
  ["no_space", { diskFull: true }],
  ["unknown_collection", { desync: true }],
  ["crash", { crash: "SIGSEGV" }],
  ["config_broken", { failure: "Error: Failed to parse /s/qmd/index.yml: bad" }],
] as const)("an update fails as %s", async (reason, fault) => {
  const { fake, update } = opened();
  fake.set({ update: fault });
  expect(await failureOf(update(files))).toMatchObject({ reason });
  expect(fake.starts("update").length).toBe(1);
});

test("an embed that finds another one at it has not embedded", async () => {
  const { fake, process, update } = opened();
  await update(files);
  fake.set({ embed: { embedLocked: true } });
  expect(await process.embed({ minutes: 1, signal: noSignal })).toBe(false);
  fake.set({});
  expect(await process.embed({ minutes: 1, signal: noSignal })).toBe(true);
  expect(await process.status(noSignal)).toMatchObject({ hasVectorIndex: true, needsEmbedding: 0 });
});

test("updates, embeds and clean-ups go one after the other, and it is told what runs", async () => {
  const { fake, process } = opened();
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
  const { fake, process: first } = opened({ folder });
  const second = openLab({ found: { ...fake, location: fake.folder }, folder }).process;
  fake.set({ all: { slowMs: 200 } });
  const [, entry = ""] = fake.argv;
  const others = [1, 2].map(() =>
    startChild(new URL("./test/qmd-host.ts", import.meta.url), [entry, folder, "update", "60000"], { detached: true }),
  );
  await Promise.all([first, second].map((each) => each.update({ files: 0, signal: noSignal })));
  await Promise.all(others.map((other) => other.line("stays")));
  expect(fake.starts("update").length).toBe(4);
  expectOneAtATime(fake);
});

test("who waits too long for another process fails as index_busy, and its turn is not taken later", async () => {
  const folder = tempFolder();
  const { fake, process: first } = opened({ folder });
  const found = { ...fake, location: fake.folder };
  const second = openLab({ found, folder, limits: { lockWaitMs: 100 } }).process;
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
  const { fake, process: first } = opened({ folder });
  const [, entry = ""] = fake.argv;
  fake.set({ update: { slowMs: 60_000 } });
  const host = startChild(new URL("./test/qmd-host.ts", import.meta.url), [entry, folder, "update"], {
    detached: true,
  });
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
    const { fake, process, folder, update } = opened({ limits: { ...limits, updateGraceMs: 60_000 } });
    fake.set({ update: { blockMs: 4000 } });
    expect(await failureOf(update(files))).toMatchObject({ reason: "timeout" });
    expect(process.isTorn()).toBe(false);
    expect(fake.ends("update").map(({ code }) => code)).toEqual([0]);
    expect(existsSync(join(folder, "update.unfinished"))).toBe(false);
  });

  test("is killed after its grace, and the index counts as torn", async () => {
    const { fake, process, update } = opened({ limits });
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
    const { fake, process } = opened({ limits: { updateBaseMs: 0, updatePerFileMs: 100 } });
    fake.set({ update: { slowMs: 500 } });
    await process.update({ files: 600, signal: noSignal });
    expect(await failureOf(process.update({ files: 1, signal: noSignal }))).toMatchObject({ reason: "timeout" });
  });
});

test("an abort ends a call at once, also one that waits its turn, which is never started", async () => {
  const { fake, process } = opened();
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
