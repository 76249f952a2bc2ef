import { execFileSync } from "node:child_process";
import { truncateSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { writeTinyGguf } from "@memslot/fakes/gguf";
import { ask, manyNotes, useEmbeddingBench } from "./support/embedding-bench.ts";

const bench = useEmbeddingBench();
const words = ["budget", "server", "kitten", "journey", "garden", "piano", "harvest", "bridge", "number", "note"];

/** Children of this process that run a model. */
function modelProcesses(): number[] {
  const lines = execFileSync("ps", ["-o", "pid=,ppid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  return lines
    .split("\n")
    .filter((line) => line.includes("embeddings-local"))
    .map((line) => Number.parseInt(line, 10));
}

describe("a model on this machine", () => {
  test("indexes and answers with no request to anybody, and ends with the memory", async () => {
    const { api, open, write, stateDir } = await bench();
    const modelPath = path.join(stateDir, "..", "tiny.gguf");
    writeTinyGguf(modelPath, { words });
    write(manyNotes(16));
    const memory = await open({ provider: "local", model: undefined, local: { modelPath } });
    expect((await memory.sync())?.pendingVectors).toBeUndefined();
    expect(memory.status()).toMatchObject({
      provider: "local",
      model: "tiny.gguf",
      vector: { dims: 64, embedded: 16 },
      embedding: { host: "this machine" },
    });
    const { results, report } = await ask(memory, "the kitten of number 2");
    expect(report).toMatchObject({ state: "ok", mode: "hybrid" });
    expect(results[0]).toMatchObject({ path: "memory/note-2.md", vectorScore: expect.any(Number) as number });
    expect(modelProcesses()).toHaveLength(1);
    await memory.close();
    expect(modelProcesses()).toEqual([]);
    expect(api.log).toEqual([]);
  });

  test("that is killed is started again, and nobody notices", async () => {
    const { open, write, stateDir } = await bench();
    const modelPath = path.join(stateDir, "..", "tiny.gguf");
    writeTinyGguf(modelPath, { words });
    write(manyNotes(16));
    const memory = await open({ provider: "local", model: undefined, local: { modelPath } });
    await memory.sync();
    for (const pid of modelProcesses()) process.kill(pid, "SIGKILL");
    expect((await ask(memory, "the piano of number 5")).report).toMatchObject({ state: "ok", mode: "hybrid" });
    expect(modelProcesses()).toHaveLength(1);
  });

  test("whose file is cut short leaves the words and the index, and the reason names the file", async () => {
    const { open, write, stateDir, lines } = await bench();
    const modelPath = path.join(stateDir, "..", "tiny.gguf");
    const size = writeTinyGguf(modelPath, { words });
    write(manyNotes(8));
    const first = await open({ provider: "local", model: undefined, local: { modelPath } });
    await first.sync();
    await first.close();
    truncateSync(modelPath, Math.floor(size / 2));
    const memory = await open({ provider: "local", model: undefined, local: { modelPath } });
    const { results, report } = await ask(memory, "the kitten of number 2");
    expect(results[0]?.path).toBe("memory/note-2.md");
    expect(report).toMatchObject({ state: "degraded", mode: "keyword" });
    expect([report.reason, ...lines].join("\n")).toContain("tiny.gguf");
    await memory.close();

    writeTinyGguf(modelPath, { words });
    const back = await open({ provider: "local", model: undefined, local: { modelPath } });
    expect((await ask(back, "the kitten of number 2")).report).toMatchObject({ state: "ok", mode: "hybrid" });
  });
});
