/** What compares vectors: codes in WebAssembly, sqlite-vec, or every vector exactly in JavaScript. */
export type EngineName = "wasm" | "sqlite-vec" | "exact";

/** Where nothing else is said. */
export const usualMemoryMB = 1024;

/** How vectors are compared. */
export interface VectorSettings {
  /** False: every vector is compared exactly. */
  enabled: boolean;
  /** The first one to be tried; `auto`: the first of all. */
  engine?: EngineName | "auto" | undefined;
  /** Another build of sqlite-vec. */
  extensionPath?: string | undefined;
  /** Mebibytes of blocks of codes kept in memory at most, over all connections of a process. */
  memoryMB?: number | undefined;
  /** From so many vectors on their bits are compared first. */
  leastForBits?: number | undefined;
}
