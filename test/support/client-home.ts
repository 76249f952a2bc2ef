import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Memory, SearchReport } from "memslot";
import { afterEach, beforeEach } from "vitest";
import { claudeSession, type Said } from "@memslot/fakes/clients";
import { ask, createHouse, type House } from "./temp-workspace.ts";

interface Found {
  path: string;
  startLine: number;
  endLine: number;
  snippet: string;
  source: string;
}

interface OpenFrom {
  sources: readonly string[];
  /** The project that the memory is asked from. */
  from: string;
  scope?: "project" | "all";
  keep?: boolean;
}

/** A home with programs that remember, and a memory that is asked from one of its projects. */
export interface Lab {
  readonly home: string;
  readonly stateDir: string;
  /** A database that stays open until the end of the test, as that of a running program. */
  running(db: DatabaseSync): DatabaseSync;
  /** A folder below the home, with a Git repository in it. */
  project(name: string): string;
  open(how: OpenFrom): Promise<Memory>;
  /** A session of Claude Code in the project `app`, and a memory that is asked from there. */
  claude(said: readonly Said[], keep?: boolean): Promise<{ cwd: string; file: string; memory: Memory }>;
  ask(memory: Memory, query: string, sessionKey?: string): Promise<{ found: Found[]; report: SearchReport }>;
}

/** A fresh home for each test of the file. */
export function useLab(): Lab {
  let house: House;
  const databases: DatabaseSync[] = [];
  beforeEach(() => {
    house = createHouse();
    house.write({ "MEMORY.md": "- The zebra of the notes is striped.\n" });
  });
  afterEach(async () => {
    for (const db of databases.splice(0)) if (db.isOpen) db.close();
    await house.end();
  });
  return {
    get home() {
      return house.folder;
    },
    get stateDir() {
      return house.stateDir;
    },
    running(db) {
      databases.push(db);
      return db;
    },
    project(name) {
      const place = path.join(house.folder, "work", name);
      mkdirSync(path.join(place, ".git"), { recursive: true });
      return place;
    },
    open({ sources, from, ...clients }) {
      const memorySearch = { provider: "none", sources: ["memory", ...sources], clients };
      return house.open({ memorySearch, projectDir: from });
    },
    async claude(said, keep) {
      const cwd = this.project("app");
      const file = claudeSession(house.folder, cwd, "s", said);
      return { cwd, file, memory: await this.open({ sources: ["claude-code"], from: cwd, ...(keep && { keep }) }) };
    },
    async ask(memory, query, sessionKey) {
      const { results, report } = await ask(memory, query, { sessionKey, maxResults: 20 });
      const found = results.map(({ path: place, startLine, endLine, snippet, source }) => {
        return { path: place, startLine, endLine, snippet, source };
      });
      return { found, report };
    },
  };
}

/** All files below a folder with what they hold and when they were written, but for the memory that SQLite shares in a file. */
export function stateOf(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    if (entry.name.endsWith("-shm")) {
      files[path.relative(folder, file)] = "there";
      continue;
    }
    files[path.relative(folder, file)] =
      `${statSync(file).mtimeMs} ${createHash("sha256").update(readFileSync(file)).digest("hex")}`;
  }
  return files;
}
