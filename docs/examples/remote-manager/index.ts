// A memory plugin for a server that has the notes already: `docs/writing-a-memory-plugin.md` explains it.
import { MemoryError, type MemoryPlugin, type MemorySearchManager, defineMemoryPlugin, messageOf } from "@memslot/core";
import { readMemoryFile } from "@memslot/indexing";

/** What the server answers with. */
interface Found {
  path: string;
  startLine: number;
  endLine: number;
  text: string;
  score: number;
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-remote",
  async open(context): Promise<MemorySearchManager> {
    const { options, workspaceDir } = context;
    const url = String(options["url"]);
    let lastError: { message: string; at: string } | undefined;

    /** A server that does not answer activates the fallback. An abort is passed on unchanged. */
    async function ask(body: object, signal: AbortSignal): Promise<Found[]> {
      try {
        const response = await fetch(url, { method: "POST", body: JSON.stringify(body), signal, redirect: "error" });
        if (!response.ok) throw new Error(`it answered ${response.status}`);
        const found = (await response.json()) as Found[];
        lastError = undefined;
        return found;
      } catch (error) {
        if (signal.aborted) throw error;
        const message = `${url} cannot be asked: ${messageOf(error)}; start the server, or correct "url"`;
        lastError = { message, at: new Date().toISOString() };
        throw new MemoryError("UNAVAILABLE", message, { cause: error });
      }
    }

    return {
      capabilities: { keyword: true, vector: false, ownsIndex: false },

      async search(query, { maxResults, sources, audience, signal, onDebug }) {
        // The server leaves private notes out by itself: afterwards they would have taken the place of others.
        const wanted = sources.includes("memory");
        const found = wanted ? await ask({ query, limit: maxResults, audience }, signal) : [];
        onDebug({
          backend: "memory-remote",
          mode: "keyword",
          state: "ok",
          ...(found.length > 0
            ? {}
            : { reason: wanted ? "the server knows nothing of it" : "only notes are searched" }),
          legs: { keyword: { candidates: found.length, kept: found.length } },
          dropped: { minScore: 0, source: 0, limit: 0 },
        });
        return found.map(({ text, ...place }) => ({
          ...place,
          textScore: place.score,
          snippet: text.slice(0, 700).toWellFormed(),
          source: "memory",
        }));
      },

      readFile: (params) => readMemoryFile(params, context),
      status: () => ({ backend: "memory-remote", provider: "none", workspaceDir, lastError }),
      probeEmbeddingAvailability: async () => ({ ok: false, error: "the server finds by words" }),
      probeVectorAvailability: async () => false,
    };
  },
});

export default plugin;
