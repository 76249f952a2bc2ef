import { createHash } from "node:crypto";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { IndexedFile } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { openDatabaseStore, type OpenedStore } from "../database/database-store.ts";
import { forgetSum } from "../file/file-sum.ts";
import { openThread, type ThreadOptions } from "../thread/open-thread.ts";
import { keptCalls, type KeptCalls } from "../thread/thread-calls.ts";
import type { OpenOptions } from "../thread/protocol.ts";

/** A folder that is deleted when the test has ended. */
export async function tempFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "memslot-ledger-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function tempPath(): Promise<string> {
  return join(await tempFolder(), "state", "main.sqlite");
}

/** Opens a ledger that is closed when the test has ended. */
export async function open(path: string, given: Partial<ThreadOptions> = {}): Promise<KeptCalls> {
  const ledger = keptCalls(await openThread({ path, store: "one", cacheMaxEntries: 50_000, ...given }), false);
  onTestFinished(() => ledger.close());
  return ledger;
}

/** The ledger on this thread, so that nothing happens between two calls. */
export function openHere(path: string, given: Partial<OpenOptions> = {}): OpenedStore {
  return openDatabaseStore({ path, store: "one", cacheMaxEntries: 50_000, busyTimeoutMs: 1000, ...given });
}

/** Runs SQL on a database file from outside, as a release of memslot would: it says that it writes to it. */
export function edit<Result>(path: string, work: (db: Database.Database) => Result): Result {
  const db = new Database(path);
  forgetSum(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A file with one chunk for each text. */
export function fileOf(path: string, texts: readonly string[], source = "memory"): IndexedFile {
  const chunks = texts.map((text, index) => ({
    startLine: index + 1,
    endLine: index + 1,
    text,
    context: "",
    terms: text,
    hash: sha256(text),
  }));
  return { path, source, hash: sha256(texts.join("\n")), mtimeMs: 1.5, size: 10, recipe: "1", chunks };
}

export function spaceOf(model: string, dimensions = 8): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** The same unit vector for the same text. */
export function vectorOf(text: string, dimensions = 8): Float32Array {
  const raw = Float32Array.from({ length: dimensions }, (_, index) => {
    return createHash("sha256").update(`${text}:${index}`).digest().readInt32BE() / 2 ** 31;
  });
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}
