import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { quirks } from "@memslot/fakes/embedding-api";
import { randomFrom } from "@memslot/test-tools/random";
import { eventually } from "@memslot/test-tools/wait";
import type { Memory } from "memslot";
import { expect, test } from "vitest";
import {
  type EmbeddingHouse,
  expectQuirkHandled,
  manyNotes,
  textsSent,
  useEmbeddingHouse,
  usualProvider,
} from "../support/embedding-workspace.ts";
import { ask } from "../support/temp-workspace.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";
import { type CliRun, runCli } from "../support/run-command.ts";
import data from "../data/faults.json" with { type: "json" };

const forEver = 1_000_000;

const firstQuirk = randomFrom(stormSeed()).below(quirks.length);
const chosen = [...quirks, ...quirks].slice(firstQuirk, firstQuirk + stormSize(quirks.length));
test.each(chosen)(`a provider with the quirk $name is right, or refused by name (${seeded})`, (quirk) =>
  expectQuirkHandled(quirk),
);

/** What a host does all day: questions, and syncs in the background. */
async function aBusyDay(memory: Memory, given: EmbeddingHouse): Promise<string[]> {
  const reasons: string[] = [];
  for (let round = 0; round < 5; round++) {
    given.write({ [`memory/day-${round}.md`]: `# Day ${round}\n\n- Something new in round ${round}.\n` });
    await memory.sync({ reason: ["watch", "interval", "session-start"][round % 3] });
    const { results, report } = await ask(memory, `the kitten of number ${round}`);
    expect(results.length).toBeGreaterThan(0);
    expect(report).toMatchObject({ state: "degraded", mode: "keyword" });
    reasons.push(report.reason ?? "");
  }
  return reasons;
}

/** A search in a process of its own, with the same state folder and settings. */
function inAnotherProcess({ settings, notes, stateDir }: EmbeddingHouse): string {
  const config = JSON.stringify({ agents: { defaults: { memorySearch: usualProvider } }, ...settings });
  const run = spawnSync(
    process.execPath,
    [...process.execArgv, "--input-type=module", "--eval", childScript(config, notes)],
    { encoding: "utf8", timeout: 240_000, env: { ...process.env, MEMSLOT_HOME: stateDir }, cwd: import.meta.dirname },
  );
  expect(run.stderr.replaceAll(/^\(node:.*$|^\(Use .*$/gm, "").trim()).toBe("");
  return run.stdout;
}

function childScript(config: string, notes: string): string {
  return `
    import { openMemory } from "memslot";
    const memory = await openMemory({ config: ${config}, agentId: "main", workspaceDir: ${JSON.stringify(notes)}, notify() {} });
    let report;
    const results = await memory.search("the kitten of number 2", { onDebug: (given) => (report = given) });
    console.log(JSON.stringify({ found: results.length, report, embedding: memory.status().embedding }));
    await memory.close();
  `;
}

test.each(data.faults as [string, { status: number; body: object }][])(
  "a provider that refuses for good (%s) gets one request in a busy day, over all processes, and the status says when the next comes",
  async (_, fault) => {
    const given = await useEmbeddingHouse(manyNotes(12));
    const { api, open } = given;
    api.fail({ times: forEver, ...fault });
    const memory = await open();
    const reasons = await aBusyDay(memory, given);
    expect(api.log).toHaveLength(1);
    for (const reason of reasons) expect(reason).toContain(String(fault.status));
    const { circuit } = memory.status().embedding ?? {};
    expect(circuit).toMatchObject({ kind: expect.stringMatching(/^(quota|auth)$/) as string });
    expect(Date.parse(circuit?.nextProbeAt ?? "") - Date.now()).toBeGreaterThan(10 * 60_000);

    const other = JSON.parse(inAnotherProcess(given)) as { found: number; embedding: { circuit: object } };
    expect(other.found).toBeGreaterThan(0);
    expect(other.embedding.circuit).toMatchObject({ nextProbeAt: circuit?.nextProbeAt });
    expect(api.log).toHaveLength(1);
  },
);

test("what is sent holds no secret, in notes, headings and questions; the file stays as it is, and no key is kept or told", async () => {
  const given = await useEmbeddingHouse();
  const secret = ["sk", "proj", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"].join("-");
  const text = `# Keys ${secret}\n\n- The key of the printer is ${secret}, paid until May.\n`;
  given.write({ "MEMORY.md": text, ...manyNotes(3) });
  const memory = await given.open();
  await memory.sync();
  const { results } = await ask(memory, `whose key is ${secret}`);
  expect(results[0]).toMatchObject({ path: "MEMORY.md", snippet: expect.not.stringContaining(secret) as string });
  expect(results[0]?.snippet).toContain("redacted");
  expect(textsSent(given.api.log).length).toBeGreaterThan(3);
  for (const { body, path: url } of given.api.log) expect(`${url} ${body}`).not.toContain(secret);
  expect(readFileSync(given.at("MEMORY.md"), "utf8")).toBe(text);
  const { text: read } = await memory.readFile({ relPath: "MEMORY.md" });
  expect(read).toContain(secret);
  await memory.close();
  const kept = spawnSync("grep", ["-rlaE", `${secret}|sk-of-the-test`, given.stateDir], { encoding: "utf8" });
  expect(kept.stdout).toBe("");
});

// A provider that takes requests and never answers, as a person at the command line meets it.

/** Runs the command with a configuration that names the server. */
function commandIn(
  { folder, notes, settings }: EmbeddingHouse,
  memorySearch: Record<string, unknown> = {},
): (args: string[], stop?: { signal: AbortSignal; stopWith: NodeJS.Signals }) => Promise<CliRun> {
  const config = path.join(folder, "config.json5");
  const defaults = { workspace: notes, memorySearch: { ...usualProvider, ...memorySearch } };
  writeFileSync(config, JSON.stringify({ agents: { defaults }, ...settings }));
  return (args, stop) => runCli(args, { stateDir: path.join(folder, "home"), config, ...stop });
}

test("memory index names the provider and each attempt, ends in time with what is left and what to do, and goes on later", async () => {
  const given = await useEmbeddingHouse(manyNotes(4));
  const memslot = commandIn(given, { sync: { embeddingBatchTimeoutSeconds: 2 } });
  given.api.fail({ times: forEver, behaviour: "hang" });
  const plain = await memslot(["memory", "index"]);
  expect(plain.stderr).toMatch(/^memslot: embedding with openai/m);
  expect(plain.stderr).toContain("4 chunks not embedded yet: openai: the embedding provider openai did not answer");
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
  const given = await useEmbeddingHouse(manyNotes(4));
  const memslot = commandIn(given);
  given.api.fail({ times: forEver, behaviour: "hang" });
  const controller = new AbortController();
  const waiting = memslot(["memory", "index"], { signal: controller.signal, stopWith: "SIGTERM" });
  await eventually(() => given.api.log.length > 0, "the provider is asked", 60_000);
  const found = await memslot(["memory", "search", "kitten"]);
  expect(found.exitCode).toBe(0);
  expect(found.stdout).toContain("memory/note-2.md");
  controller.abort();
  const { exitCode, stderr } = await waiting;
  expect(exitCode).toBe(143);
  expect(stderr).not.toContain("closing the memory");
});
