import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Memory, openMemory, parseConfig } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { afterAll, beforeAll, expect, test } from "vitest";

const notes = path.join(import.meta.dirname, "../bench/vault/notes");
let folder = "";
let memory: Memory;

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-explain-"));
  const config = parseConfig(
    { agents: { defaults: { workspace: notes, memorySearch: { provider: "none", sync: { watch: false } } } } },
    { stateDir: folder, env: { HOME: folder } },
  );
  memory = await openMemory({ config, agentId: "main", plugins: [memoryCore], notify: () => undefined });
  await memory.sync({ reason: "test" });
});

afterAll(async () => {
  await memory.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  "heat pump",
  "who is Petra",
  "what did we do on 12 March 2025",
  "yesterday",
  "backup of postgres",
  "豆瓣酱",
])("the parts of each score are the score, and asking for them changes nothing: %s", async (query) => {
  const plain = await memory.search(query, { maxResults: 12 });
  const explained = await memory.search(query, { maxResults: 12, explain: true });
  const withoutParts = explained.map((result) => ({ ...result, parts: undefined }));
  expect(withoutParts).toEqual(plain.map((result) => ({ ...result, parts: undefined })));
  expect(plain.every(({ parts }) => parts === undefined)).toBe(true);
  for (const { score, parts } of explained) {
    const all = Object.values(parts ?? {});
    expect(all.length).toBe(4);
    expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
    expect(all.reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 9);
  }
});

test("a note that is named like the question has its score from its name, one of a day from the day", async () => {
  const [named] = await memory.search("heat pump", { explain: true });
  expect(named?.path).toBe("Projects/Heat pump.md");
  expect(named?.parts?.names).toBeGreaterThan(0.2);
  const [dated] = await memory.search("what did we do on 12 March 2025", { explain: true });
  expect(dated?.parts?.dates).toBeGreaterThan(0.4);
});

test("others who read along are told no parts", async () => {
  const session = "agent:main:telegram:group:1";
  const results = await memory.search("heat pump", { explain: true, sessionKey: session });
  expect(results.filter(({ parts }) => parts !== undefined)).toEqual([]);
});
