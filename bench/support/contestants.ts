import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { writeCorpus } from "./corpus.ts";
import { installPeer, openclawPeer, qmdPeer } from "./peers.ts";

/** As many as the command of this project gives. */
const results = 6;
const root = path.resolve(import.meta.dirname, "../..");

/** A program under test: how its commands are called, and where its index stands. */
export interface Contestant {
  name: string;
  environment: NodeJS.ProcessEnv;
  /** Where it differs from `index`. */
  firstIndex?: string[];
  index: string[];
  search: (query: string) => string[];
  indexFolder: string;
}

/** Makes a temporary folder with a workspace of that many generated notes, and deletes it after the work. */
export async function withNotes(
  files: number,
  work: (place: { folder: string; workspace: string }) => void | Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-"));
  try {
    const workspace = path.join(folder, "workspace");
    writeCorpus(path.join(workspace, "memory"), files);
    writeFileSync(path.join(workspace, "MEMORY.md"), "# Memory\n\nGenerated notes for measuring.\n");
    await work({ folder, workspace });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The built command of this project, with these settings for `agents.defaults.memorySearch`. */
export function memslot(folder: string, workspace: string, memorySearch: Record<string, unknown>): Contestant {
  if (!existsSync(path.join(root, "apps/memslot/dist/cli.js")))
    throw new Error("run `pnpm build` first: the built command is measured");
  const home = path.join(folder, "memslot-home");
  mkdirSync(home);
  const config = path.join(home, "memslot.json5");
  writeFileSync(config, JSON.stringify({ agents: { defaults: { memorySearch } } }));
  const command = [path.join(root, "apps/memslot/bin/memslot.js"), "memory"];
  return {
    name: "memslot",
    environment: {
      PATH: process.env.PATH,
      HOME: home,
      MEMSLOT_HOME: path.join(home, ".memslot"),
      MEMSLOT_CONFIG: config,
    },
    index: [...command, "index", "--workspace", workspace],
    search: (query) => [...command, "search", query, "--workspace", workspace],
    indexFolder: path.join(home, ".memslot"),
  };
}

/** OpenClaw from npm, with these settings for `memory.search`. */
export function openclaw(folder: string, workspace: string, search: Record<string, unknown>): Contestant {
  const install = installPeer(openclawPeer);
  const state = path.join(folder, "openclaw-state");
  mkdirSync(state);
  const settings = { agents: { defaults: { workspace } }, memory: { search } };
  writeFileSync(path.join(state, "openclaw.json"), JSON.stringify(settings));
  const command = [path.join(install, "openclaw.mjs"), "memory"];
  return {
    name: `openclaw ${openclawPeer.version}`,
    environment: { PATH: process.env.PATH, HOME: state, OPENCLAW_STATE_DIR: state },
    index: [...command, "index"],
    search: (query) => [...command, "search", query, "--max-results", String(results)],
    indexFolder: path.join(state, "agents"),
  };
}

/** qmd from npm, without models: all words of a question have to be there. */
export function qmd(folder: string, workspace: string): Contestant {
  const install = installPeer(qmdPeer);
  const home = path.join(folder, "qmd-home");
  mkdirSync(home);
  const command = path.join(install, "dist/cli/qmd.js");
  return {
    name: `qmd ${qmdPeer.version}`,
    // With `CI` it does not begin to download models.
    environment: {
      PATH: process.env.PATH,
      HOME: home,
      CI: "1",
      INDEX_PATH: path.join(home, "index.sqlite"),
      QMD_CONFIG_DIR: home,
    },
    firstIndex: [command, "collection", "add", workspace, "--name", "notes"],
    index: [command, "update"],
    search: (query) => [command, "search", query, "-n", String(results), "--full"],
    indexFolder: home,
  };
}

/** All files below a folder, in MB. */
export function megabytesOf(folder: string): number {
  const bytes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
  return bytes / 1e6;
}
