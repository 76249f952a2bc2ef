import { realpathSync } from "node:fs";
import { writeFiles } from "@memslot/test-tools/files";

export interface WrittenPlugin {
  id: string;
  /** Of the package; the id by default. */
  name?: string;
  /** Laid over the manifest; undefined takes a field away. */
  manifest?: Record<string, unknown>;
  /** In place of an entry that works. */
  code?: string;
  /** Members of the manager, in place of those that work. */
  members?: string;
  /** A member of the entry, in place of the one that opens. */
  open?: string;
  packageJson?: Record<string, unknown>;
}

/** The source of a report that is all right, as a manager calls `onDebug` with. */
export const report = (id: string): string =>
  `{ backend: "${id}", mode: "keyword", state: "ok", legs: {}, dropped: { minScore: 0, source: 0, limit: 0 } }`;

/** Writes a memory plugin that always answers with one line. Returns the canonical path of its folder. */
export function writePlugin(folder: string, plugin: WrittenPlugin): string {
  const { id, name = id, manifest = {}, packageJson = {} } = plugin;
  writeFiles(folder, {
    "memslot.plugin.json": { id, kind: "memory", configSchema: { type: "object" }, ...manifest },
    "package.json": { name, version: "3.2.1", type: "module", exports: "./index.js", ...packageJson },
    "index.js": plugin.code ?? working(plugin),
  });
  return realpathSync.native(folder);
}

function working({ id, members = "", open }: WrittenPlugin): string {
  return `const report = ${report(id)};
const result = { path: "MEMORY.md", startLine: 1, endLine: 1, score: 0.9, snippet: "From ${id}.", source: "memory" };
export default {
  kind: "memory", contract: 1, id: "${id}",
  ${open ?? "async open() { return manager; }"},
};
const manager = {
  capabilities: { keyword: true, vector: false, ownsIndex: true },
  async search(query, options) { options.onDebug(report); return [result]; },
  async readFile({ relPath }) { return { status: "not_found", text: "", path: relPath }; },
  status: () => ({ backend: "${id}", provider: "none", files: 1 }),
  async probeEmbeddingAvailability() { return { ok: false, error: "none" }; },
  async probeVectorAvailability() { return false; },
  ${members}
};
`;
}
