import path from "node:path";
import type { IndexCheck, IndexFinding } from "@memslot/core";
import { collectionsWith } from "./update/collections.ts";
import { unavailable } from "./failures.ts";
import { placesOfRows } from "./ask/places.ts";
import type { QmdContext } from "./qmd-context.ts";
import { keyOf, type QmdFile } from "./update/qmd-record.ts";
import { hasIndex } from "./state-folder.ts";

const sampled = 10;
const wordsAsked = 6;

type CheckInput = QmdContext & { fix: boolean; signal: AbortSignal };

/**
 * Whether the index of qmd can be relied on: qmd starts, holds as many notes as were read into it, and a sample of notes
 * is found by its own words. With `fix` an index in which anything is wrong is made anew first.
 */
export async function checkQmd(input: CheckInput): Promise<IndexCheck> {
  const { folder, updates, record, fix, signal } = input;
  signal.throwIfAborted();
  await record.refresh();
  if (!hasIndex(folder)) {
    const message = "qmd has no index yet; memslot searches the notes itself until it has";
    return { ok: true, findings: [{ name: "index", ok: true, message }] };
  }
  try {
    const findings = await look(input);
    if (!fix || findings.every(({ ok }) => ok)) return { ok: findings.every(({ ok }) => ok), findings };
    await updates.now({ force: true, signal });
    const fixed = findings.some(({ ok }) => !ok) ? "the index of qmd was made anew" : undefined;
    const again = (await look(input)).map((finding) => {
      const was = findings.find(({ name }) => name === finding.name);
      return was?.ok === false ? { ...finding, fixed } : finding;
    });
    return { ok: again.every(({ ok }) => ok), findings: again };
  } catch (error) {
    throw unavailable(error);
  }
}

async function look(input: CheckInput): Promise<IndexFinding[]> {
  const { process, signal } = input;
  await process.probe(signal);
  signal.throwIfAborted();
  return [
    { name: "qmd", ok: true, message: "qmd starts and answers" },
    await checkDocuments(input),
    await checkSample(input),
  ];
}

/** Notes that qmd has read and that it can hold: one without a word is none to it. */
function indexed({ record, updates, workspaceDir }: CheckInput): QmdFile[] {
  return record.files.filter(
    ({ path: shown, source, hash, seen, chunks }) =>
      chunks > 0 &&
      seen === hash &&
      (source === "sessions" ||
        collectionsWith(updates.index.collections, path.resolve(workspaceDir, shown)).length > 0),
  );
}

async function checkDocuments(input: CheckInput): Promise<IndexFinding> {
  const { updates, signal } = input;
  const { collections } = await updates.index.look(signal);
  const names = new Set(updates.index.collections.map(({ name }) => name));
  const documents = collections.filter(({ name }) => names.has(name)).reduce((sum, each) => sum + each.documents, 0);
  const files = indexed(input).length;
  const own = updates.index.unseen().length;
  const others = own === 0 ? "" : `; ${own} more are searched by memslot itself`;
  return {
    name: "documents",
    ok: documents >= files,
    message: `qmd holds ${documents} notes, ${files} were read into it${others}`,
  };
}

async function checkSample(input: CheckInput): Promise<IndexFinding> {
  const { updates, record, ask, signal } = input;
  const files = indexed(input);
  const step = Math.max(1, Math.floor(files.length / sampled));
  const sample = files.filter((_, index) => index % step === 0).slice(0, sampled);
  const lost: string[] = [];
  let asked = 0;
  for (const file of sample) {
    const [chunk] = await record.chunksOf([file], signal);
    const words = new Set((chunk?.text ?? "").match(/[\p{L}\p{N}]{3,}/gu) ?? []);
    // The longest are the rarest, mostly.
    const query = [...words].toSorted((left, right) => right.length - left.length).slice(0, wordsAsked);
    if (query.length === 0) continue;
    asked++;
    const collections = updates.index.collections.filter(({ source }) => source === file.source);
    const { rows } = await ask({ query: query.join(" "), collections, limit: 200, signal });
    const { places } = placesOfRows(rows, collections, input);
    if (!places.some((place) => keyOf(place.file) === keyOf(file))) lost.push(file.path);
  }
  const found = `${asked - lost.length} of ${asked} notes were found by their own words`;
  return {
    name: "sample by words",
    ok: lost.length === 0,
    message: lost.length === 0 ? found : `${found}; not found: ${lost.slice(0, 3).join(", ")}`,
  };
}
