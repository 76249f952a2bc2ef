import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startObjectStorage } from "@memslot/fakes/object-storage";
import { type LanceOptions, openLanceStore } from "@memslot/memory-lancedb";

/**
 * memory-lancedb alone with a large index:
 * `node --conditions=@memslot/source lancedb-task.ts [CHUNKS] [DIMENSIONS] [folder | fake]`. `fake` is an object storage
 * in this process that answers after 20 ms. Words are as rare as in a language, vectors lie in groups. Prints its figures
 * as JSON: times in milliseconds, sizes in megabytes, and requests.
 */
const chunkCount = Number(process.argv[2] ?? 100_000);
const dimensions = Number(process.argv[3] ?? 768);
const kind = process.argv[4] ?? "folder";
const chunksPerFile = 10;
const filesAtOnce = 100;
const wordsPerChunk = 150;
const vocabulary = 50_000;
const groups = 400;
const queries = 60;
const candidates = 100;

const space = { provider: "bench", model: "groups", providerKey: "", dimensions };
const stateDir = mkdtempSync(path.join(tmpdir(), "memslot-bench-lancedb-"));
const random = randomFrom(1);
const centers = Array.from({ length: groups }, () => direction());
let rawBytes = 0;

const place = await openPlace();
const { lance, requests } = place;
const open = async () =>
  (await openLanceStore({ lance, agentId: "main", stateDir, mayCreate: true, signal: AbortSignal.timeout(60_000) }))
    .store;

try {
  let store = await open();
  let longestGap = 0;
  let last = performance.now();
  const beat = setInterval(() => {
    const now = performance.now();
    longestGap = Math.max(longestGap, now - last);
    last = now;
  }, 5);
  const indexMs = await timed(async () => {
    for (let first = 0; first < chunkCount; first += filesAtOnce * chunksPerFile) {
      const files = Array.from({ length: filesAtOnce }, (_, index) => note(first / chunksPerFile + index));
      const chunks = files.flatMap((file) => file.chunks);
      const entries = chunks.map(({ hash }) => ({ hash, vector: groupVector() }));
      // Making them is not the store's work.
      last = performance.now();
      await store.replaceFiles(files);
      await store.putVectors(space, entries);
      rawBytes += chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 4 * dimensions, 0);
    }
  });
  clearInterval(beat);
  const closeMs = await timed(() => store.close());
  const requestsBefore = await requests();
  const openMs = await timed(async () => {
    store = await open();
  });
  const firstSearchMs = await timed(() => hybrid());
  const freshRequests = (await requests()) - requestsBefore;
  const hybridMs = await repeated(hybrid);
  const keywordMs = await repeated(keyword);
  const vectorMs = await repeated(vector);
  const editMs = await repeated(
    () => store.replaceFiles([note(Math.floor(random() * (chunkCount / chunksPerFile)))]),
    20,
  );
  const afterEditsMs = await repeated(hybrid);
  const diskBefore = bytesBelow(stateDir);
  const compactMs = await timed(async () => await store.compact());
  const disk = bytesBelow(stateDir);
  const afterCompactMs = await repeated(hybrid);
  const megabytes = process.resourceUsage().maxRSS / 1024;
  await store.close();
  const figures = {
    chunks: chunkCount,
    dimensions,
    kind,
    indexMs,
    longestGapMs: longestGap,
    closeMs,
    openMs,
    firstSearchMs,
    freshRequests,
    hybridMs,
    keywordMs,
    vectorMs,
    editMs,
    afterEditsMs,
    compactMs,
    afterCompactMs,
    rawMegabytes: rawBytes / 1e6,
    diskBeforeMegabytes: diskBefore / 1e6,
    diskMegabytes: disk / 1e6,
    diskShare: disk / rawBytes,
    memoryMegabytes: megabytes,
  };
  console.log(
    JSON.stringify(
      figures,
      (_, value: unknown) => (typeof value === "number" ? Math.round(value * 100) / 100 : value),
      2,
    ),
  );

  // As a host searches: it looks at the place once, and asks about what it was told of.
  async function hybrid(): Promise<void> {
    const at = await store.revision();
    await Promise.all([keyword(at), vector(at)]);
  }
  async function keyword(state?: string): Promise<void> {
    const at = state ?? (await store.revision());
    const terms = Array.from({ length: 6 }, () => ({ term: word(), prefix: false }));
    const { rows } = await store.searchKeyword({ terms, sources: ["memory"], limit: candidates, at });
    if (rows.length === 0) throw new Error("no word was found");
  }
  async function vector(state?: string): Promise<void> {
    const at = state ?? (await store.revision());
    const query = { space, vector: groupVector(), sources: ["memory"], limit: candidates, at };
    const { rows } = await store.searchVector(query);
    if (rows.length !== candidates) throw new Error(`${rows.length} chunks in place of ${candidates}`);
  }
} finally {
  await place.stop();
  rmSync(stateDir, { recursive: true, force: true });
}

function note(number: number) {
  const chunks = Array.from({ length: chunksPerFile }, (_, part) => {
    const text = Array.from({ length: wordsPerChunk }, word).join(" ");
    const hash = createHash("sha256").update(text).digest("hex");
    return { startLine: part * 20 + 1, endLine: part * 20 + 20, text, context: "", terms: text, hash };
  });
  return {
    path: `memory/${number}.md`,
    source: "memory",
    hash: String(number),
    mtimeMs: 1,
    size: 1,
    recipe: "1",
    chunks,
  };
}

/** The first words are the most frequent ones, as in a language. */
function word(): string {
  return `w${Math.floor(vocabulary ** random())}`;
}

function direction(): Float32Array {
  return Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5);
}

function groupVector(): Float32Array {
  const center = centers[Math.floor(random() * groups)] ?? direction();
  const raw = direction().map((value, index) => 0.8 * value + (center[index] ?? 0));
  const length = Math.sqrt(raw.reduce((sum, value) => sum + value * value, 0));
  return raw.map((value) => value / length);
}

/** The middle and the slow end of many times, and the time of all cores, which a busy machine changes less. */
async function repeated(
  work: () => Promise<unknown>,
  times: number = queries,
): Promise<{ p50: number; p95: number; cpu: number; requests: number }> {
  const all: number[] = [];
  const asked = await requests();
  const before = process.cpuUsage();
  for (let count = 0; count < times; count++) all.push(await timed(work));
  const { user, system } = process.cpuUsage(before);
  all.sort((left, right) => left - right);
  const cpu = (user + system) / 1000 / times;
  return {
    p50: all[Math.floor(times * 0.5)] ?? 0,
    p95: all[Math.floor(times * 0.95)] ?? 0,
    cpu,
    requests: ((await requests()) - asked) / times,
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Where the index lies, and how many requests were made of it. */
async function openPlace(): Promise<{ lance: LanceOptions; requests: () => Promise<number>; stop(): Promise<void> }> {
  if (kind === "folder") return { lance: {}, requests: async () => 0, stop: async () => undefined };
  const storage = await startObjectStorage({ latencyMs: 20 });
  const lance = { dbPath: "s3://notes/bench", storageOptions: storage.storageOptions() };
  return { lance, requests: async () => storage.stats().requests, stop: () => storage.stop() };
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
