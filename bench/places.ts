import { spawnSync } from "node:child_process";
import path from "node:path";
import { printTable } from "./support/table.ts";

interface Repeated {
  p50: number;
  p95: number;
  cpu: number;
  requests: number;
}

interface Figures {
  indexMs: number;
  openMs: number;
  firstSearchMs: number;
  freshRequests: number;
  hybridMs: Repeated;
  keywordMs: Repeated;
  vectorMs: Repeated;
  editMs: Repeated;
  compactMs: number;
  memoryMegabytes: number;
}

const timeoutMs = 60 * 60_000;
const dimensions = 768;

const names = {
  folder: "a folder",
  fake: "a bucket, 20 ms a request",
};

/** memory-lancedb with as many chunks in each kind of place, in turn, in processes of their own. */
export function benchPlaces(chunks: number): void {
  const kinds = ["folder", "fake"] as const;
  const all = kinds.map((kind) => {
    console.error(`measuring ${names[kind]} …`);
    return measure(chunks, kind);
  });
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const call = ({ p50, requests }: Repeated): string => `${p50.toFixed(1)} ms, ${requests.toFixed(1)}`;
  const rows: [string, (figures: Figures) => string][] = [
    ["index it", ({ indexMs }) => seconds(indexMs)],
    [
      "open and search, both retrievers",
      (own) => `${(own.openMs + own.firstSearchMs).toFixed(0)} ms, ${own.freshRequests}`,
    ],
    ["hybrid search", ({ hybridMs }) => call(hybridMs)],
    ["keyword search", ({ keywordMs }) => call(keywordMs)],
    ["vector search", ({ vectorMs }) => call(vectorMs)],
    ["put in an edited note", ({ editMs }) => call(editMs)],
    ["compact", ({ compactMs }) => seconds(compactMs)],
    ["memory of the process", ({ memoryMegabytes }) => `${memoryMegabytes.toFixed(0)} MB`],
  ];
  printTable(
    `${chunks} chunks with vectors of ${dimensions} numbers: time in the middle, and requests`,
    ["", ...kinds.map((kind) => names[kind])],
    rows.map(([label, show]) => [label, ...all.map(show)]),
  );
}

function measure(chunks: number, kind: string): Figures {
  const program = path.join(import.meta.dirname, "tasks/lancedb-task.ts");
  const args = ["--conditions=@memslot/source", program, `${chunks}`, `${dimensions}`, kind];
  const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: timeoutMs });
  if (run.status !== 0) throw new Error(`${kind} ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
  return JSON.parse(run.stdout) as Figures;
}
