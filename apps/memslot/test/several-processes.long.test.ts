import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type EmbeddingApi, type EmbeddingApiOptions, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { command, createSandbox, type Sandbox } from "./run-memslot.ts";

const LONG = { timeout: 60_000, interval: 20 };

interface Running {
  child: ChildProcess;
  stderr(): string;
  /** Exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

interface House extends Sandbox {
  api: EmbeddingApi;
  memslot(...args: string[]): ReturnType<Sandbox["run"]>;
  /** The same, without waiting for its end. */
  start(...args: string[]): Running;
  useModel(model: string): Promise<void>;
}

/** A folder with notes whose embedding provider can be made to leave a request without an answer. */
async function createHouse(options: EmbeddingApiOptions = {}): Promise<House> {
  const api = await startEmbeddingApi({ dimensions: 32, ...options });
  onTestFinished(() => api.close());
  const sandbox = await createSandbox();
  const useModel = async (model: string): Promise<string> =>
    await sandbox.writeConfig(
      JSON.stringify({
        agents: { defaults: { memorySearch: { provider: "openai", model, remote: { nonBatchConcurrency: 1 } } } },
        models: { providers: { openai: { baseUrl: `${api.url}/v1`, apiKey: "sk-of-the-tests-4711" } } },
      }),
    );
  const config = await useModel("model-a");
  await sandbox.write("MEMORY.md", "# Memory\n\n- Anna likes espresso.\n");
  await sandbox.write("memory/2026-03-05.md", "# 2026-03-05\n\n- The server moved to Porto.\n");
  const complete = (args: readonly string[]): string[] => [
    ...args,
    "--workspace",
    sandbox.workspace,
    "--config",
    config,
  ];
  return {
    ...sandbox,
    api,
    useModel: async (model) => void (await useModel(model)),
    memslot: (...args) => sandbox.run(complete(args)),
    start(...args) {
      const [program = "", ...fixed] = command;
      const child = spawn(program, [...fixed, ...complete(args)], { cwd: sandbox.cwd, env: sandbox.env });
      onTestFinished(() => void child.kill("SIGKILL"));
      let stderr = "";
      child.stderr.on("data", (data) => (stderr += data));
      child.stdout.resume();
      const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
      return { child, stderr: () => stderr, ended };
    },
  };
}

/** A process that has begun to index and is kept at it: its provider does not answer. */
async function holdIndex(house: House, ...args: string[]): Promise<Running> {
  house.api.reset();
  house.api.fail({ behaviour: "hang", times: 1000 });
  const holder = house.start("memory", "index", ...args);
  await vi.waitFor(() => expect(house.api.log.length).toBeGreaterThan(0), LONG);
  return holder;
}

describe("an index that another process is at work on", { timeout: 120_000 }, () => {
  test("is not indexed a second time: memory index names the process and ends with 4", async () => {
    const house = await createHouse();
    const { child } = await holdIndex(house);
    const who = `process ${child.pid} `;
    const second = await house.memslot("memory", "index");
    expect(second).toMatchObject({ exitCode: 4, stdout: "" });
    expect(second.stderr).toContain(who);
    expect(second.stderr).toContain("memslot memory index --wait");
    const [{ status }] = JSON.parse((await house.memslot("memory", "status", "--json")).stdout);
    expect(status.writer).toMatchObject({ pid: child.pid, reason: "cli" });
    expect((await house.memslot("memory", "status")).stdout).toMatch(new RegExp(`^Writer: +${who}`, "mu"));
  });

  test("says how far the other process is", async () => {
    let texts = 0;
    let answered = Number.POSITIVE_INFINITY;
    const house = await createHouse({
      // Longer than the time in which one progress only is written for others to read.
      latencyMs: 700,
      embed(_text, { dimensions }) {
        // The first request may be one text alone, which tells the length of vectors. What comes after the next hangs.
        if (++texts > 1) {
          house.api.fail({ behaviour: "hang", times: 1000 });
          answered = house.api.log.length;
        }
        return new Float32Array(dimensions).fill(1);
      },
    });
    for (let index = 0; index < 120; index++)
      await house.write(`memory/${index}.md`, `# Note ${index}\n\n${`The ferry ${index} left late. `.repeat(160)}\n`);
    house.start("memory", "index");
    await vi.waitFor(() => expect(house.api.log.length).toBeGreaterThan(answered), LONG);
    await vi.waitFor(async () => {
      const [{ status }] = JSON.parse((await house.memslot("memory", "status", "--json")).stdout);
      expect(status.writer?.completed).toBeGreaterThan(0);
    }, LONG);
    expect((await house.memslot("memory", "index")).stderr).toMatch(/\([^()]*[1-9]\d* of [1-9]\d*[^()]*\)/u);
    expect((await house.memslot("memory", "status")).stdout).toMatch(/^Writer: .*: [1-9]\d* of [1-9]\d*, since /mu);
    const waiter = house.start("memory", "index", "--wait");
    await vi.waitFor(() => expect(waiter.stderr()).toMatch(/process \d+ .*: [1-9]\d* of [1-9]\d* \(/u), LONG);
  });

  test("answers, also from what was saved meanwhile, and says who is at work", async () => {
    const house = await createHouse();
    const { child } = await holdIndex(house);
    await house.write("memory/new.md", "The lighthouse keeper is called Ole.\n");
    const { exitCode, stdout } = await house.memslot("memory", "search", "lighthouse keeper", "--json");
    expect(exitCode).toBe(0);
    const answer = JSON.parse(stdout);
    expect(answer.results[0]).toMatchObject({ path: "memory/new.md" });
    expect(answer).toMatchObject({
      writer: { pid: child.pid },
      reason: expect.stringContaining(`process ${child.pid} `),
    });
  });

  test("is found by memslot doctor to be well, with the name of that process", async () => {
    const house = await createHouse();
    await house.memslot("memory", "index");
    await house.useModel("model-b");
    const { child } = await holdIndex(house);
    house.api.reset();
    const { checks } = JSON.parse((await house.memslot("doctor", "--json")).stdout);
    const named = (name: string): unknown => checks.find((check: { name: string }) => check.name === name);
    expect(named("writer")).toMatchObject({ status: "ok", message: expect.stringContaining(`process ${child.pid} `) });
    expect(named("sync")).toMatchObject({ status: "warn", message: expect.stringContaining(`process ${child.pid} `) });
    expect(named("index")).toMatchObject({ status: "ok" });
    expect(named("search")).not.toMatchObject({ status: "fail" });
  });

  test("is waited for with --wait, and is free when the other is killed", async () => {
    const house = await createHouse();
    const holder = await holdIndex(house);
    const waiter = house.start("memory", "index", "--wait");
    await vi.waitFor(() => expect(waiter.stderr()).toContain(`process ${holder.child.pid} `), LONG);
    expect(waiter.child.exitCode).toBeNull();
    house.api.reset();
    holder.child.kill("SIGKILL");
    expect(await holder.ended).toBe("SIGKILL");
    expect(await waiter.ended).toBe(0);
    const [{ status }] = JSON.parse((await house.memslot("memory", "status", "--deep", "--json")).stdout);
    expect(status).toMatchObject({ files: 2, vector: { index: { state: "complete" } } });
    expect(status).not.toHaveProperty("writer");
  });

  test("goes on answering while it is rebuilt, and the next process ends a rebuild that was killed", async () => {
    const house = await createHouse();
    await house.memslot("memory", "index");
    await house.useModel("model-b");
    const holder = await holdIndex(house, "--force");
    house.api.reset();
    const [{ status }] = JSON.parse((await house.memslot("memory", "status", "--json")).stdout);
    expect(status.generation).toMatchObject({ next: { files: 2 } });
    expect((await house.memslot("memory", "status")).stdout).toMatch(
      /^Rebuild: +index version \d+, 2 files, started /mu,
    );
    expect((await house.memslot("memory", "search", "espresso")).stdout).toContain("MEMORY.md:");
    holder.child.kill("SIGKILL");
    await holder.ended;
    expect((await house.memslot("memory", "index")).exitCode).toBe(0);
    const [after] = JSON.parse((await house.memslot("memory", "status", "--deep", "--json")).stdout);
    expect(after.status.generation).toMatchObject({ id: status.generation.next.id });
    expect(after.status.generation).not.toHaveProperty("next");
    expect(after.check).toMatchObject({ ok: true });
  });
});
