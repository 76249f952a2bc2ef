import { readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createSandbox, type Sandbox } from "./run-memslot.ts";

function indexFile({ stateDir }: Sandbox): string {
  const folder = path.join(stateDir, "memory");
  const [name = "none"] = readdirSync(folder).filter((file) => file.endsWith(".sqlite"));
  return path.join(folder, name);
}

/** Opens the index to write to it as the store does, which takes away first what says that it is whole. */
function openIndex(sandbox: Sandbox): DatabaseSync {
  const file = indexFile(sandbox);
  rmSync(`${file}-sum`, { force: true });
  return new DatabaseSync(file);
}

/** Takes the words of every chunk out of the index. */
function forgetWords(sandbox: Sandbox): void {
  const db = openIndex(sandbox);
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%'").all();
  expect(tables).toHaveLength(1);
  for (const { name } of tables) db.exec(`DELETE FROM "${String(name)}"`);
  db.close();
}

/** Makes the index larger by pages that hold nothing. */
function leaveSpace(sandbox: Sandbox): void {
  const db = openIndex(sandbox);
  db.exec("CREATE TABLE heap (bytes)");
  const insert = db.prepare("INSERT INTO heap VALUES (zeroblob(1000000))");
  for (let count = 0; count < 64; count++) insert.run();
  db.exec("DROP TABLE heap");
  db.close();
}

describe("an index whose words are lost", () => {
  test("is found out by memory status --deep and doctor, and mended by --fix from what it holds", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "The lighthouse keeper is called Ole.\n");
    await sandbox.write("memory/a.md", "The ferry left late.\n");
    await sandbox.runHere(["memory", "index"]);
    forgetWords(sandbox);
    const deep = await sandbox.runHere(["memory", "status", "--deep", "--json"]);
    expect(deep.exitCode).toBe(1);
    const { check } = JSON.parse(deep.stdout)[0];
    expect(check.ok).toBe(false);
    expect(check.findings).toContainEqual(expect.objectContaining({ name: "words", ok: false }));
    const doctor = await sandbox.runHere(["doctor"]);
    expect(doctor.exitCode).toBe(1);
    expect(doctor.stdout).toMatch(/^fail +index .*\n +→ .*memslot memory status --fix/mu);
    const fixed = await sandbox.runHere(["memory", "status", "--fix"]);
    expect(fixed.exitCode).toBe(0);
    expect(fixed.stdout).toMatch(/^ {2}mended +words +\S.*; \S/mu);
    expect((await sandbox.runHere(["memory", "search", "lighthouse keeper"])).stdout).toContain("MEMORY.md:1");
    expect((await sandbox.runHere(["memory", "status", "--deep"])).exitCode).toBe(0);
  });
});

describe("memslot memory compact", () => {
  test("makes the file smaller, and the next time says that there is nothing to do", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "The lighthouse keeper is called Ole.\n");
    await sandbox.runHere(["memory", "index"]);
    const fresh = statSync(indexFile(sandbox)).size;
    leaveSpace(sandbox);
    const { exitCode, stdout } = await sandbox.runHere(["memory", "compact", "--json"]);
    expect(exitCode).toBe(0);
    const [{ beforeBytes, afterBytes }] = JSON.parse(stdout);
    expect(beforeBytes).toBeGreaterThan(fresh);
    expect(afterBytes).toBe(statSync(indexFile(sandbox)).size);
    expect(afterBytes).toBeLessThanOrEqual(fresh);
    expect((await sandbox.runHere(["memory", "search", "lighthouse"])).stdout).toContain("MEMORY.md:1");
    expect((await sandbox.runHere(["memory", "compact"])).stdout).toMatch(/there is nothing to give back\n$/u);
  });

  test("makes no index where there is none", async () => {
    const sandbox = await createSandbox();
    const { exitCode } = await sandbox.runHere(["memory", "compact"]);
    expect(exitCode).toBe(0);
    expect(() => indexFile(sandbox)).toThrow(/ENOENT/u);
  });
});
