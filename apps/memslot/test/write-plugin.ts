import { mkdir, realpath, writeFile } from "node:fs/promises";
import path from "node:path";

export interface WrittenPlugin {
  id: string;
  /** Of the package; the id where it is left out. */
  name?: string;
  /** Laid over the manifest; undefined takes a field away. */
  manifest?: Record<string, unknown>;
  /** In place of an entry that works. */
  code?: string;
  packageJson?: Record<string, unknown>;
}

/** Writes a memory plugin that always answers with one line. Gives the canonical path of its folder. */
export async function writePlugin(
  folder: string,
  { id, name = id, manifest = {}, code, packageJson = {} }: WrittenPlugin,
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const fields = { id, kind: "memory", configSchema: { type: "object" }, ...manifest };
  const json = { name, version: "3.2.1", type: "module", exports: "./index.js", ...packageJson };
  await writeFile(path.join(folder, "memslot.plugin.json"), JSON.stringify(fields));
  await writeFile(path.join(folder, "package.json"), JSON.stringify(json));
  await writeFile(path.join(folder, "index.js"), code ?? working(id));
  return await realpath(folder);
}

function working(id: string): string {
  return `const report = { backend: "${id}", mode: "keyword", state: "ok", legs: {}, dropped: { minScore: 0, source: 0, limit: 0 } };
const result = { path: "MEMORY.md", startLine: 1, endLine: 1, score: 0.9, snippet: "From ${id}.", source: "memory" };
export default {
  kind: "memory", contract: 1, id: "${id}",
  async open() {
    return {
      capabilities: { keyword: true, vector: false, ownsIndex: false },
      async search(query, options) { options.onDebug(report); return [result]; },
      async readFile({ relPath }) { return { status: "not_found", text: "", path: relPath }; },
      status: () => ({ backend: "${id}", provider: "none" }),
      async probeEmbeddingAvailability() { return { ok: false, error: "none" }; },
      async probeVectorAvailability() { return false; },
    };
  },
};
`;
}
