import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Finished, createSandbox } from "./run-memslot.ts";

const gone =
  'Object.assign(new Error("the daemon sleeps"), { code: "UNAVAILABLE", [Symbol.for("memslot.MemoryError")]: true })';

/** A plugin that cannot be opened, or that opens and cannot search. */
const entries = {
  closed: `async open() { throw ${gone}; }`,
  mute: `async open() { return {
    capabilities: { keyword: true, vector: false, ownsIndex: true },
    async search() { throw ${gone}; },
    async readFile() { throw ${gone}; },
    status() { return { backend: "mute", provider: "none", files: 1 }; },
    async sync() { return { added: 0, changed: 0, removed: 0, unchanged: 1, failed: [] }; },
    async probeEmbeddingAvailability() { return { ok: false, error: "none" }; },
    async probeVectorAvailability() { return false; },
  }; }`,
};

async function run(id: keyof typeof entries, fallback: string, ...commands: string[][]): Promise<Finished[]> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const folder = path.join(sandbox.cwd, id);
  await mkdir(folder);
  const files = {
    "memslot.plugin.json": JSON.stringify({ id, kind: "memory", configSchema: { type: "object" } }),
    "package.json": JSON.stringify({ name: id, type: "module", exports: "./index.js" }),
    "index.js": `export default { kind: "memory", contract: 1, id: "${id}", ${entries[id]} };`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const plugins = { slots: { memory: id }, load: { paths: [folder] }, entries: { [id]: { fallback } } };
  const config = await sandbox.writeConfig(JSON.stringify({ plugins }));
  const finished: Finished[] = [];
  for (const command of commands) finished.push(await sandbox.runHere([...command, "--config", config]));
  return finished;
}

describe.each(Object.keys(entries) as (keyof typeof entries)[])("a backend that is unavailable (%s)", (id) => {
  test("has its spare answer, and every command says who, why and until when", async () => {
    const [json, human, doctor] = await run(
      id,
      "keyword",
      ["memory", "search", "espresso", "--json"],
      ["memory", "search", "espresso", "--explain"],
      ["doctor"],
    );
    expect(json?.exitCode).toBe(0);
    const answer = JSON.parse(json?.stdout ?? "") as Record<string, unknown>;
    expect(answer).toMatchObject({
      results: [{ path: "MEMORY.md" }],
      backend: "memory-core",
      mode: "keyword",
      state: "degraded",
      fallback: { from: id, to: "memory-core", reason: "the daemon sleeps" },
    });
    const { since, retryAt } = answer["fallback"] as { since: string; retryAt: string };
    expect(Date.parse(retryAt) - Date.parse(since)).toBe(30_000);
    expect(human?.exitCode).toBe(0);
    expect(human?.stdout).toMatch(
      new RegExp(`^Fallback: +${id} → memory-core: the daemon sleeps \\(since .*, tried again after .*\\)$`, "mu"),
    );
    expect(human?.stderr).toContain(`"${id}" is unavailable: the daemon sleeps`);
    expect(doctor?.exitCode).toBe(0);
    expect(doctor?.stdout).toMatch(
      /^warn +search +"espresso" of MEMORY.md: 1 found, .* degraded: .*the daemon sleeps$/mu,
    );
  });
});

test("status names the spare, and the fallback where the backend cannot be opened", async () => {
  const [human, json] = await run("closed", "builtin", ["memory", "status"], ["memory", "status", "--json"]);
  expect(human?.stdout).toMatch(/^Backend: +memory-core$/mu);
  expect(human?.stdout).toMatch(/^Fallback: +closed → memory-core: the daemon sleeps \(since /mu);
  expect(JSON.parse(json?.stdout ?? "")).toMatchObject([
    { status: { backend: "memory-core", spare: { backend: "memory-core", open: true }, fallback: { from: "closed" } } },
  ]);
  const [well] = await run("mute", "builtin", ["memory", "status"]);
  expect(well?.stdout).toMatch(/^Backend: +mute\nSpare: +memory-core, opened when it is needed$/mu);
  expect(well?.stdout).not.toContain("Fallback:");
});

test("doctor names both", async () => {
  const [closed] = await run("closed", "builtin", ["doctor"]);
  expect(closed?.stdout).toMatch(/^warn +slot +closed is not in use, memory-core answers in its place: the daemon/mu);
  const [mute] = await run("mute", "builtin", ["doctor"]);
  expect(mute?.stdout).toMatch(/^ok +slot +mute, with a spare: memory-core, opened when it is needed$/mu);
});

test("without a spare the command ends with the reason", async () => {
  const [search] = await run("closed", "none", ["memory", "search", "espresso"]);
  expect(search).toMatchObject({ exitCode: 1, stdout: "" });
  expect(search?.stderr).toContain("the daemon sleeps");
});
