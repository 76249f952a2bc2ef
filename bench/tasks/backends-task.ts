import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Memory, openMemory } from "memslot";
import { accessCode } from "../support/corpus.ts";
import { megabytesOf } from "../support/contestants.ts";

/**
 * One backend over the notes of a folder, in a process of its own: `node backends-task.ts FOLDER CONFIG`, the
 * configuration as JSON. Prints its figures as JSON.
 */
const [folder = "", configuration = "{}"] = process.argv.slice(2);
const workspaceDir = path.join(folder, "workspace");
const config = JSON.parse(configuration) as Record<string, unknown>;
const searches = 200;
const questions = 30;

const open = (): Promise<Memory> => openMemory({ config, agentId: "main", workspaceDir, notify: () => {} });

let memory = await open();
const indexMs = await timed(() => memory.sync());
await memory.close();
memory = await open();
// Files that were saved a moment ago are looked at once more; the second sync is the one with nothing to do.
await memory.sync();
const unchangedMs = await timed(() => memory.sync());
const times: number[] = [];
let found = 0;
for (let count = 0; count < searches; count++) {
  const note = (count * 37) % Number(process.env["MEMSLOT_BENCH_FILES"]);
  times.push(
    await timed(async () => {
      const [best] = await memory.search(`access code of project zephyr${note}`);
      if (best?.snippet.includes(accessCode(note))) found++;
    }),
  );
}
const places: string[][] = [];
for (let count = 0; count < questions; count++) {
  const results = await memory.search(sentenceOf(count), { maxResults: 6 });
  places.push(results.map(({ path: file, startLine, endLine }) => `${file}#L${startLine}-L${endLine}`));
}
const megabytes = peakMegabytes();
const { backend, fallback } = memory.status();
await memory.close();
times.sort((left, right) => left - right);
const figures = {
  indexMs,
  unchangedMs,
  p50: times[Math.floor(searches * 0.5)],
  p95: times[Math.floor(searches * 0.95)],
  found: found / searches,
  megabytes,
  disk: megabytesOf(process.env["MEMSLOT_HOME"] ?? ""),
  places,
};
// A spare that answered would be measured in place of what was asked for.
if (fallback !== undefined) throw new Error(`${backend} answered in place of ${fallback.from}: ${fallback.reason}`);
console.log(JSON.stringify(figures));

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Four words that stand side by side in a note, each of them in many others too. */
function sentenceOf(count: number): string {
  const note = (count * 67) % Number(process.env["MEMSLOT_BENCH_FILES"]);
  const notes = path.join(workspaceDir, "memory");
  const text = readFileSync(path.join(notes, `note-${String(note).padStart(5, "0")}.md`), "utf8");
  const [, , , , paragraph = ""] = text.split("\n\n");
  return paragraph.split(" ").slice(1, 5).join(" ");
}

/** Of this process and of the processes that it has started and that are alive, each at its largest. */
function peakMegabytes(): number {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(all.map((pid) => [pid, statusOf(pid, "PPid")]));
  const isOurs = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(process.pid) || isOurs(parents.get(pid)));
  const ours = all.filter((pid) => isOurs(pid));
  return ours.reduce((sum, pid) => sum + Number(statusOf(pid, "VmHWM") ?? 0), 0) / 1000;
}

function statusOf(pid: string, field: string): string | undefined {
  try {
    return new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  } catch {
    return undefined; // It has ended meanwhile.
  }
}
