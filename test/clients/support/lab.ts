import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Memory, openMemory, parseConfig, type SearchReport } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { afterEach, beforeEach } from "vitest";

interface Found {
  path: string;
  startLine: number;
  endLine: number;
  snippet: string;
  source: string;
}

/** A home with programs that remember, and a memory that is asked from one of its projects. */
export interface Lab {
  readonly home: string;
  readonly stateDir: string;
  readonly workspaceDir: string;
  /** A database that stays open until the end of the test, as that of a program that runs. */
  running(db: DatabaseSync): DatabaseSync;
  /** A folder below the home, made with a Git repository in it unless said otherwise. */
  project(name: string, isRepository?: boolean): string;
  open(how: {
    sources: readonly string[];
    from: string;
    scope?: "project" | "all";
    keep?: boolean;
    more?: object;
  }): Promise<Memory>;
  /** What is found now, in the order of the answer. */
  ask(
    memory: Memory,
    query: string,
    sessionKey?: string,
  ): Promise<{ found: Found[]; report: SearchReport | undefined }>;
}

export function useLab(): Lab {
  let folder = "";
  const opened: Memory[] = [];
  const databases: DatabaseSync[] = [];

  beforeEach(() => {
    folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-clients-")));
    mkdirSync(path.join(folder, "notes/memory"), { recursive: true });
    writeFileSync(path.join(folder, "notes/MEMORY.md"), "- The zebra of the notes is striped.\n");
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((memory) => memory.close()));
    for (const db of databases.splice(0)) db.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });

  return {
    get home() {
      return folder;
    },
    get stateDir() {
      return path.join(folder, "state");
    },
    get workspaceDir() {
      return path.join(folder, "notes");
    },
    running(db) {
      databases.push(db);
      return db;
    },
    project(name, isRepository = true) {
      const place = path.join(folder, "work", name);
      mkdirSync(path.join(place, ...(isRepository ? [".git"] : [])), { recursive: true });
      return place;
    },
    async open({ sources, from, scope, keep, more = {} }) {
      const clients = { ...(scope && { scope }), ...(keep !== undefined && { keep }) };
      const memorySearch = { provider: "none", sources: ["memory", ...sources], clients, ...more };
      const config = parseConfig(
        { agents: { defaults: { workspace: path.join(folder, "notes"), memorySearch } } },
        { stateDir: path.join(folder, "state"), env: { HOME: folder } },
      );
      const memory = await openMemory({
        config,
        agentId: "main",
        projectDir: from,
        plugins: [memoryCore],
        notify: () => undefined,
      });
      opened.push(memory);
      return memory;
    },
    async ask(memory, query, sessionKey) {
      let report: SearchReport | undefined;
      const found = await memory.search(query, { sessionKey, onDebug: (given) => (report = given) });
      return {
        found: found.map(({ path: place, startLine, endLine, snippet, source }) => ({
          path: place,
          startLine,
          endLine,
          snippet,
          source,
        })),
        report,
      };
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
