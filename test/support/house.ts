import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Reranker } from "@memslot/core";
import { type EmbeddingProvider, type Memory, openMemory, parseConfig } from "memslot";
import { onTestFinished } from "vitest";
import type { MemoryProcessOptions } from "./memory-orders.ts";
import { type RemoteMemory, startMemory } from "./start-memory.ts";

/** How often notes of any house were made old. */
let settled = 0;

/** Notes and a state folder, in a folder of their own. */
export interface House {
  readonly folder: string;
  readonly notes: string;
  readonly stateDir: string;
  /** Where the index lies. */
  readonly indexFolder: string;
  /** What the user was told by memories that were opened here. */
  readonly notices: string[];
  write(files: Record<string, string | Uint8Array>): void;
  /**
   * Makes every note that was saved just now one of an hour ago, and lets that be a moment ago: a note is read again at
   * the next look when it may have changed within the same tick of the clock.
   */
  letSettle(): void;
  remove(...names: string[]): void;
  rename(from: string, to: string): void;
  /** A memory in a process of its own, ended with the house. */
  start(
    options?: Omit<Partial<MemoryProcessOptions>, "workspaceDir">,
    process?: { env?: NodeJS.ProcessEnv; limits?: string },
  ): RemoteMemory;
  /** A memory in this process, closed with the house. Without `embeddings` it searches by words only. */
  open(options?: {
    memorySearch?: Record<string, unknown>;
    embeddings?: EmbeddingProvider | undefined;
    reranker?: Reranker | undefined;
    agentId?: string;
    stateDir?: string;
    lookOnly?: boolean;
    /** Another folder than that of the house. */
    workspace?: string;
    /** Keys beside `agents`. */
    settings?: Readonly<Record<string, unknown>>;
  }): Promise<Memory>;
  end(): Promise<void>;
}

export function createHouse(givenNotes?: string): House {
  const folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-house-")));
  const notes = givenNotes ?? path.join(folder, "notes");
  const stateDir = path.join(folder, "state");
  mkdirSync(path.join(notes, "memory"), { recursive: true });
  const notices: string[] = [];
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })];
  return {
    folder,
    notes,
    stateDir,
    indexFolder: path.join(stateDir, "memory"),
    notices,
    write(files) {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(notes, name)), { recursive: true });
        writeFileSync(path.join(notes, name), content);
      }
    },
    letSettle() {
      // Never the same time twice: a note of the same length and time would be taken for unchanged.
      const then = Math.floor(Date.now() / 1000) - 3600 + 2 * settled++;
      const now = Math.floor(Date.now() / 1000);
      const cell = new Int32Array(new SharedArrayBuffer(4));
      for (const entry of readdirSync(notes, { recursive: true, withFileTypes: true })) {
        const file = path.join(entry.parentPath, entry.name);
        if (entry.isFile() && statSync(file).mtimeMs > (now - 60) * 1000) utimesSync(file, then, then);
        while (Date.now() - statSync(file).ctimeMs <= 60) Atomics.wait(cell, 0, 0, 10);
      }
    },
    remove(...names) {
      for (const name of names) rmSync(path.join(notes, name), { recursive: true });
    },
    rename(from, to) {
      mkdirSync(path.dirname(path.join(notes, to)), { recursive: true });
      renameSync(path.join(notes, from), path.join(notes, to));
    },
    start(options = {}, given = {}) {
      const memory = startMemory({ stateDir, workspaceDir: notes, ...options }, given);
      ends.push(async () => {
        memory.kill();
        await memory.ended;
      });
      return memory;
    },
    async open({ memorySearch = {}, embeddings, reranker, ...more } = {}) {
      const { agentId = "main", lookOnly = false, settings = {}, workspace = notes } = more;
      const provider = embeddings === undefined ? { provider: "none" } : {};
      const agents = { defaults: { workspace, memorySearch: { ...provider, ...memorySearch } } };
      const config = parseConfig({ ...settings, agents }, { stateDir: more.stateDir ?? stateDir, env: {} });
      const notify = (line: string): void => void notices.push(line);
      const memory = await openMemory({ config, agentId, embeddings, reranker, notify, lookOnly });
      ends.push(() => memory.close());
      return memory;
    },
    async end() {
      for (const end of ends.splice(0).toReversed()) await end();
    },
  };
}

/** A house for the test that runs. */
export function useHouse(): House {
  const house = createHouse();
  onTestFinished(() => house.end());
  return house;
}

/**
 * A house with the same notes and, unless it is to be indexed afresh, with the same index. It has the very notes of the
 * other one where nobody writes to them (`sharesNotes`); copies are other files, which are read again.
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
