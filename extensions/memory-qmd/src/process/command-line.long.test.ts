import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FakeFault, FakeQmd } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { type QmdLab, failureOf, fakeQmd, noSignal, openLab } from "./test/qmd-lab.ts";

const files = { "a.md": "# Alpha\n\nThe staging server listens on port 5544.\n", "b.md": "# Beta\n\nMore words.\n" };

/** A lab whose questions all go by the command line. */
async function labByCommandLine(cliQueryMs = 30_000): Promise<QmdLab & { fake: FakeQmd; set(fault: FakeFault): void }> {
  const fake = fakeQmd();
  const lab = openLab({ found: { ...fake, location: fake.folder }, limits: { cliQueryMs, restartMs: [600_000] } });
  await lab.update(files);
  const mcp = { crash: "SIGKILL" };
  fake.set({ mcp });
  // The server has died of it. Whether this answer is in time does not matter.
  await lab.ask("staging").catch(() => undefined);
  return { ...lab, fake, set: (query) => fake.set({ mcp, query }) };
}

const list = JSON.stringify([{ file: "qmd://notes/a.md", score: 0 }], null, 2);

describe("an answer is read from the command line", () => {
  test.each<[string, FakeFault]>([
    ["when all is well", {}],
    ["with lines before it", { noiseBefore: "Loading...\n" }],
    ["with lines after it", { noiseAfter: "(node:1) Warning: x\n" }],
    ["with a prefix before its bracket", { noiseBefore: "[node-llama-cpp] " }],
    ["with much on stderr", { stderr: "Cannot find package 'sqlite-vec'\n".repeat(20_000) }],
    ["after a while", { slowMs: 300 }],
    ["with a score of 0", { stdout: list }],
  ])("%s", async (_name, fault) => {
    const { ask, set } = await labByCommandLine();
    set(fault);
    const { rows, by } = await ask("staging");
    expect(by).toBe("cli");
    expect(rows).toMatchObject([{ collection: "notes", path: "a.md" }]);
  });

  test("while a process that it has started holds its output, which is ended with it", async () => {
    const { ask, set, fake } = await labByCommandLine(60_000);
    set({ grandchild: true });
    expect((await ask("staging")).rows.map(({ path }) => path)).toEqual(["a.md"]);
    expect(fake.grandchildren().length).toBe(1);
    await eventually(() => !fake.grandchildren().some(isRunning));
  });

  test("also where that process has left its group and cannot be ended", async () => {
    const { ask, set, fake } = await labByCommandLine(60_000);
    set({ grandchild: "apart" });
    expect((await ask("staging")).rows.map(({ path }) => path)).toEqual(["a.md"]);
    const [pid = 0] = fake.grandchildren();
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  test("with the noise told beside it", async () => {
    const { ask, set, told } = await labByCommandLine();
    set({ noiseBefore: "[node-llama-cpp] careful\n" });
    expect((await ask("staging")).noise).toBe("[node-llama-cpp] careful");
    expect(told).toContain("qmd: [node-llama-cpp] careful");
  });
});

test("rows that name files which are not there are given as they are", async () => {
  const { ask, set } = await labByCommandLine();
  set({ nowhere: true });
  expect((await ask("staging")).rows).toMatchObject([{ collection: "notes", path: "gone/a.md" }]);
});

describe("it fails as", () => {
  test.each<[string, string, FakeFault]>([
    ["invalid_output", "no list of results", { stdout: "Hello\n" }],
    ["invalid_output", "said nothing", { stdout: "" }],
    ["invalid_output", "more than any answer", { stdout: "x".repeat(5_000_000) }],
    ["invalid_output", "no list of results", { stdout: list.slice(0, -4) }],
    ["crash", "SIGSEGV", { crash: "SIGSEGV" }],
    ["crash", "139", { rc: 139 }],
    ["crash", "SIGKILL", { exitMidAnswer: true }],
    ["not_built", "not built", { notBuilt: true }],
    ["index_busy", "locked", { busy: true }],
    ["unknown_collection", "notes", { unknownCollection: true }],
    ["models_unavailable", "LLM", { failure: "Error: LLM operations are disabled in CI" }],
    ["no_space", "directory", { failure: "Error: Cannot open database because the directory does not exist" }],
    ["qmd_error", "Line 1", { failure: "Error: Line 1 is missing a lex:/vec:/hyde: prefix." }],
    ["qmd_error", "boom", { rc: 3, stderr: "boom\n" }],
  ])("%s, which is told with %j", async (reason, words, fault) => {
    const { ask, set } = await labByCommandLine();
    set(fault);
    expect(await failureOf(ask("staging"))).toMatchObject({ reason, message: expect.stringContaining(words) });
  });

  test.each<[string, FakeFault]>([
    ["hangs", { hang: true }],
    ["hangs and ignores SIGTERM", { hang: true, ignoreTerm: true }],
    ["is blocked", { blockMs: 120_000 }],
    ["hangs with a process of its own that holds its output", { hang: true, grandchild: true, ignoreTerm: true }],
  ])("timeout when it %s, and nothing is left of it", async (_name, fault) => {
    const { ask, set, fake } = await labByCommandLine(1500);
    set(fault);
    expect(await failureOf(ask("staging"))).toMatchObject({ reason: "timeout" });
    const pids = [...fake.starts("query").map(({ pid }) => pid), ...fake.grandchildren()];
    await eventually(() => !pids.some(isRunning));
  });

  test("config_broken and index_damaged where they are", async () => {
    const { ask, folder } = await labByCommandLine();
    writeFileSync(join(folder, "index.sqlite"), "garbage");
    expect(await failureOf(ask("staging"))).toMatchObject({ reason: "index_damaged" });
    writeFileSync(join(folder, "index.yml"), "collections: [broken");
    expect(await failureOf(ask("staging"))).toMatchObject({ reason: "config_broken" });
  });

  test("no_space where its folder has gone, and not_installed where its command has", async () => {
    const fake = fakeQmd();
    const gone = openLab({ found: { ...fake, location: "", argv: [join(fake.folder, "gone")] } });
    expect(await failureOf(gone.process.probe(noSignal))).toMatchObject({ reason: "not_installed" });
    const found = { ...fake, location: "", argv: [process.execPath, join(fake.folder, "gone/qmd.js")] };
    expect(await failureOf(openLab({ found }).process.probe(noSignal))).toMatchObject({ reason: "not_built" });
  });
});

test("one process at a time answers", async () => {
  const { ask, set, fake } = await labByCommandLine();
  set({ slowMs: 200 });
  await Promise.all([ask("staging"), ask("port"), ask("server")]);
  const marks = [...fake.starts("query"), ...fake.ends("query")].sort((left, right) => left.at - right.at);
  expect(marks.map(({ kind }) => kind)).toEqual(marks.map((_, at) => (at % 2 === 0 ? "start" : "end")));
});

test("the wait for the process of another question is part of the time", async () => {
  const { ask, set, fake } = await labByCommandLine(4000);
  const before = fake.starts("query").length;
  set({ hang: true });
  const reasons = await Promise.all([ask("staging"), ask("port")].map((answer) => failureOf(answer)));
  expect(reasons.map(({ reason }) => reason)).toEqual(["timeout", "timeout"]);
  expect(fake.starts("query").length - before).toBe(1);
});

test("a probe fails by what is wrong, and passes on an index that is empty", async () => {
  const fake = fakeQmd();
  const { process } = openLab({ found: { ...fake, location: fake.folder } });
  await process.probe(noSignal);
  fake.set({ query: { crash: "SIGSEGV" } });
  expect(await failureOf(process.probe(noSignal))).toMatchObject({
    reason: "crash",
    action: expect.stringContaining("22"),
  });
  expect(process.state().lastError).toMatchObject({ reason: "crash" });
});
