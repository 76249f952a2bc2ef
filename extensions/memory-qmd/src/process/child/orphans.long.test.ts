import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type FakeBehaviour, type FakeQmd } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { fakeQmd, openLab, tempFolder, writeConfig, writeNotes } from "../test/qmd-lab.ts";
import { type Child, startChild } from "@memslot/test-tools/child";

interface Stage {
  fake: FakeQmd;
  folder: string;
  host: Child;
}

/** Starts a host and waits until qmd runs under it and has begun what it is asked for. */
async function stage(what: string, behaviour: FakeBehaviour, graceMs = 300): Promise<Stage> {
  const fake = fakeQmd();
  const [folder, notes] = [tempFolder(), tempFolder()];
  writeNotes(notes, { "a.md": "# Alpha\n\nThe staging server listens on port 5544.\n" });
  writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
  fake.set(behaviour);
  const [, entry = ""] = fake.argv;
  const host = startChild(new URL("../test/qmd-host.ts", import.meta.url), [entry, folder, what, String(graceMs)], {
    detached: true,
  });
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
  test.each<[string, string, FakeBehaviour]>([
    ["an idle MCP server", "mcp", {}],
    ["one that hangs and does not see the end of its input", "hung", { mcp: { hang: true } }],
    ["one that is deaf to both", "hung", { mcp: { hang: true, ignoreTerm: true } }],
    ["one that is blocked and runs no handler", "hung", { mcp: { blockMs: 120_000 } }],
    ["one whose own process holds its output", "mcp", { mcp: { grandchild: true, ignoreEof: true } }],
    ["an update", "update", { update: { slowMs: 120_000 } }],
    ["an update that ignores SIGTERM, after its grace", "update", { update: { hang: true, ignoreTerm: true } }],
    ["an update whose own process holds its output", "update", { update: { hang: true, grandchild: true } }],
  ])("%s", async (_name, what, behaviour) => {
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
      const keeper = fork(new URL("./child-keeper.ts", import.meta.url), {
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
    const [, entry = ""] = fake.argv;
    const second = startChild(new URL("../test/qmd-host.ts", import.meta.url), [entry, folder, "update"], {
      detached: true,
    });
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
  const lab = openLab({ found: { ...fake, location: fake.folder }, folder });
  expect(lab.process.isTorn()).toBe(true);
  await lab.update();
  // An update does not repair it.
  expect(lab.process.isTorn()).toBe(true);
  lab.process.mended();
  expect(lab.process.isTorn()).toBe(false);
  expect(openLab({ found: { ...fake, location: fake.folder }, folder }).process.isTorn()).toBe(false);
});

test("a host that ends without closing anything is not held, and nothing is left behind", async () => {
  const fake = fakeQmd();
  const [folder, notes] = [tempFolder(), tempFolder()];
  writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
  const [, entry = ""] = fake.argv;
  const host = startChild(new URL("../test/qmd-host.ts", import.meta.url), [entry, folder, "leave"], {
    detached: true,
  });
  expect(await host.ended).toBe(0);
  await expectNoneLeft(fake);
});
