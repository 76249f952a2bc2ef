import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MemorySource } from "@memslot/core";
import { type ChunkingOptions, chunkerVersion, chunkMarkdown } from "./chunk-markdown.ts";
import type { Chunk, FileChunks, StoredFile } from "./chunk-store.ts";
import { decodeLines } from "./file-text.ts";
import { whyNotText } from "./not-text.ts";
import { dateOfPath, isoDate } from "./query-dates.ts";
import { readSettled } from "./read-settled.ts";
import { redactionVersion, redactLines } from "./redact-secrets.ts";
import type { ScannedFile } from "./scan.ts";
import { indexTerms, wordsVersion } from "./words.ts";

/** How files are redacted and cut, as a name: files that were done otherwise are done again. */
export function recipeOf(chunking: ChunkingOptions): string {
  return `chunks${chunkerVersion}:${chunking.tokens}/${chunking.overlap} words${wordsVersion} redaction${redactionVersion}`;
}

/** A file that was saved so recently could change again within the same time stamp; its content is compared next time. */
const settledMs = 2000;
/** Stands in the record of a file that nothing of is indexed. */
const skippedMark = "skipped: ";
/** Several files are cut at the same time, each a slice in every turn of the event loop. */
const sliceMs = 1;

/**
 * Reads a file and cuts it. Gives only the record where the content is what `stored` says, `undefined` where the file is
 * gone. A file that changes while it is read is read again, now or in the next sync. One that is no text has a record and
 * no chunks, see `skippedBecause`. Chunks are cut from a copy without secrets; the record and
 * the line numbers are those of the file.
 */
export async function readChunks(
  file: ScannedFile,
  source: MemorySource,
  stored: StoredFile | undefined,
  chunking: ChunkingOptions,
  signal: AbortSignal,
): Promise<{ record: StoredFile; changed: FileChunks | undefined } | undefined> {
  const read = await readSettled(file.absolutePath, stored?.size, signal);
  if (!read) return undefined;
  const recipe = recipeOf(chunking);
  const hash = createHash("sha256").update(read.bytes).digest("hex");
  const mtimeMs = read.settled && isPast(read.mtimeMs, stored?.hash === hash) ? read.mtimeMs : -1;
  const notText = whyNotText(read.bytes);
  const record: StoredFile = {
    path: file.path,
    source,
    hash,
    mtimeMs,
    size: read.bytes.length,
    recipe,
    ...(notText !== undefined && { cursor: skippedMark + notText }),
  };
  if (stored?.hash === hash && stored.recipe === recipe) return { record, changed: undefined };
  if (notText !== undefined) return { record, changed: { ...record, chunks: [] } };

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

/** Why nothing of a file is in the index, as its record says. */
export function skippedBecause({ cursor }: StoredFile): string | undefined {
  return cursor?.startsWith(skippedMark) === true ? cursor.slice(skippedMark.length) : undefined;
}

/**
 * Whether a file that is saved from now on will have another time stamp. One from the future, of a clock that was set
 * back or of another machine, is believed once the file has been found unchanged.
 */
function isPast(mtimeMs: number, isUnchanged: boolean): boolean {
  const age = Date.now() - mtimeMs;
  return age >= settledMs || (age <= -settledMs && isUnchanged);
}
