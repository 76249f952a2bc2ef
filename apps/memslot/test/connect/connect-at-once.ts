import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "vitest";
import type { ClientId } from "@memslot/core";
import { createSandbox } from "../run-memslot.ts";

export const before = '{\n  // mine\n  "theme": "dark"\n}\n';
/**
 * Connects these clients at once, each in a process of its own, and removes them at once, so many times. Returns what is
 * in their files then.
 */
export async function connectAtOnce(clients: readonly ClientId[], rounds: number): Promise<string[]> {
  const sandbox = await createSandbox();
  const home = sandbox.env["HOME"] ?? "";
  const files = [".claude/settings.json", ".cursor/mcp.json"].map((name) => path.join(home, name));
  for (const file of files) {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, before);
  }
  for (let round = 0; round < rounds; round++) {
    const ended = await Promise.all(
      clients.map((client) => sandbox.runHere(["connect", client, "--json"], { apart: true })),
    );
    for (const { exitCode, stdout, stderr } of ended) {
      const said = JSON.parse(stdout) as { ok: boolean; error?: { code: string; message: string } };
      if (said.ok) continue;
      expect(said.error, stderr).toMatchObject({
        code: "BUSY",
        message: expect.stringMatching(/(?:run the command|try) again/u) as string,
      });
      expect(exitCode).not.toBe(0);
    }
    expect(ended.some(({ exitCode }) => exitCode === 0)).toBe(true);
    // Who was told to run it again does so.
    for (const client of clients) expect((await sandbox.runHere(["connect", client, "--json"])).exitCode).toBe(0);
    const records = (await readdir(path.join(sandbox.stateDir, "connections"))).filter((name) =>
      name.endsWith(".json"),
    );
    expect(records.toSorted()).toEqual([...new Set(clients)].toSorted().map((client) => `${client}-user.json`));
    const removed = await Promise.all(
      clients.map((client) => sandbox.runHere(["connect", client, "--remove", "--json"], { apart: true })),
    );
    expect(removed.some(({ exitCode }) => exitCode === 0)).toBe(true);
    for (const client of clients)
      expect((await sandbox.runHere(["connect", client, "--remove", "--json"])).exitCode).toBe(0);
    for (const file of files) expect(await readFile(file, "utf8")).toBe(before);
    expect(await readdir(path.join(sandbox.stateDir, "connections"))).toEqual([]);
  }
  return await Promise.all(files.map((file) => readFile(file, "utf8")));
}
