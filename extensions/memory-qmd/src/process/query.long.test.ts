import { join } from "node:path";
import type { FakeFault } from "@memslot/fakes/qmd";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { failureOf, fakeQmd, noSignal, openLab, type QmdLab, type QmdLabOptions } from "./test/qmd-lab.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

describe("a question", () => {
  const files = cases.twoServers;

  async function labWithNotes(options: Partial<QmdLabOptions> = {}): Promise<QmdLab> {
    const lab = openLab(options);
    await lab.update(files);
    return lab;
  }

  describe("the command line answers once where the long-lived child", () => {
    test.each(cases.mcpFaults as [string, FakeFault, string, Partial<QmdLabOptions>][])(
      "%s",
      async (_name, fault, reason, options) => {
        const { process, ask, fake } = await labWithNotes(options);
        fake.set({ mcp: fault });
        const { rows, by } = await ask("staging", reason === "timeout" ? { deadlineMs: 800 } : {});
        expect({ by, paths: rows.map(({ path }) => path) }).toEqual({ by: "cli", paths: ["a.md"] });
        expect(fake.starts("query").length).toBe(1);
        expect(process.state().lastError).toMatchObject({ reason, at: expect.stringMatching(/^\d{4}-/) });
        // Of a child that is of no use nothing is left.
        if (reason === "timeout") {
          const pid = fake.starts("mcp")[0]?.pid ?? 0;
          await eventually(() => !isRunning(pid));
        }
        fake.set({});
        expect((await ask("staging")).by).toBe("mcp");
      },
    );
  });

  test("lines that are no answer are passed over, told with the answer, and told once", async () => {
    const { ask, fake, told } = await labWithNotes();
    fake.set({ mcp: { noiseBefore: "[node-llama-cpp] careful\n", noiseAfter: "afterwards\n" } });
    await ask("staging");
    const { rows, by, noise } = await ask("staging");
    expect(rows.map(({ path }) => path)).toEqual(["a.md"]);
    // What it has said behind its answer before is read with the next one.
    expect(by).toBe("mcp");
    expect(noise).toContain("[node-llama-cpp] careful");
    await ask("staging");
    expect(told.filter((line) => line.includes("careful"))).toEqual(["qmd: [node-llama-cpp] careful"]);
  });

  test("after three deaths only the command line is used, until they are long past", async () => {
    const { process, ask, fake } = await labWithNotes({ limits: { crashWindowMs: 8000 } });
    fake.set({ mcp: { crash: "SIGKILL" } });
    for (let count = 0; count < 5; count++) expect((await ask("staging")).by).toBe("cli");
    expect(fake.starts("mcp").length).toBe(3);
    expect(process.state()).toMatchObject({ transport: "cli", restarts: 2, lastError: { reason: "crash" } });
    fake.set({});
    await eventually(async () => (await ask("staging")).by === "mcp");
    expect(process.state()).toMatchObject({ transport: "mcp", restarts: 3 });
  });

  test("after a death the child is not started again before its time; a restart that is asked for does not wait", async () => {
    const { process, ask, fake } = await labWithNotes({ limits: { restartMs: [600_000] } });
    fake.set({ mcp: { crash: "SIGABRT" } });
    await ask("staging");
    fake.set({});
    expect((await ask("staging")).by).toBe("cli");
    expect(fake.starts("mcp").length).toBe(1);
    await process.restart();
    expect((await ask("staging")).by).toBe("mcp");
  });

  test("an abort is an AbortError at once, is no failure, and the child answers the next question", async () => {
    const { process, ask, fake } = await labWithNotes();
    await ask("staging");
    fake.set({ mcp: { slowMs: 60_000 } });
    const controller = new AbortController();
    const answer = ask("staging", { signal: controller.signal, deadlineMs: 60_000 });
    await eventually(() => fake.calls("query").length === 2);
    controller.abort(new Error("enough"));
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    fake.set({});
    expect((await ask("staging")).by).toBe("mcp");
    expect(process.state()).toMatchObject({ restarts: 0, lastError: undefined });
    await expect(ask("staging", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
  });

  test("an abort while the command line answers ends its process", async () => {
    const { ask, fake } = await labWithNotes();
    fake.set({ mcp: { crash: "SIGKILL" }, query: { hang: true, ignoreTerm: true } });
    const controller = new AbortController();
    const answer = ask("staging", { signal: controller.signal });
    await eventually(() => fake.starts("query").length === 1);
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    const pid = fake.starts("query")[0]?.pid ?? 0;
    await eventually(() => !isRunning(pid));
  });

  describe("with models", () => {
    const vec = { searches: [{ type: "vec" as const, query: "the staging machine" }], deadlineMs: 500 };

    test("a question that takes too long is a time-out at once, and its late answer is nobody's", async () => {
      const { process, ask, fake } = await labWithNotes({ mode: "semantic" });
      await process.embed({ minutes: 1, signal: noSignal });
      await ask("staging");
      fake.set({ mcp: { slowMs: 1500 } });
      expect(await failureOf(ask("", vec))).toMatchObject({ reason: "timeout" });
      fake.set({});
      // The models stay where they are, and the child is asked again.
      expect((await ask("production")).rows.map(({ path }) => path)).toEqual(["sub/b.md"]);
      await eventually(() => fake.lateAnswers() === 1);
      expect((await ask("staging")).rows.map(({ path }) => path)).toEqual(["a.md"]);
      expect(fake.starts("mcp").length).toBe(1);
      expect(fake.starts("query").length).toBe(0);
    });

    test("where the child is given up, no process reads the models for one question", async () => {
      const { ask, fake } = await labWithNotes({ mode: "semantic", limits: { restartMs: [600_000] } });
      fake.set({ mcp: { crash: "SIGKILL" } });
      await ask("staging");
      expect(await failureOf(ask("", vec))).toMatchObject({ reason: "models_unavailable" });
      expect(await failureOf(ask("staging", { rerank: true }))).toMatchObject({ reason: "models_unavailable" });
    });
  });

  test("a child that has grown too large is replaced, which is no failure", async () => {
    const { process, ask, fake } = await labWithNotes({ limits: { maxMemoryBytes: 1, memoryCheckMs: 0 } });
    await ask("staging");
    await ask("staging");
    expect(fake.starts("mcp").length).toBe(2);
    expect(process.state()).toMatchObject({ transport: "mcp", lastError: undefined });
    await eventually(() => !isRunning(fake.starts("mcp")[0]?.pid ?? 0));
  });

  test("status tells what qmd has", async () => {
    const { process } = await labWithNotes();
    expect(await process.status(noSignal)).toEqual(cases.statusBeforeEmbedding);
  });
});

describe("the command line", () => {
  const notes = { "a.md": "# Alpha\n\nThe staging server listens on port 5544.\n", "b.md": "# Beta\n\nMore words.\n" };

  /** A lab whose questions all go by the command line. */
  async function labByCommandLine(cliQueryMs = 30_000): Promise<QmdLab & { set(fault: FakeFault): void }> {
    const lab = openLab({ limits: { cliQueryMs, restartMs: [600_000] } });
    await lab.update(notes);
    const mcp = { crash: "SIGKILL" };
    lab.fake.set({ mcp });
    // The server has died of it. Whether this answer is in time does not matter.
    await lab.ask("staging").catch(() => undefined);
    return { ...lab, set: (query) => lab.fake.set({ mcp, query }) };
  }

  describe("an answer is read from the command line", () => {
    test.each<[string, FakeFault]>([
      ["when all is well", {}],
      ["with a prefix before its bracket", { noiseBefore: "[node-llama-cpp] " }],
      ["with much on stderr", { stderr: "Cannot find package 'sqlite-vec'\n".repeat(20_000) }],
      ["after a while", { slowMs: 300 }],
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
  });

  describe("it fails as", () => {
    test.each<[string, string, FakeFault]>([
      ["invalid_output", "no list of results", { stdout: "Hello\n" }],
      ["invalid_output", "more than any answer", { stdout: "x".repeat(5_000_000) }],
      ["crash", "139", { rc: 139 }],
      ["crash", "SIGKILL", { exitMidAnswer: true }],
      ["unknown_collection", "notes", { unknownCollection: true }],
      ["qmd_error", "boom", { rc: 3, stderr: "boom\n" }],
    ])("%s, which is told with %j", async (reason, words, fault) => {
      const { ask, set } = await labByCommandLine();
      set(fault);
      expect(await failureOf(ask("staging"))).toMatchObject({ reason, message: expect.stringContaining(words) });
    });

    test.each(cases.hangingCommands as [string, FakeFault][])(
      "timeout when it %s, and nothing is left of it",
      async (_name, fault) => {
        const { ask, set, fake } = await labByCommandLine(1500);
        set(fault);
        expect(await failureOf(ask("staging"))).toMatchObject({ reason: "timeout" });
        const pids = [...fake.starts("query").map(({ pid }) => pid), ...fake.grandchildren()];
        await eventually(() => !pids.some(isRunning));
      },
    );

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
});
