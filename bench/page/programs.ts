import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { openMemory } from "memslot";
import { measure } from "../support/measure.ts";
import { installPeer, openclawPeer, qmdPeer } from "../support/peers.ts";
import { plainFts } from "../retrieval/plain-fts.ts";

/** A program with its index open, asked by words. */
export interface OpenedProgram {
  name: string;
  /** The files of the results, relative to the workspace and with `/`, best first. */
  search(query: string, limit: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

type Open = (workspace: string, state: string) => Promise<OpenedProgram>;

const indexTimeoutMs = 30 * 60_000;

const programs: Readonly<Record<string, Open>> = {
  memslot: (workspace, state) => openMemslot("memslot", workspace, state, true),
  "memslot, no look at the files": (workspace, state) =>
    openMemslot("memslot, no look at the files", workspace, state, false),
  "plain FTS5": openPlain,
  openclaw: openOpenclaw,
  qmd: openQmd,
};

export const programNames: readonly string[] = Object.keys(programs);

/** Makes the index of a workspace with a program, and opens it. What it keeps goes into a folder beside the workspace. */
export async function openProgram(name: string, workspace: string): Promise<OpenedProgram> {
  const open = programs[name];
  if (open === undefined) throw new Error(`there is no program "${name}"`);
  const state = `${workspace}-${programNames.indexOf(name)}`;
  mkdirSync(state);
  return await open(workspace, state);
}

async function openMemslot(name: string, workspace: string, state: string, looks: boolean): Promise<OpenedProgram> {
  const memorySearch = {
    provider: "none",
    extraPaths: [workspace],
    store: { path: path.join(state, "index.sqlite") },
    sync: { onSearch: looks },
  };
  const config = { agents: { defaults: { memorySearch } } };
  const memory = await openMemory({ agentId: "bench", workspaceDir: workspace, config, notify: () => {} });
  await memory.sync();
  return {
    name,
    search: async (query, maxResults) => files(await memory.search(query, { maxResults })),
    close: () => memory.close(),
  };
}

async function openPlain(workspace: string): Promise<OpenedProgram> {
  const index = plainFts({ files: notesOf(workspace) });
  return {
    name: "plain FTS5",
    search: async (query, limit) => files(index.search(query, limit)),
    close: async () => index.close(),
  };
}

/** The index is made by the command: what the library needs to make one is not for others. */
async function openOpenclaw(workspace: string, state: string): Promise<OpenedProgram> {
  const folder = installPeer(openclawPeer);
  const config = {
    agents: { defaults: { workspace } },
    memory: { search: { provider: "none", extraPaths: [workspace] } },
  };
  writeFileSync(path.join(state, "openclaw.json"), JSON.stringify(config));
  const environment = { PATH: process.env["PATH"], HOME: state, OPENCLAW_STATE_DIR: state };
  measure([path.join(folder, "openclaw.mjs"), "memory", "index"], environment, indexTimeoutMs);
  Object.assign(process.env, environment);
  const module = path.join(folder, "dist/extensions/memory-core/runtime-api.js");
  const { getMemorySearchManager } = (await import(pathToFileURL(module).href)) as {
    getMemorySearchManager: (input: { cfg: unknown; agentId: string }) => Promise<{
      manager: null | {
        search(query: string, options: { maxResults: number }): Promise<{ path: string }[]>;
        close(): Promise<void>;
      };
      error?: string;
    }>;
  };
  const { manager, error } = await getMemorySearchManager({ cfg: config, agentId: "main" });
  if (manager === null) throw new Error(`OpenClaw did not open its memory: ${error}`);
  return {
    name: `OpenClaw ${openclawPeer.version}`,
    search: async (query, maxResults) => files(await manager.search(query, { maxResults })),
    close: () => manager.close(),
  };
}

/**
 * Without models: first all words at once, and where nothing holds them all, as with most sentences, each word as a list
 * of its own, so that its best is measured.
 */
async function openQmd(workspace: string, state: string): Promise<OpenedProgram> {
  // Else it begins to download models.
  process.env["CI"] = "1";
  process.env["HOME"] = state;
  const { createStore } = (await import(pathToFileURL(path.join(installPeer(qmdPeer), "dist/index.js")).href)) as {
    createStore: (input: { dbPath: string; config: unknown }) => Promise<{
      update(): Promise<unknown>;
      search(input: unknown): Promise<{ docid: string }[]>;
      close(): Promise<void>;
    }>;
  };
  const config = { collections: { notes: { path: workspace, pattern: "**/*.md" } } };
  const store = await createStore({ dbPath: path.join(state, "index.sqlite"), config });
  await store.update();
  // It has its own spelling of paths, and names a document by the start of its hash.
  const byHash = new Map(
    [...notesOf(workspace)].map(([file, text]) => [createHash("sha256").update(text).digest("hex").slice(0, 6), file]),
  );
  return {
    name: `qmd ${qmdPeer.version}`,
    async search(query, limit) {
      const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, mostQmdQueries);
      if (words.length === 0) return [];
      const ask = (lists: readonly string[]): Promise<{ docid: string }[]> =>
        store.search({ queries: lists.map((list) => ({ type: "lex", query: list })), rerank: false, limit });
      const all = await ask([words.join(" ")]);
      const found = all.length > 0 ? all : await ask(words);
      return found.flatMap(({ docid }) => byHash.get(docid.replace("#", "")) ?? []);
    },
    close: () => store.close(),
  };
}

/** What its own server takes at most. */
const mostQmdQueries = 10;

function files(results: readonly { path: string }[]): string[] {
  return results.map((result) => result.path);
}

function notesOf(workspace: string): Map<string, string> {
  const names = readdirSync(workspace, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => path.relative(workspace, path.join(entry.parentPath, entry.name)));
  return new Map(
    names.map((name) => [name.split(path.sep).join("/"), readFileSync(path.join(workspace, name), "utf8")]),
  );
}
