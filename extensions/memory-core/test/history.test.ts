import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Memory, openMemory, parseConfig } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { expect, onTestFinished, test } from "vitest";

test("the syncs of one run are known to the next, and to a look that keeps nothing itself", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const workspaceDir = path.join(folder, "notes");
  mkdirSync(workspaceDir);
  writeFileSync(path.join(workspaceDir, "MEMORY.md"), "The port is 5544.\n");
  const config = parseConfig(
    { agents: { defaults: { memorySearch: { provider: "none" } } } },
    { stateDir: path.join(folder, "state"), env: {} },
  );
  const open = async (lookOnly: boolean): Promise<Memory> => {
    const opening = { config, agentId: "main", workspaceDir, plugins: [memoryCore], notify: () => undefined, lookOnly };
    const memory = await openMemory(opening);
    onTestFinished(() => memory.close());
    return memory;
  };
  const reasons = async (memory: Memory): Promise<string[] | undefined> =>
    (await memory.details())?.syncs.map(({ reason }) => reason);

  const first = await open(false);
  await first.sync({ reason: "the first" });
  await first.close();
  const second = await open(false);
  await second.sync({ reason: "the second" });
  expect(await reasons(second)).toEqual(["the second", "the first"]);
  await second.close();
  const looking = await open(true);
  expect(await reasons(looking)).toEqual(["the second", "the first"]);
});
