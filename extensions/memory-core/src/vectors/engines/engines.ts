import type { IndexHealth } from "@memslot/indexing";
import { reasonOf } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { type CodeScan, createCodeScan } from "../quantized/code-scan.ts";
import { type CompareInSqlite, loadSqliteVec, openCompareInSqlite } from "./sqlite-vec.ts";

type EngineName = "wasm" | "sqlite-vec" | "exact";

const usualMemoryMB = 1024;

export interface VectorSettings {
  enabled: boolean;
  engine?: EngineName | "auto" | undefined;
  /** Another build of sqlite-vec. */
  extensionPath?: string | undefined;
  /** Limit of cached code blocks in mebibytes, for each open index. */
  memoryMB?: number | undefined;
  leastForBits?: number | undefined;
}

type Engine = { name: "wasm"; scan: CodeScan } | { name: "sqlite-vec"; compare: CompareInSqlite } | { name: "exact" };

/** The active engine, loaded on first use. If it fails the next one takes over, with the same results. */
export interface Engines {
  engine(): Engine;
  giveUp(error: string): void;
  answered(name: EngineName): void;
  health(): IndexHealth["vector"];
}

const advice = {
  wasm: "set store.vector.engine to another engine, or update Node",
  "sqlite-vec": "reinstall sqlite-vec or correct store.vector.extensionPath",
} as const;

export function createEngines(input: {
  db: Database.Database;
  settings: VectorSettings;
  notice: (line: string) => void;
}): Engines {
  const { db, settings } = input;
  const { enabled, extensionPath } = settings;
  const left = enginesFor(settings);
  let health: IndexHealth["vector"] = { enabled, ...(extensionPath === undefined ? {} : { extensionPath }) };
  let current: Engine | undefined;

  function open(name: Exclude<EngineName, "exact">): Engine {
    if (name === "wasm") return { name, scan: createCodeScan(settings.memoryMB ?? usualMemoryMB) };
    const loaded = loadSqliteVec(db, extensionPath);
    if (loaded.path !== undefined) health = { ...health, extensionPath: loaded.path };
    if (!loaded.ok) throw new Error(loaded.error);
    return { name, compare: openCompareInSqlite(db) };
  }

  function giveUp(error: string): void {
    const failed = left[0];
    if (failed === undefined || failed === "exact") return;
    left.shift();
    current = undefined;
    health = { ...health, available: false, loadError: error };
    const next = left[0] === "exact" ? "all vectors are compared one by one instead" : `${left[0]} is used instead`;
    const what = failed === "wasm" ? "WebAssembly" : failed;
    input.notice(
      `${what} cannot be used to compare vectors (${error}): ${next}, with the same results but slower; ${advice[failed]}`,
    );
  }

  function engine(): Engine {
    while (current === undefined) {
      const [name] = left as [EngineName];
      if (name === "exact") current = { name };
      else {
        try {
          current = open(name);
          health = { ...health, available: true };
        } catch (error) {
          giveUp(reasonOf(error));
        }
      }
      if (current && health.engine === undefined) health = { ...health, engine: current.name };
    }
    return current;
  }

  return {
    engine,
    giveUp,
    answered(name) {
      if (health.engine !== name) health = { ...health, engine: name };
    },
    health: () => health,
  };
}

function enginesFor({ enabled, engine = "auto" }: VectorSettings): EngineName[] {
  if (!enabled || engine === "exact") return ["exact"];
  return engine === "sqlite-vec" ? ["sqlite-vec", "exact"] : ["wasm", "sqlite-vec", "exact"];
}
