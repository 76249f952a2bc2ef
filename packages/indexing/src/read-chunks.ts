import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MemorySource } from "@memslot/core";
import { type ChunkingOptions, chunkerVersion, chunkMarkdown } from "./chunk-markdown.ts";
import type { Chunk, FileChunks, StoredFile } from "./chunk-store.ts";
import { decodeLines } from "./file-text.ts";
import { dateOfPath, isoDate } from "./query-dates.ts";
import { redactionVersion, redactLines } from "./redact-secrets.ts";
import { openForReading, type ScannedFile } from "./scan.ts";
import { indexTerms, wordsVersion } from "./words.ts";

/** How files are redacted and cut, as a name: files that were done otherwise are done again. */
export function recipeOf(chunking: ChunkingOptions): string {
  return `chunks${chunkerVersion}:${chunking.tokens}/${chunking.overlap} words${wordsVersion} redaction${redactionVersion}`;
}

/** A file that was saved so recently could change again within the same time stamp; its content is compared next time. */
const settledMs = 2000;
const sliceMs = 8;
const readAttempts = 3;

/**
 * Reads a file and cuts it. Gives only the record where the content is what `stored` says, `undefined` where the file is
 * gone. A file that changes while it is read is read again. Chunks are cut from a copy without secrets; the record and
 * the line numbers are those of the file.
 */
export async function readChunks(
  file: ScannedFile,
  source: MemorySource,
  stored: StoredFile | undefined,
  chunking: ChunkingOptions,
  signal: AbortSignal,
): Promise<{ record: StoredFile; changed: FileChunks | undefined } | undefined> {
  const read = await readSettled(file.absolutePath, signal);
  if (!read) return undefined;
  const recipe = recipeOf(chunking);
  const hash = createHash("sha256").update(read.bytes).digest("hex");
  const mtimeMs = Date.now() - read.mtimeMs < settledMs ? -1 : read.mtimeMs;
  const record: StoredFile = {
    path: file.path,
    source,
    hash,
    mtimeMs,
    size: read.bytes.length,
    recipe,
  };
  if (stored?.hash === hash && stored.recipe === recipe) return { record, changed: undefined };

  const chunks: Chunk[] = [];
  let sliceStart = performance.now();
  const day = dateOfPath(file.path);
  const above = day === undefined ? "" : isoDate(day);
  for (const chunk of chunkMarkdown(redactLines(decodeLines(read.bytes)), chunking, above)) {
    chunks.push({ ...chunk, terms: indexTerms(`${chunk.text}\n${chunk.context}`) });
    if (performance.now() - sliceStart > sliceMs) {
      await nextTurn(undefined, { signal });
      sliceStart = performance.now();
    }
  }
  return { record, changed: { ...record, chunks } };
}

async function readSettled(
  absolutePath: string,
  signal: AbortSignal,
): Promise<{ bytes: Buffer; mtimeMs: number } | undefined> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    let handle;
    try {
      handle = await open(absolutePath, openForReading);
      const before = await handle.stat();
      if (!before.isFile()) throw new Error("is not a regular file");
      const bytes = await handle.readFile();
      const after = await handle.stat();
      if ((after.mtimeMs === before.mtimeMs && after.size === bytes.length) || attempt === readAttempts)
        return { bytes, mtimeMs: after.mtimeMs };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT") return undefined;
      // Cloud folders answer so while they fetch a file.
      if (attempt === readAttempts || (code !== "EAGAIN" && code !== "EDEADLK" && code !== "EBUSY")) throw error;
    } finally {
      await handle?.close();
    }
    await new Promise((resolve) => setTimeout(resolve, 25 * attempt));
  }
}
