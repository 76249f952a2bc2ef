import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startObjectStorage } from "@memslot/fakes/object-storage";
import { writeFiles } from "@memslot/test-tools/files";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox } from "./run-memslot.ts";
import { transcript } from "./transcript.ts";
import { report, type WrittenPlugin, writePlugin } from "./written-plugin.ts";
import data from "./data/commands-memory.json" with { type: "json" };

function numbered({ workspace }: Sandbox, name = "", count = ""): void {
  const text = Array.from({ length: Number(count) }, (__, index) => `line ${index + 1}\n`).join("");
  writeFiles(workspace, { [name]: text });
}

transcript("memory/get", { steps: { lines: numbered } });
transcript("memory/index", {
  steps: { large: (_, file = "") => writeFileSync(file, "x".repeat(17 * 1024 * 1024)) },
});
transcript("memory/status");

const full = readFileSync(new URL("golden/backend-status.json", import.meta.url), "utf8");
const withCheck = data.check.join("\n");
/** What another copy of the core throws, which is known by its mark. */
const failure = (code: string, message: string): string =>
  `Object.assign(new Error("${message}"), { code: "${code}", [Symbol.for("memslot.MemoryError")]: true })`;
const busy = `async () => { throw ${failure("BUSY", "process 1234 on alder is indexing: 120 of 500 files, since 10:00")}; }`;
const asleep = `async () => { throw ${failure("UNAVAILABLE", "the daemon sleeps")}; }`;
const synced = "{ added: 0, changed: 0, removed: 0, unchanged: 1, failed: [] }";

/** Backends by the names that `golden/memory/backends.txt` has for them: their members, or how they are opened. */
const backends: Record<string, string | Pick<WrittenPlugin, "open" | "members">> = {
  plain: "",
  full: `status: () => (${full}), ${withCheck}`,
  unchecked: `status: () => ({ backend: "stub", provider: "openai", files: 1, vector: { enabled: true, semanticAvailable: false, index: { state: "unverified" } } }),`,
  checked: withCheck,
  checkBusy: `check: ${busy},`,
  compacted: "async compact() { return { beforeBytes: 12_300_000, afterBytes: 4_500_000 }; },",
  compact: "async compact() { return { beforeBytes: 5000, afterBytes: 5000 }; },",
  compactBusy: `compact: ${busy},`,
  syncBusy: `sync: ${busy}, status: () => (${full}),`,
  strike: 'async sync() { throw new Error("the disk is on strike"); },',
  sleeping: `async search(query, options) { options.onDebug({ ...report, state: "unavailable", reason: "the daemon sleeps" }); return []; },`,
  throwing: 'async search() { throw new Error("no"); },',
  torn: `async sync() { return { ...${synced}, failed: Array.from({ length: 23 }, (_, index) => ({ path: "memory/" + index + ".md", reason: "is torn" })) }; },`,
  blind: `async search(query, options) { options.onDebug(${report("blind")}); return []; },
    async readFile() { return { status: "ok", text: "Anna likes espresso.", path: "MEMORY.md" }; },`,
  closed: { open: `open: ${asleep}` },
  mute: `search: ${asleep}, readFile: ${asleep}, async sync() { return ${synced}; },`,
  alone: { open: `open: ${asleep}` },
};

function writeBackends({ folder }: Sandbox): void {
  for (const [id, given] of Object.entries(backends)) {
    const plugin = typeof given === "string" ? { members: given } : given;
    const place = writePlugin(path.join(folder, "plugins", id), { id, ...plugin });
    const fallback = id === "alone" ? "none" : "builtin";
    const plugins = { slots: { memory: id }, load: { paths: [place] }, entries: { [id]: { fallback } } };
    writeFileSync(path.join(folder, `${id}.json5`), JSON.stringify({ plugins }));
  }
}

transcript("memory/backends", { prepare: writeBackends });

test("only memory index --wait waits for another process, and each command gives its reason", async () => {
  const sandbox = await createSandbox();
  const asked: string[] = [];
  Object.assign(globalThis, { memslotTestAsked: asked });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, "memslotTestAsked"));
  const members = "async sync({ wait, reason }) { globalThis.memslotTestAsked.push(`${wait} for ${reason}`); },";
  const place = writePlugin(path.join(sandbox.cwd, "asked"), { id: "asked", members });
  const plugins = { slots: { memory: "asked" }, load: { paths: [place] } };
  const config = await sandbox.writeConfig(JSON.stringify({ plugins }));
  for (const args of data.allCommands) await sandbox.runHere([...args, "--config", config]);
  expect(asked).toEqual(["true for cli", "false for cli", "false for search", "false for cli", "false for cli"]);
});

function indexFile({ stateDir }: Sandbox): string {
  const folder = path.join(stateDir, "memory");
  return path.join(folder, readdirSync(folder).find((file) => file.endsWith(".sqlite")) ?? "none");
}

/** Changes the index as the store does, which removes first what says that it is whole. */
function changeIndex(sandbox: Sandbox, change: (db: DatabaseSync) => void): void {
  const file = indexFile(sandbox);
  rmSync(`${file}-sum`, { force: true });
  const db = new DatabaseSync(file);
  change(db);
  db.close();
}

test("an index without its words is found by status --deep and doctor, and repaired by --fix", async () => {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "The lighthouse keeper is called Ole.\n");
  await sandbox.runHere(["memory", "index"]);
  changeIndex(sandbox, (db) => {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%'").all();
    expect(tables).toHaveLength(1);
    for (const { name } of tables) db.exec(`DELETE FROM "${String(name)}"`);
  });
  const deep = await sandbox.runHere(["memory", "status", "--deep", "--json"]);
  expect(deep.exitCode).toBe(1);
  const { check } = JSON.parse(deep.stdout)[0];
  expect(check.findings).toContainEqual(expect.objectContaining({ name: "words", ok: false }));
  const doctor = await sandbox.runHere(["doctor"]);
  expect(doctor.exitCode).toBe(1);
  expect(doctor.stdout).toMatch(/^fail +index .*\n +→ .*memslot memory status --fix/mu);
  const fixed = await sandbox.runHere(["memory", "status", "--fix"]);
  expect(fixed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^ {2}fixed +words +\S.*; \S/mu) });
  expect((await sandbox.runHere(["memory", "search", "lighthouse keeper"])).stdout).toContain("MEMORY.md:1");
  expect((await sandbox.runHere(["memory", "status", "--deep"])).exitCode).toBe(0);
  await sandbox.write("MEMORY.md", `Password: blauefliege7x\n${"The mill is old.\n".repeat(400)}`);
  expect(await sandbox.runHere(["doctor"])).toMatchObject({ exitCode: 0 });
});

test("a damaged index in a bucket: each command names index --force, and that rebuilds it, leases included", async () => {
  const storage = await startObjectStorage();
  onTestFinished(() => storage.stop());
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "The badger sleeps in winter.\n");
  const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
  const plugins = { slots: { memory: "memory-lancedb" }, entries: { "memory-lancedb": { config } } };
  const path = await sandbox.writeConfig(JSON.stringify({ plugins, memory: { provider: "none" } }));
  const run = (...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> =>
    sandbox.runHere(["--config", path, ...args]);
  expect(await run("memory", "index")).toMatchObject({ exitCode: 0 });
  async function damage(what: RegExp): Promise<void> {
    for (const key of storage.keys("notes", "").filter((each) => what.test(each)))
      await fetch(`${storage.url}/notes/${key}`, { method: "PUT", body: "garbage" });
  }
  await damage(/v2_leases/);
  const command = "memslot memory index --force";
  expect((await run("memory", "status", "--deep")).stdout).toMatch(new RegExp(`wrong  leases .*${command}`));
  await damage(/v2_files/);
  for (const args of data.damagedCommands) {
    const { exitCode, stdout, stderr } = await run(...args);
    expect([args.join(" "), exitCode]).not.toContain(0);
    expect(stdout + stderr).toContain(command);
  }
  expect(await run("memory", "index", "--force")).toMatchObject({ exitCode: 0 });
  expect((await run("memory", "status", "--deep")).exitCode).toBe(0);
  expect((await run("memory", "search", "badger")).stdout).toContain("MEMORY.md");
});

test("memory compact makes the file smaller, the next one finds nothing to do, and none makes an index", async () => {
  const sandbox = await createSandbox();
  expect((await sandbox.runHere(["memory", "compact"])).exitCode).toBe(0);
  expect(() => indexFile(sandbox)).toThrow(/ENOENT/u);
  await sandbox.write("MEMORY.md", "The lighthouse keeper is called Ole.\n");
  await sandbox.runHere(["memory", "index"]);
  const fresh = statSync(indexFile(sandbox)).size;
  changeIndex(sandbox, (db) => {
    db.exec("CREATE TABLE heap (bytes)");
    for (let count = 0; count < 64; count++) db.exec("INSERT INTO heap VALUES (zeroblob(1000000))");
    db.exec("DROP TABLE heap");
  });
  const { exitCode, stdout } = await sandbox.runHere(["memory", "compact", "--json"]);
  expect(exitCode).toBe(0);
  const [{ beforeBytes, afterBytes }] = JSON.parse(stdout);
  expect(beforeBytes).toBeGreaterThan(fresh);
  expect(afterBytes).toBe(statSync(indexFile(sandbox)).size);
  expect(afterBytes).toBeLessThanOrEqual(fresh);
  expect((await sandbox.runHere(["memory", "search", "lighthouse"])).stdout).toContain("MEMORY.md:1");
  expect((await sandbox.runHere(["memory", "compact"])).stdout).toMatch(/no space to free\n$/u);
});
