import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import { afterwards, type Files, makeFolder, writeFiles } from "@memslot/test-tools/files";
import {
  type Memory,
  type MemorySearchOptions,
  type MemorySearchResult,
  openMemory,
  parseConfig,
  type SearchReport,
} from "memslot";
import { type MemoryProcessOptions, type RemoteMemory, startMemory } from "./start-memory.ts";

/** How often notes of any house were made old. */
let settled = 0;

type OpenMemory = Parameters<typeof openMemory>[0];

interface OpenOptions extends Partial<
  Pick<OpenMemory, "agentId" | "embeddings" | "reranker" | "plugins" | "projectDir" | "readOnly" | "rebuild">
> {
  /** Without `embeddings` its provider is `none`, unless these keys name one. */
  memorySearch?: Readonly<Record<string, unknown>> | undefined;
  /** Keys beside `agents.defaults`. */
  settings?: Readonly<Record<string, unknown>> | undefined;
  stateDir?: string;
  /** Another folder than that of the house. */
  workspace?: string;
}

/** The one builder of workspaces: notes and a state folder, in a folder of their own that is also the user's home. */
export interface House {
  readonly folder: string;
  readonly notes: string;
  readonly stateDir: string;
  /** Where the index is stored. */
  readonly indexFolder: string;
  /** What the user was told by memories that were opened here. */
  readonly notices: string[];
  write(files: Files): void;
  /** Path of a note on the disk. */
  at(name: string): string;
  /**
   * Sets the time of every note that was saved just now to an hour ago, and waits until the clock has moved on: a note is
   * read again by the next scan if it may have changed within the same tick of the clock.
   */
  letSettle(): void;
  remove(...names: string[]): void;
  rename(from: string, to: string): void;
  /** A memory in a process of its own, ended with the house. */
  start(
    options?: Omit<Partial<MemoryProcessOptions>, "workspaceDir">,
    process?: { env?: NodeJS.ProcessEnv; limits?: string },
  ): RemoteMemory;
  /** A memory in this process, closed with the house. */
  open(options?: OpenOptions): Promise<Memory>;
  end(): Promise<void>;
}

export function createHouse(givenNotes?: string): House {
  const folder = makeFolder();
  const notes = givenNotes ?? path.join(folder, "notes");
  const stateDir = path.join(folder, "state");
  mkdirSync(path.join(notes, "memory"), { recursive: true });
  const notices: string[] = [];
  const at = (name: string): string => path.join(notes, name);
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })];
  return {
    folder,
    notes,
    stateDir,
    indexFolder: path.join(stateDir, "memory"),
    notices,
    at,
    write: (files) => writeFiles(notes, files),
    letSettle() {
      // Never the same time twice: a note of the same length and time would be taken for unchanged.
      const then = Math.floor(Date.now() / 1000) - 3600 + 2 * settled++;
      const now = Math.floor(Date.now() / 1000);
      const files = readdirSync(notes, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name));
      for (const file of files) if (statSync(file).mtimeMs > (now - 60) * 1000) utimesSync(file, then, then);
      const last = Math.max(...files.map((file) => statSync(file).ctimeMs));
      const cell = new Int32Array(new SharedArrayBuffer(4));
      while (Date.now() - last <= 60) Atomics.wait(cell, 0, 0, 10);
    },
    remove(...names) {
      for (const name of names) rmSync(at(name), { recursive: true });
    },
    rename(from, to) {
      mkdirSync(path.dirname(at(to)), { recursive: true });
      renameSync(at(from), at(to));
    },
    start(options = {}, given = {}) {
      const memory = startMemory({ stateDir, workspaceDir: notes, ...options }, given);
      ends.push(async () => {
        memory.kill();
        await memory.ended;
      });
      return memory;
    },
    async open({ memorySearch, settings = {}, workspace = notes, agentId = "main", ...more } = {}) {
      const { stateDir: state = stateDir, ...rest } = more;
      const provider = rest.embeddings === undefined ? { provider: "none" } : {};
      const defaults = { workspace, memorySearch: { ...provider, ...memorySearch } };
      const agents = { ...(settings["agents"] as object | undefined), defaults };
      const config = parseConfig({ ...settings, agents }, { stateDir: state, env: { HOME: folder } });
      const notify = (line: string): void => void notices.push(line);
      const memory = await openMemory({ config, agentId, notify, ...rest });
      ends.push(() => memory.close());
      return memory;
    },
    async end() {
      for (const end of ends.splice(0).toReversed()) await end();
    },
  };
}

/** A house for the current test, or outside of a test for the file. */
export function useHouse(files: Files = {}): House {
  const house = createHouse();
  afterwards(() => house.end());
  house.write(files);
  return house;
}

/**
 * A house with the same notes and, unless it is to be indexed afresh, with the same index. It has the very notes of the
 * other one where nothing writes to them (`sharesNotes`); copies are other files, which are read again.
 */
export function copyHouse(
  house: House,
  { fresh = false, sharesNotes = false }: { fresh?: boolean; sharesNotes?: boolean } = {},
): House {
  const copy = createHouse(sharesNotes ? house.notes : undefined);
  if (!sharesNotes) cpSync(house.notes, copy.notes, { recursive: true, preserveTimestamps: true });
  if (!fresh) cpSync(house.stateDir, copy.stateDir, { recursive: true });
  return copy;
}

/** The one file of the index. */
export function indexFile({ indexFolder }: Pick<House, "indexFolder">): string {
  const names = readdirSync(indexFolder).filter((name) => name.endsWith(".sqlite"));
  const [only] = names;
  if (only === undefined || names.length > 1) throw new Error(`index files in ${indexFolder}: ${names.join(", ")}`);
  return path.join(indexFolder, only);
}

/** Settings that put this backend into the slot, without a fallback. */
export function inSlot(memory: string): Record<string, unknown> {
  return { plugins: { slots: { memory }, entries: {} } };
}

/** The same for qmd with this command. */
export function withQmd({ command }: { command: string }): Record<string, unknown> {
  return { memory: { backend: "qmd", qmd: { command, fallback: "none" } } };
}

/** A search with its report. */
export interface Asked {
  results: MemorySearchResult[];
  paths: string[];
  report: SearchReport;
}

/** Searches once. On a busy machine the answer may be `stale`: it does not wait long for what has just changed. */
export async function askOnce(
  memory: Memory,
  query: string,
  options: Omit<MemorySearchOptions, "onDebug"> = {},
): Promise<Asked> {
  const reports: SearchReport[] = [];
  const results = await memory.search(query, { ...options, onDebug: (report) => void reports.push(report) });
  const [report, ...others] = reports;
  if (report === undefined || others.length > 0) throw new Error(`the search gave ${reports.length} reports`);
  return { results, paths: results.map((result) => result.path), report };
}

/** Searches until the answer is not stale. */
export async function ask(...given: Parameters<typeof askOnce>): Promise<Asked> {
  const [memory] = given;
  let asked = await askOnce(...given);
  for (let left = 20; asked.report.state === "stale" && left > 0; left--) {
    await memory.sync({ reason: "search" });
    asked = await askOnce(...given);
  }
  return asked;
}
