import path from "node:path";
import type { IndexCheck, IndexFinding } from "@memslot/core";
import { toMemoryError } from "./failures.ts";
import type { QmdContext } from "./open-memory-parts.ts";
import { askQmd } from "./search/ask-qmd.ts";
import { foundFiles } from "./search/search-qmd.ts";
import { hasIndex } from "./state-folder.ts";
import { collectionsWith } from "./update/collections.ts";
import { keyOf, type QmdFile } from "./update/indexed-files.ts";

const sampleSize = 10;
const wordsOfNote = 6;

/** Checks that the index of qmd has all notes, and finds a sample by their own words. `fix`: rebuilds it. */
export async function checkIndex(context: QmdContext, fix: boolean, signal: AbortSignal): Promise<IndexCheck> {
  const { folder, updates, record } = context;
  signal.throwIfAborted();
  await record.refresh();
  if (!hasIndex(folder)) {
    const message = "qmd has no index yet; memslot searches the notes itself until it has one";
    return { ok: true, findings: [{ name: "index", ok: true, message }] };
  }
  try {
    const findings = await findingsOf(context, signal);
    const wrong = new Set(findings.filter(({ ok }) => !ok).map(({ name }) => name));
    if (!fix || wrong.size === 0) return { ok: wrong.size === 0, findings };
    await updates.now({ force: true, signal });
    const repaired = (await findingsOf(context, signal)).map((finding) =>
      wrong.has(finding.name) ? { ...finding, fixed: "the index of qmd was rebuilt" } : finding,
    );
    return { ok: repaired.every(({ ok }) => ok), findings: repaired };
  } catch (error) {
    throw toMemoryError(error);
  }
}

async function findingsOf(context: QmdContext, signal: AbortSignal): Promise<IndexFinding[]> {
  const { index } = context.updates;
  const status = await index.readStatus(signal);
  const names = new Set(index.collections.map(({ name }) => name));
  const documents = status.collections
    .filter(({ name }) => names.has(name))
    .reduce((sum, each) => sum + each.documents, 0);
  const files = indexedFiles(context);
  const own = index.unseen().length;
  const others = own === 0 ? "" : `; memslot searches ${own} more itself`;
  const { asked, missing } = await searchSample(context, files, signal);
  const found = `${asked - missing.length} of ${asked} notes were found by their own words`;
  return [
    { name: "qmd", ok: true, message: "qmd starts and answers" },
    {
      name: "documents",
      ok: documents >= files.length,
      message: `qmd has ${documents} notes and has read ${files.length}${others}`,
    },
    {
      name: "sample by words",
      ok: missing.length === 0,
      message: missing.length === 0 ? found : `${found}; not found: ${missing.slice(0, 3).join(", ")}`,
    },
  ];
}

function indexedFiles({ record, updates, workspaceDir }: QmdContext): QmdFile[] {
  const { collections } = updates.index;
  const isIndexed = ({ source, path: shown }: QmdFile): boolean =>
    source === "sessions" || collectionsWith(collections, path.resolve(workspaceDir, shown)).length > 0;
  return record.files.filter((file) => file.chunks > 0 && file.seen === file.hash && isIndexed(file));
}

async function searchSample(
  context: QmdContext,
  files: readonly QmdFile[],
  signal: AbortSignal,
): Promise<{ asked: number; missing: string[] }> {
  const { updates, record } = context;
  const step = Math.max(1, Math.floor(files.length / sampleSize));
  const sample = files.filter((_, index) => index % step === 0).slice(0, sampleSize);
  const missing: string[] = [];
  let asked = 0;
  for (const file of sample) {
    const [chunk] = await record.chunksOf([file], signal);
    const words = new Set((chunk?.text ?? "").match(/[\p{L}\p{N}]{3,}/gu) ?? []);
    const query = [...words].toSorted((left, right) => right.length - left.length).slice(0, wordsOfNote);
    if (query.length === 0) continue;
    asked++;
    const collections = updates.index.collections.filter(({ source }) => source === file.source);
    const { rows } = await askQmd({ query: query.join(" "), collections, limit: 200, signal }, context);
    const { found } = foundFiles(rows, collections, context);
    if (!found.some((each) => keyOf(each.file) === keyOf(file))) missing.push(file.path);
  }
  return { asked, missing };
}
