import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type EmbeddingBench, manyNotes, until, useEmbeddingBench } from "./support/embedding-bench.ts";
import { type CliRun, runCli } from "./support/run-cli.ts";

// A provider that takes requests and never answers, as a person at the command line meets it.

const bench = useEmbeddingBench();
const forEver = 1_000_000;

/** Runs the command with a configuration that names the server. */
function commandIn(
  { api, notes }: EmbeddingBench,
  memorySearch: Record<string, unknown> = {},
): (args: string[], stop?: { signal: AbortSignal; stopWith: NodeJS.Signals }) => Promise<CliRun> {
  const folder = path.dirname(notes);
  const config = path.join(folder, "config.json5");
  const text = JSON.stringify({
    agents: {
      defaults: { workspace: notes, memorySearch: { provider: "openai", model: "model-a", ...memorySearch } },
    },
    models: { providers: { openai: { apiKey: "sk-of-the-test", baseUrl: `${api.url}/v1` } } },
  });
  writeFileSync(config, text);
  return (args, stop) => runCli(args, { stateDir: path.join(folder, "home"), config, ...stop });
}

test("memory index names the provider and each attempt, ends in time with what is left and what to do, and goes on later", async () => {
  const given = await bench();
  given.write(manyNotes(4));
  const memslot = commandIn(given, { sync: { embeddingBatchTimeoutSeconds: 2 } });
  given.api.fail({ times: forEver, behaviour: "hang" });
  const plain = await memslot(["memory", "index"]);
  expect(plain.stderr).toMatch(/^memslot: embedding with openai/m);
  expect(plain.stderr).toContain(
    "4 chunks still without a vector: openai: the embedding provider openai gave no answer",
  );
  expect(plain.stderr).toContain("within 2 s");
  expect(plain.stderr).toContain("run memslot memory index again when the provider answers");
  expect(plain.exitCode).toBe(3);
  expect(plain.stdout).toContain("4 files");
  const verbose = await memslot(["memory", "index", "--verbose"]);
  expect(verbose.stderr).toMatch(/embedding with openai \(attempt 2 of 2, waits \d\.\d s; before: .*within 2 s\)/);
  expect(verbose.exitCode).toBe(3);
  given.api.reset();
  const later = await memslot(["memory", "index"]);
  expect(later).toMatchObject({ exitCode: 0, stderr: "" });
});

test("words are found while memory index waits, and SIGTERM ends it at once", async () => {
  const given = await bench();
  given.write(manyNotes(4));
  const memslot = commandIn(given);
  given.api.fail({ times: forEver, behaviour: "hang" });
  const controller = new AbortController();
  const waiting = memslot(["memory", "index"], { signal: controller.signal, stopWith: "SIGTERM" });
  await until(() => given.api.log.length > 0, "the provider is asked", 60_000);
  const found = await memslot(["memory", "search", "kitten"]);
  expect(found.exitCode).toBe(0);
  expect(found.stdout).toContain("memory/note-2.md");
  controller.abort();
  const { exitCode, stderr } = await waiting;
  expect(exitCode).toBe(143);
  expect(stderr).not.toContain("closing the memory");
});
