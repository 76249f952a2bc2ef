import type { IndexCheck, IndexFinding } from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { FileRecord } from "../index-row-types.ts";
import { StoredListing } from "./stored-files.ts";
import { isAsStored, readFailure } from "./sync.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { areSame } from "../fusion/vector-weight.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { indexTerms } from "../text/index-terms.ts";

const sampled = 20;
const wordsAsked = 24;
/** Copies of one text push each other down. */
const wordsLimit = 200;
const neighboursLimit = 50;

interface CheckedIndex {
  store: NoteIndex;
  sources: readonly IndexedSource[];
  vectors: Embedder | undefined;
  fix: boolean;
  signal: AbortSignal;
}

type SampledChunk = Awaited<ReturnType<NoteIndex["sample"]>>[number];

/** Checks parts, sampled searches and files of an index. With `fix`, repairs first. */
export async function checkIndex(input: CheckedIndex): Promise<IndexCheck> {
  const { store, vectors, fix, signal } = input;
  const findings: IndexFinding[] = [...(await (fix ? store.repair() : store.check()))];
  signal.throwIfAborted();
  const chunks = await store.sample(sampled);
  if (store.health().fts.available) findings.push(await checkWords(store, chunks));
  signal.throwIfAborted();
  const byVector = vectors && (await checkVectors(store, vectors, chunks));
  if (byVector) findings.push(byVector);
  signal.throwIfAborted();
  const contents = await compareContents(input);
  if (contents) findings.push(contents);
  const tables = await store.tables();
  return { ok: findings.every(({ ok }) => ok), findings, tables };
}

async function checkWords(store: NoteIndex, chunks: readonly SampledChunk[]): Promise<IndexFinding> {
  const lost: SampledChunk[] = [];
  let asked = 0;
  for (const chunk of chunks) {
    const words = new Set(
      indexTerms(`${chunk.text}\n${chunk.context}`)
        .split(" ")
        .filter((word) => word !== ""),
    );
    // The longest are the rarest, mostly.
    const terms = [...words].toSorted((a, b) => b.length - a.length).slice(0, wordsAsked);
    if (terms.length === 0) continue;
    asked++;
    const { rows } = await store.searchKeyword({
      terms: terms.map((term) => ({ term, prefix: false })),
      sources: [chunk.source],
      limit: wordsLimit,
    });
    if (!rows.some((row) => isSameText(row, chunk))) lost.push(chunk);
  }
  return sampleFinding("sample by words", asked, lost);
}

async function checkVectors(
  store: NoteIndex,
  vectors: Embedder,
  chunks: readonly SampledChunk[],
): Promise<IndexFinding | undefined> {
  const space = await vectors.primary.knownSpace();
  if (!space) return undefined;
  const lost: SampledChunk[] = [];
  const asked = new Map<string, Float32Array>();
  for (const chunk of chunks) {
    const vector = await store.vectorOf(space, chunk.hash);
    if (!vector) continue;
    asked.set(chunk.hash, vector);
    const { rows } = await store.searchVector({ space, vector, sources: [chunk.source], limit: neighboursLimit });
    const nearest = rows[0]?.score ?? 0;
    if (!rows.some((row) => isSameText(row, chunk)) && nearest < 0.999) lost.push(chunk);
  }
  if (areSame([...asked.values()]))
    return { name: "sample by vectors", ok: false, message: "all chunks have the same vector: none can be told by it" };
  return sampleFinding("sample by vectors", asked.size, lost);
}

function isSameText(row: { text: string; context: string }, chunk: SampledChunk): boolean {
  return row.text === chunk.text && row.context === chunk.context;
}

function sampleFinding(name: string, asked: number, lost: readonly SampledChunk[]): IndexFinding {
  const places = lost.slice(0, 3).map(({ path, startLine, endLine }) => `${path}#L${startLine}-L${endLine}`);
  const ok = lost.length === 0;
  const found = `${asked - lost.length} of ${asked} chunks found by their own content`;
  return { name, ok, message: ok ? found : `${found}; not found: ${places.join(", ")}` };
}

const named = 5;

/** Compares files with their index entries; `fix` reindexes unexplained differences. */
async function compareContents(input: CheckedIndex): Promise<IndexFinding | undefined> {
  const { store, fix, signal } = input;
  const sources = input.sources.filter(({ holdsContent }) => holdsContent !== undefined);
  if (sources.length === 0) return undefined;
  const listing = new StoredListing(store);
  const stored = await listing.files();
  const [changed, unread]: [string[], string[]] = [[], []];
  const hidden: FileRecord[] = [];
  let same = 0;
  for (const source of sources) {
    for (const file of (await source.scan(signal, () => listing.files())).files) {
      signal.throwIfAborted();
      const before = stored.get(source.source)?.get(file.path);
      try {
        if (before === undefined) changed.push(file.path);
        else if ((await source.holdsContent?.(file, before, signal)) === true) same++;
        else if (file.stamp !== undefined && isAsStored(file, before, source)) hidden.push(before);
        else changed.push(file.path);
      } catch (error) {
        signal.throwIfAborted();
        unread.push(`${file.path} (${readFailure(error).reason})`);
      }
    }
  }
  if (fix && hidden.length > 0)
    await store.touchFiles(hidden.map((file) => ({ ...file, mtimeMs: -1, cursor: undefined })));
  const parts = [
    `${same} ${same === 1 ? "file matches" : "files match"} the index`,
    listed(
      "differ although their times and sizes are unchanged",
      hidden.map(({ path }) => path),
    ),
    listed("changed since the last sync", changed),
    listed("cannot be read", unread),
  ];
  const isFixed = fix && hidden.length > 0;
  return {
    name: "contents",
    ok: isFixed || hidden.length === 0,
    message: parts.filter((part) => part !== undefined).join("; "),
    ...(isFixed && { fixed: "they are read again by the next search or sync" }),
  };
}

function listed(what: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const rest = names.length - named;
  return `${names.length} ${what}: ${names.slice(0, named).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
