import { closeSync, openSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Freshness } from "../freshness.ts";
import { watchRoots } from "../watch-roots.ts";
import type { WatchRoot } from "../watch-scope.ts";
import { eventually } from "@memslot/test-tools/wait";

/** Watches a workspace in a process of its own, whose limits the test sets. Prints what came of it. */

const [asked = "", workspace = ""] = process.argv.slice(2);
/** `exhausted-3`: with three descriptors left. */
const [mode, left = "0"] = asked.split("-");
const lines: string[] = [];
const maxFiles = 30_000;
const notify = (line: string): void => void lines.push(line);
const roots = (): WatchRoot[] => [
  { path: path.join(workspace, "MEMORY.md"), kind: "file" },
  { path: path.join(workspace, "memory"), kind: "folder" },
];

if (mode === "idle") {
  const run = async (): Promise<void> => {};
  const settings = { watch: true, watchDebounceMs: 600_000, watchMaxFiles: maxFiles, intervalMinutes: 60 };
  let changes = 0;
  const freshness = new Freshness({ settings, roots, notify });
  freshness.start({ changed: () => changes++, run });
  await eventually(() => freshness.watching().mode !== "off", "it is on");
  const before = changes;
  writeFileSync(path.join(workspace, "memory/a.md"), "changed");
  // A burst whose timer waits.
  await eventually(() => changes > before, "a burst");
  process.on("exit", () => process.stdout.write(JSON.stringify({ ended: true })));
} else {
  // Loads what a process opens late, so that it is there.
  await eventually(() => true, "");
  const descriptors = (): number => readdirSync("/proc/self/fd").length;
  const before = descriptors();
  const taken: number[] = [];
  if (mode === "exhausted") takeAll(taken);
  let seen = false;
  const watch = watchRoots({ roots, maxFiles, event: () => (seen = true), began: () => {}, notify, retryMs: 0 });
  await eventually(() => lines.length > 0 || watch.state().mode !== "off", "it is on, or cannot be");
  const first = watch.state();
  for (const descriptor of taken) closeSync(descriptor);
  if (mode === "exhausted") {
    watch.refresh();
    await eventually(() => watch.state().mode !== "off", "it is on again");
  }
  const later = watch.state();
  writeFileSync(path.join(workspace, "memory", mode === "many" ? "199/99.md" : "a.md"), "changed");
  await eventually(() => seen, "the save");
  const result = mode === "many" ? { first, descriptors: descriptors() - before } : { first, later };
  process.stdout.write(JSON.stringify({ ...result, lines, seen }));
  await watch.close();
}

function takeAll(taken: number[]): void {
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    // None is left.
  }
  for (const descriptor of taken.splice(0, Number(left))) closeSync(descriptor);
}
