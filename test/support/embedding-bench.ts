import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  type ApiRequest,
  type EmbeddingApi,
  type EmbeddingApiOptions,
  startEmbeddingApi,
} from "@memslot/fakes/embedding-api";
import {
  type Memory,
  type MemorySearchOptions,
  type MemorySearchResult,
  openMemory,
  parseConfig,
  type SearchReport,
} from "memslot";
import { afterEach } from "vitest";

/** Notes, a state folder and a server that plays the far end of every provider. */
export interface EmbeddingBench {
  api: EmbeddingApi;
  notes: string;
  stateDir: string;
  /** What the user was told. */
  lines: string[];
  /** Opens the memory with these keys under `memorySearch`; OpenAI and Google are both at the server. */
  open(memorySearch?: Record<string, unknown>, more?: { env?: Record<string, string> }): Promise<Memory>;
  write(files: Record<string, string>): void;
  /** Another server, closed with the first. */
  startApi(options?: EmbeddingApiOptions): Promise<EmbeddingApi>;
}

export function useEmbeddingBench(): (options?: EmbeddingApiOptions) => Promise<EmbeddingBench> {
  const ends: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  const startApi = async (options: EmbeddingApiOptions = {}): Promise<EmbeddingApi> => {
    const api = await startEmbeddingApi({ dimensions: 64, ...options });
    ends.push(() => api.close());
    return api;
  };
  return async (options) => {
    const api = await startApi(options);
    const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-embeddings-"));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const [notes, stateDir] = [path.join(folder, "notes"), path.join(folder, "state")];
    mkdirSync(path.join(notes, "memory"), { recursive: true });
    const lines: string[] = [];
    return {
      api,
      notes,
      stateDir,
      lines,
      startApi,
      write(files) {
        for (const [name, text] of Object.entries(files)) writeFileSync(path.join(notes, name), text);
      },
      async open(memorySearch = {}, { env = {} } = {}) {
        const config = parseConfig(
          {
            agents: { defaults: { memorySearch: { provider: "openai", model: "model-a", ...memorySearch } } },
            models: {
              providers: {
                openai: { apiKey: "sk-of-the-test", baseUrl: `${api.url}/v1` },
                google: { apiKey: "key-of-google", baseUrl: api.url },
              },
            },
          },
          { stateDir, env },
        );
        const notify = (line: string): void => void lines.push(line);
        const memory = await openMemory({ config, agentId: "main", workspaceDir: notes, notify });
        ends.push(() => memory.close());
        return memory;
      },
    };
  };
}

/** A search with its report. */
export async function ask(
  memory: Memory,
  query: string,
  options: Omit<MemorySearchOptions, "onDebug"> = {},
): Promise<{ results: MemorySearchResult[]; report: SearchReport }> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { ...options, onDebug: (given) => (report = given) });
  if (report === undefined) throw new Error("the search gave no report");
  return { results, report };
}

/** The texts that were sent to be embedded, over all requests that match. */
export function textsSent(log: readonly ApiRequest[], match = ""): string[] {
  return log.filter(({ path: url }) => url.includes(match)).flatMap(({ body }) => textsOf(body));
}

/** The same without the word that a provider is asked with for the length of its vectors. */
export function notesSent(log: readonly ApiRequest[]): string[] {
  return textsSent(log).filter((text) => text !== "memory");
}

function textsOf(body: string): string[] {
  if (!body.startsWith("{")) return [];
  const { input, requests } = JSON.parse(body) as {
    input?: string | string[];
    requests?: { content: { parts: { text: string }[] } }[];
  };
  if (requests) return requests.map(({ content }) => content.parts.map(({ text }) => text).join(""));
  return input === undefined ? [] : [input].flat();
}

/** Notes on one subject each, a file each. */
export function manyNotes(count: number): Record<string, string> {
  const subjects = ["budget", "server", "kitten", "journey", "garden", "piano", "harvest", "bridge"];
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const subject = subjects[index % subjects.length] ?? "";
      return [`memory/note-${index}.md`, `# Note ${index}\n\n- The ${subject} of number ${index} is on my mind.\n`];
    }),
  );
}

/** The one index that is there. */
export function indexOf({ stateDir }: Pick<EmbeddingBench, "stateDir">): string {
  const folder = path.join(stateDir, "memory");
  const [name, ...others] = readdirSync(folder).filter((file) => file.endsWith(".sqlite"));
  if (name === undefined || others.length > 0) throw new Error(`${folder} does not hold one index`);
  return path.join(folder, name);
}

/** Waits until something holds; the condition may itself do work. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, limitMs = 10_000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
