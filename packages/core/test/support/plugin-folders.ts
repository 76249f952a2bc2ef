import type { Files } from "@memslot/test-tools/files";

export interface PluginFiles {
  manifest?: unknown;
  packageJson?: unknown;
  /** The text of index.js. */
  entry?: string;
}

/** The files of a plugin folder. What is given as `null` is left out. */
export function pluginFiles(id: string, own: PluginFiles = {}, under = ""): Files {
  const {
    manifest = { id, kind: "memory", configSchema: { type: "object" } },
    packageJson = { name: `pkg-${id}`, type: "module", exports: "./index.js" },
    entry = memoryEntry(id),
  } = own;
  const files: Record<string, unknown> = {
    "memslot.plugin.json": manifest,
    "package.json": packageJson,
    "index.js": entry,
  };
  const prefix = under === "" ? "" : `${under}/`;
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, content]) => (content === null ? [] : [[prefix + name, content as object]])),
  );
}

/** The entry of a memory plugin that finds its own id and options. Written without imports, as a stranger could. */
export function memoryEntry(id: string, fields = ""): string {
  return `
export default {
  kind: "memory", contract: 1, id: ${JSON.stringify(id)},
  async open(context) {
    return {
      capabilities: { keyword: true, vector: false, ownsIndex: false },
      async search(query) {
        return [{ path: "MEMORY.md", startLine: 1, endLine: 1, score: 1, textScore: 1, source: "memory",
          snippet: ${JSON.stringify(id)} + " " + query + " " + JSON.stringify(context.options) }];
      },
      async readFile({ relPath }) { return { status: "not_found", text: "", path: relPath }; },
      status() { return { backend: ${JSON.stringify(id)}, provider: context.embeddings.provider?.id ?? "none" }; },
      async probeEmbeddingAvailability() { return { ok: context.embeddings.provider !== undefined }; },
      async probeVectorAvailability() { return false; },
    };
  },
  ${fields}
};`;
}

function embeddingEntry(
  id: string,
  open = `return { id: ${JSON.stringify(id)}, model: "m", async embedQuery() { return [1]; }, async embedBatch(texts) { return texts.map(() => [1]); } };`,
): string {
  return `export default { kind: "embedding", contract: 1, id: ${JSON.stringify(id)}, async open(context) { ${open} } };`;
}

export function embeddingFiles(id: string, open?: string, under = ""): Files {
  const manifest = { id, kind: "embedding", configSchema: { type: "object" } };
  return pluginFiles(id, { manifest, entry: embeddingEntry(id, open) }, under);
}
