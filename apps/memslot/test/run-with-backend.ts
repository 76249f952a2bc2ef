import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Finished, createSandbox } from "./run-memslot.ts";

export const result = {
  path: "MEMORY.md",
  startLine: 1,
  endLine: 1,
  score: 0.9,
  snippet: "From before.",
  source: "memory",
};
export const report =
  '{ backend: "stub", mode: "keyword", state: "ok", legs: {}, dropped: { minScore: 0, source: 0, limit: 0 } }';

/** Runs a command with a memory plugin from outside in the slot, whose manager is made of `members`. */
export async function runWithBackend(members: string, ...commands: string[][]): Promise<Finished[]> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const folder = path.join(sandbox.cwd, "stub");
  await mkdir(folder);
  await writeFile(
    path.join(folder, "memslot.plugin.json"),
    '{ "id": "stub", "kind": "memory", "configSchema": { "type": "object" } }',
  );
  await writeFile(
    path.join(folder, "package.json"),
    '{ "name": "stub", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
  );
  const manager = `{
    capabilities: { keyword: true, vector: false, ownsIndex: true },
    async search(query, options) { options.onDebug(${report}); return [${JSON.stringify(result)}]; },
    async readFile() { return { status: "not_found", text: "", path: "x.md" }; },
    status() { return { backend: "stub", provider: "none", files: 1 }; },
    async probeEmbeddingAvailability() { return { ok: false, error: "none" }; },
    async probeVectorAvailability() { return false; },
    ${members}
  }`;
  await writeFile(
    path.join(folder, "index.js"),
    `export default { kind: "memory", contract: 1, id: "stub", async open() { return ${manager}; } };`,
  );
  const config = await sandbox.writeConfig(
    JSON.stringify({ plugins: { slots: { memory: "stub" }, load: { paths: [folder] } } }),
  );
  const finished: Finished[] = [];
  for (const command of commands)
    finished.push(await sandbox.runHere([...command, "--config", config], { apart: true }));
  return finished;
}
