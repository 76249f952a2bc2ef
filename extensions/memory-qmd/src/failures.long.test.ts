import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAbort, MemoryError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { FakeBehaviour } from "@memslot/fakes/qmd";
import { errorOf, type MemoryLab, memoryLab, openIndexed, type OpenedMemory, qmdStatus } from "./test/memory-lab.ts";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { maxOutput } from "./process/run-qmd.ts";
import cases from "../test/data/cases.json" with { type: "json" };

const note = "The lynx was seen near the old mill.\n";

async function expectUnavailable(lab: OpenedMemory, words: RegExp): Promise<void> {
  const error = await errorOf(lab.ask("lynx"));
  expect(MemoryError.is(error, "UNAVAILABLE"), String(error)).toBe(true);
  expect(error.message).toMatch(words);
}

describe("opening", () => {
  test("without qmd is UNAVAILABLE with the command that installs it", async () => {
    const lab = memoryLab();
    const error = await errorOf(lab.open({ command: "qmd-that-is-nowhere" }));
    expect(MemoryError.is(error, "UNAVAILABLE")).toBe(true);
    expect(error.message).toMatch(/not_installed.*npm install -g @tobilu\/qmd/);
  });

  test("writes nothing for qmd and starts nothing", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", note);
    const { memory } = await lab.open();
    memory.status();
    expect(readdirSync(lab.folder).filter((name) => !name.startsWith("ledger.sqlite"))).toEqual([]);
    expect(lab.fake.starts()).toEqual([]);
  });
});

describe("a search is UNAVAILABLE with the reason if qmd", () => {
  test.each(cases.failures as [string, FakeBehaviour, string][])("%s", async (_name, behaviour, words) => {
    // A server that hangs is awaited; all others have time to fail on a busy machine.
    const timeoutMs = words === "timeout" ? 1500 : 15_000;
    const qmd = { limits: { timeoutMs }, update: { commandTimeoutMs: behaviour.mcp?.hangAtStart ? 4000 : 15_000 } };
    const lab = await openIndexed({ "memory/a.md": note }, { qmd });
    const isLong = behaviour.mcp?.stdout === "LONG";
    lab.fake.set(isLong ? { mcp: { stdout: "x".repeat(maxOutput + 1) } } : behaviour);
    // The server that has answered so far does not start again by itself.
    if (behaviour.mcp?.hangAtStart) process.kill(Number(qmdStatus(lab)["pid"]), "SIGKILL");
    await expectUnavailable(lab, new RegExp(words, "u"));
    expect(qmdStatus(lab)["lastError"]).toBeDefined();
    if (words === "timeout") await eventually(() => !lab.fake.starts("mcp").some(({ pid }) => isRunning(pid)));
    lab.fake.set({});
    await eventually(async () => {
      const answer = await lab.ask("lynx").catch(() => undefined);
      return answer?.paths[0] === "memory/a.md";
    });
  });

  test("found files of which none exists: its index is updated", async () => {
    const lab = await openIndexed({ "memory/a.md": note });
    const before = revisionOf(lab);
    lab.fake.set({ all: { nowhere: true } });
    await expectUnavailable(lab, /mapping_failed/);
    expect(revisionOf(lab)).toBeGreaterThan(before);
    lab.fake.set({});
    expect((await lab.ask("lynx")).paths).toEqual(["memory/a.md"]);
  });
});

describe("a search succeeds if qmd", () => {
  test.each(cases.harmless as [string, FakeBehaviour][])("%s", async (_name, behaviour) => {
    const lab = await openIndexed({ "memory/a.md": note });
    lab.fake.set(behaviour);
    const { paths, report } = await lab.ask("lynx");
    expect(paths).toEqual(["memory/a.md"]);
    expect(report.state).toBe("ok");
  });

  test("has forgotten its collections: they are written again", async () => {
    const lab = await openIndexed({ "memory/a.md": note });
    writeFileSync(join(lab.folder, "index.yml"), "collections: {}\nadapter_rev: 7\n");
    expect((await lab.ask("lynx")).paths).toEqual(["memory/a.md"]);
    expect(revisionOf(lab)).toBe(8);
  });

  test("cannot read its configuration: it is written again", async () => {
    const lab = await openIndexed({ "memory/a.md": note });
    writeFileSync(join(lab.folder, "index.yml"), "collections: [");
    expect((await lab.ask("lynx")).paths).toEqual(["memory/a.md"]);
  });

  test("has lost its index: memslot searches the notes until it is rebuilt", async () => {
    const lab = await openIndexed({ "memory/a.md": note });
    await lab.memory.close();
    for (const name of ["index.sqlite", "index.sqlite-wal"]) rmSync(join(lab.folder, name), { force: true });
    const again = await lab.open();
    const { paths, report } = await again.ask("lynx");
    expect([paths, report.state]).toEqual([["memory/a.md"], "ok"]);
    await eventually(() => existsSync(join(lab.folder, "index.sqlite")));
  });

  test("finds nothing because its index is empty: UNAVAILABLE, and it is rebuilt in the background", async () => {
    const lab = await openIndexed({ "memory/a.md": note });
    writeFileSync(join(lab.folder, "index.sqlite"), JSON.stringify({ documents: [] }));
    await expectUnavailable(lab, /the index of qmd is empty/);
    await eventually(async () => (await lab.ask("lynx").catch(() => undefined))?.report.state === "ok");
    expect((await lab.ask("lynx")).paths).toEqual(["memory/a.md"]);
  });

  test("has a damaged index: UNAVAILABLE, it is kept aside and rebuilt in the background", async () => {
    const lab = await openIndexed({ "memory/a.md": note });
    writeFileSync(join(lab.folder, "index.sqlite"), "no database");
    await expectUnavailable(lab, /index_damaged/);
    await eventually(
      () => existsSync(join(lab.folder, "index.sqlite.damaged")) && existsSync(join(lab.folder, "index.sqlite")),
    );
    expect((await lab.ask("lynx")).paths).toEqual(["memory/a.md"]);
  });
});

describe("an abort of the caller", () => {
  test("is an AbortError at once, and no failure", async () => {
    const lab = await openIndexed({ "memory/a.md": note }, { qmd: { limits: { timeoutMs: 60_000 } } });
    lab.fake.set({ mcp: { hang: true } });
    const controller = new AbortController();
    const running = lab.ask("lynx", { signal: controller.signal });
    await eventually(() => lab.fake.calls("query").length > 0);
    controller.abort();
    expect(isAbort(await errorOf(running))).toBe(true);
    lab.fake.set({});
    expect(lab.memory.status().lastError).toBeUndefined();
    expect(qmdStatus(lab)["lastError"]).toBeUndefined();
  });
});

function revisionOf({ folder }: Pick<MemoryLab, "folder">): number {
  const { adapter_rev: revision } = parse(readFileSync(join(folder, "index.yml"), "utf8")) as { adapter_rev: number };
  return revision;
}
