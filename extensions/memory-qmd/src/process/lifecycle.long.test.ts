import { renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FakeBehaviour, FakeQmd } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { type QmdLab, failureOf, fakeQmd, noSignal, openLab } from "./test/qmd-lab.ts";

const files = { "a.md": "# Alpha\n\nstaging\n" };

async function labWithNotes(): Promise<QmdLab & { fake: FakeQmd }> {
  const fake = fakeQmd();
  const lab = openLab({ found: { ...fake, location: fake.folder } });
  await lab.update(files);
  return { ...lab, fake };
}

describe("close", () => {
  test.each<[string, FakeBehaviour]>([
    ["that is idle", {}],
    ["that does not see the end of its input", { mcp: { ignoreEof: true } }],
    ["that ignores everything", { mcp: { ignoreEof: true, ignoreTerm: true } }],
  ])("ends a server %s, and nothing is left when it is done", async (_name, behaviour) => {
    const { process, ask, fake } = await labWithNotes();
    await ask("staging");
    fake.set(behaviour);
    const pid = process.state().pid ?? 0;
    expect(isRunning(pid)).toBe(true);
    await process.close();
    expect(isRunning(pid)).toBe(false);
    expect(process.state().pid).toBeUndefined();
  });

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
    const fake = fakeQmd();
    const lab = openLab({ found: { ...fake, location: fake.folder }, limits: { updateGraceMs: 60_000 } });
    fake.set({ update: { blockMs: 3000 } });
    const running = failureOf(lab.update(files));
    await eventually(() => fake.starts("update").length === 1);
    await lab.process.close();
    expect(await running).toMatchObject({ reason: "closed" });
    expect(fake.ends("update")).toEqual([]);
    await eventually(() => fake.ends("update").length === 1);
  });

  test("of what was never used starts nothing", async () => {
    const fake = fakeQmd();
    const { process } = openLab({ found: { ...fake, location: fake.folder } });
    await process.close();
    expect(fake.starts()).toEqual([]);
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
